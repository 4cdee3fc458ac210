import { randomUUID } from 'node:crypto';
import { WaiterHub } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { changeFeedRelease, changeFeedTake } from '../../scripts.gen.js';

/**
 * The right to read an outbox, which one feed of a table has at a time. It only saves work: rows of changes that two feeds
 * read are refreshed twice.
 */
export class FeedLease {
  readonly #redis: RedisClient;
  readonly #key: string;
  readonly #leaseMs: number;
  readonly #token = randomUUID();
  #renewAt = 0;

  constructor(redis: RedisClient, key: string, leaseMs: number) {
    this.#redis = redis;
    this.#key = key;
    this.#leaseMs = leaseMs;
  }

  /** Resolves when this feed has the lease: at once after a `release`, or when the lease of a dead feed ends. */
  async wait(signal: AbortSignal): Promise<void> {
    if ((await this.#take()) === 0) return;
    const hub = WaiterHub.of(this.#redis);
    const waiter = await hub.waiter(this.#key, hub.newId());
    try {
      for (;;) {
        // Also before the first wait: a message before the subscription was missed.
        const ms = await this.#take();
        if (ms === 0) return;
        await waiter.next({ deadlineAt: performance.now() + ms, signal });
      }
    } finally {
      waiter.close();
    }
  }

  /** When the lease is to be renewed, in ms from now. */
  get renewInMs(): number {
    return this.#renewAt - performance.now();
  }

  /** Renews the lease when due; returns false when another feed has it. */
  async keep(): Promise<boolean> {
    return this.renewInMs > 0 || (await this.#take()) === 0;
  }

  async release(): Promise<void> {
    const publish = WaiterHub.of(this.#redis).publishCommand;
    await changeFeedRelease.run(this.#redis, { feed: this.#key }, { publish, token: this.#token });
  }

  async #take(): Promise<number> {
    const askedAt = performance.now();
    const reply = await changeFeedTake.run(
      this.#redis,
      { feed: this.#key },
      { token: this.#token, leaseMs: this.#leaseMs },
    );
    if (reply === 0) this.#renewAt = askedAt + this.#leaseMs / 3;
    return reply as number;
  }
}
