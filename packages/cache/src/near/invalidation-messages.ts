/**
 * Coherence by messages, for Cluster. Each script that changes entries publishes one numbered message in the slot of its shard.
 * The tier is emptied when a number is missing, when the server's counter is ahead of the last message, or when it went back.
 * Changes made by other programs are not announced. Client tracking would need two connections to each master,
 * set up anew whenever a slot moves.
 */
import { callRedis, isClosed, Loop, WaiterHub } from '@mortise/redis';
import type { ErrorReporter, Listener, RedisClient } from '@mortise/redis';
import type { CacheKeys } from '../keys.js';
import { bounded } from './bounded.js';
import type { Coherence, CoherentTier } from './coherence.js';

/** How often the counter is read. A lost message without a successor is noticed after two of these at most. */
const CHECK_MS = 1_000;

/** The invalidations of one shard. */
class InvalidationListener implements Listener {
  /** The number of the last message. */
  received = 0;
  /** The counter at the last check: messages up to it should have arrived by the next check. */
  expected = 0;
  stop: (() => void) | undefined;

  constructor(
    readonly keys: CacheKeys,
    readonly tier: CoherentTier,
    readonly onLost: () => void,
  ) {}

  onMessage(body: Buffer): void {
    const [number, ...redisKeys] = body.toString().split('\n');
    if (Number(number) !== this.received + 1) this.tier.clear();
    this.received = Number(number);
    for (const redisKey of redisKeys) this.tier.onChanged(redisKey);
  }

  onResync(): void {
    this.tier.clear();
  }

  onClosed(): void {
    this.stop = undefined;
    this.onLost();
  }

  /** Compares the messages received with the server's counter. */
  check(number: number): void {
    if (number < this.received || this.received < this.expected) {
      this.tier.clear();
      this.received = number;
    }
    this.expected = number;
  }
}

export class InvalidationMessages implements Coherence {
  readonly #redis: RedisClient;
  readonly #tier: CoherentTier;
  readonly #listeners: readonly InvalidationListener[];
  readonly #loop: Loop;

  constructor(
    redis: RedisClient,
    tier: CoherentTier,
    cache: string,
    shards: readonly CacheKeys[],
    reporter: ErrorReporter,
  ) {
    this.#redis = redis;
    this.#tier = tier;
    this.#listeners = shards.map(
      (keys) => new InvalidationListener(keys, this.#tier, () => this.#tier.close()),
    );
    this.#loop = new Loop(`mortise near tier of cache "${cache}"`, () => this.#step(), {
      onError: (error) => reporter.reportRepeated(error),
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    const stopped = this.#loop.stop();
    this.#tier.close();
    await stopped;
    this.#tier.close();
    for (const listener of this.#listeners) {
      listener.stop?.();
      listener.stop = undefined;
    }
  }

  connection(): undefined {
    return undefined;
  }

  onConnectionFailed(): void {
    this.#tier.close();
  }

  async #step(): Promise<number> {
    if (isClosed(this.#redis)) {
      void this.stop();
      return CHECK_MS;
    }
    try {
      await Promise.all(this.#listeners.map((listener) => this.#check(listener)));
    } catch (error) {
      // Without the counter a lost message would go unnoticed.
      this.#tier.close();
      throw error;
    }
    if (!this.#tier.isOpen && this.#listeners.every(({ stop }) => stop)) this.#tier.open();
    return CHECK_MS;
  }

  async #check(listener: InvalidationListener): Promise<void> {
    const isNew = !listener.stop;
    listener.stop ??= await WaiterHub.of(this.#redis).listen(listener.keys.nearChannel, listener);
    const reply = await bounded(callRedis(this.#redis, 'get', [listener.keys.changes]), CHECK_MS);
    if (reply === undefined) throw new Error(`the master of "${listener.keys.changes}" does not answer`);
    const number = Number(reply ?? 0);
    if (isNew) {
      // Earlier messages don't matter: the tier was closed.
      listener.received = Math.max(listener.received, number);
      listener.expected = number;
    } else listener.check(number);
  }
}
