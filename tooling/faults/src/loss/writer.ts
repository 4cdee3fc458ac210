/** Writes one key after the other, and knows which of them Redis has accepted. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import { nowUs } from '../locks/clock.js';

const LANES = 20;
const READ_AT_ONCE = 500;
const AFTER_ERROR_MS = 20;
const WAIT_MS = '1000';

export interface Loss {
  readonly accepted: number;
  readonly lost: number;
  /** From the acceptance of the first lost write to that of the last accepted one before `at`, ms. */
  readonly lostMs: number;
}

export class Writer {
  readonly #redis: Redis | Cluster;
  readonly #prefix: string;
  readonly #replicas: number;
  /** When each key was accepted, µs. */
  readonly #acceptedAt = new Map<string, number>();
  readonly #work: Promise<unknown>;
  #count = 0;
  /** How often the connection ended. */
  #ends = 0;
  #isStopped = false;

  /** @param replicas A write counts as accepted when so many replicas have it (`WAIT`). */
  constructor(redis: Redis | Cluster, prefix: string, replicas = 0) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#replicas = replicas;
    redis.on('close', () => {
      this.#ends += 1;
    });
    this.#work = Promise.all(Array.from({ length: LANES }, () => this.#lane()));
  }

  get accepted(): number {
    return this.#acceptedAt.size;
  }

  /** Ends once each write that was sent has its answer. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#work;
  }

  /** Which accepted writes are gone now. */
  async loss(): Promise<Loss> {
    const keys = [...this.#acceptedAt.keys()];
    const lost: number[] = [];
    for (let at = 0; at < keys.length; at += READ_AT_ONCE) {
      const some = keys.slice(at, at + READ_AT_ONCE);
      const values = await this.#redis.mget(...some);
      for (const [index, key] of some.entries())
        if (values[index] === null) lost.push(this.#acceptedAt.get(key)!);
    }
    const span = lost.length === 0 ? 0 : Math.max(...lost) - Math.min(...lost);
    return { accepted: keys.length, lost: lost.length, lostMs: span / 1_000 };
  }

  async #lane(): Promise<void> {
    while (!this.#isStopped) {
      this.#count += 1;
      const key = `${this.#prefix}:{loss}:${this.#count}`;
      const ends = this.#ends;
      try {
        const [, replicas] = await Promise.all([
          this.#redis.set(key, '1'),
          this.#replicas === 0
            ? 0
            : (this.#redis.call('WAIT', String(this.#replicas), WAIT_MS) as Promise<number>),
        ]);
        // On another connection, WAIT answers without a look at the write.
        const isConfirmed = this.#replicas === 0 || (replicas >= this.#replicas && ends === this.#ends);
        if (isConfirmed) this.#acceptedAt.set(key, nowUs());
      } catch {
        // Refused, or without an answer: not accepted.
        await pause(AFTER_ERROR_MS);
      }
    }
  }
}
