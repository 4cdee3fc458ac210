/** Whether Redis itself has forgotten what it had accepted: else nobody knows whose fault a loss is. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import { connectTo } from './connect.js';
import type { RedisAddress } from './locks/config.js';

const EVERY_MS = 1;

/**
 * Counts up a key, one INCR after the other, through a client of its own. An accepted count that comes a second time means
 * that the new master had not received the first.
 */
export class Ledger {
  /** How often an accepted count came again. */
  losses = 0;
  readonly #redis: Redis | Cluster;
  readonly #key: string;
  #highest = 0;
  #isOpen = true;
  readonly #counting: Promise<void>;

  /** @param key Of the slot whose server is watched. */
  constructor(address: RedisAddress, key: string) {
    this.#redis = connectTo(address);
    this.#key = key;
    this.#counting = this.#count();
  }

  /** Ends with the answer to a count that was sent after the call, so that it has met the server of now. */
  async settled(): Promise<void> {
    await this.#next();
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    this.#redis.disconnect();
    await this.#counting;
  }

  async #count(): Promise<void> {
    while (this.#isOpen) {
      // The reply may be lost: the next count is higher all the same.
      await this.#next().catch(() => undefined);
      await pause(EVERY_MS);
    }
  }

  async #next(): Promise<void> {
    const known = this.#highest;
    const count = await this.#redis.incr(this.#key);
    if (count <= known) this.losses += 1;
    this.#highest = Math.max(this.#highest, count);
  }
}
