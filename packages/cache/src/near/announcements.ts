/**
 * Coherence by messages, for Cluster: each script that changes entries publishes one message in the slot of the shard, with
 * the next number. A number that is missing means a message was lost, and a number that is not reached, or is lower than one
 * heard before, that the end of the stream was: the tier is emptied. Nothing is heard of what others than this
 * package change. Tracking would need two connections to each master, set up anew wherever a slot goes.
 */
import { isClosed, Loop, WaiterHub } from '@mortise/redis';
import type { Listener, RedisClient } from '@mortise/redis';
import type { CacheKeys } from '../read-through/cache-keys.js';
import { bounded } from './bounded.js';
import type { Coherence, Newsroom } from './coherence.js';

/** How often the number is asked for: so long a lost message that none follows stays unnoticed, twice at most. */
const LOOK_MS = 1_000;

/** What is heard of one shard. */
class Ear implements Listener {
  /** The number that was heard last. */
  heard = 0;
  /** A number that the server has given out, and that should be heard by the next look. */
  expected = 0;
  stop: (() => void) | undefined;

  constructor(
    readonly keys: CacheKeys,
    readonly tier: Newsroom,
    readonly onLost: () => void,
  ) {}

  onMessage(body: Buffer): void {
    const [number, ...redisKeys] = body.toString().split('\n');
    if (Number(number) !== this.heard + 1) this.tier.clear();
    this.heard = Number(number);
    for (const redisKey of redisKeys) this.tier.onChanged(redisKey);
  }

  onResync(): void {
    this.tier.clear();
  }

  onClosed(): void {
    this.stop = undefined;
    this.onLost();
  }

  /** Compares what was heard with what the server has said. */
  look(number: number): void {
    if (number < this.heard || this.heard < this.expected) {
      this.tier.clear();
      this.heard = number;
    }
    this.expected = number;
  }
}

export class Announcements implements Coherence {
  readonly #redis: RedisClient;
  readonly #tier: Newsroom;
  readonly #ears: readonly Ear[];
  readonly #loop: Loop;

  constructor(
    redis: RedisClient,
    tier: Newsroom,
    cache: string,
    shards: readonly CacheKeys[],
    onError: (error: unknown) => void,
  ) {
    this.#redis = redis;
    this.#tier = tier;
    this.#ears = shards.map((keys) => new Ear(keys, this.#tier, () => this.#tier.close()));
    this.#loop = new Loop(`mortise near tier of cache "${cache}"`, () => this.#step(), { onError });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    const stopped = this.#loop.stop();
    this.#tier.close();
    await stopped;
    this.#tier.close();
    for (const ear of this.#ears) {
      ear.stop?.();
      ear.stop = undefined;
    }
  }

  connection(): undefined {
    return undefined;
  }

  doubt(): void {
    this.#tier.close();
  }

  async #step(): Promise<number> {
    if (isClosed(this.#redis)) {
      void this.stop();
      return LOOK_MS;
    }
    try {
      await Promise.all(this.#ears.map((ear) => this.#look(ear)));
    } catch (error) {
      // Without the numbers a lost message would not show.
      this.#tier.close();
      throw error;
    }
    if (!this.#tier.isOpen && this.#ears.every(({ stop }) => stop)) this.#tier.open();
    return LOOK_MS;
  }

  async #look(ear: Ear): Promise<void> {
    const isNew = !ear.stop;
    ear.stop ??= await WaiterHub.of(this.#redis).listen(ear.keys.changed, ear);
    const reply = await bounded(this.#redis.call('get', [ear.keys.changes]), LOOK_MS);
    if (reply === undefined) throw new Error(`the master of "${ear.keys.changes}" does not answer`);
    const number = Number(reply ?? 0);
    if (isNew) {
      // What was said before is of no concern: the tier was closed.
      ear.heard = Math.max(ear.heard, number);
      ear.expected = number;
    } else ear.look(number);
  }
}
