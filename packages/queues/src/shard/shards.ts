/**
 * The shards of one queue. How many there are is stored with each of them when the queue comes into being, shard 0 first,
 * and stays. A task lies in the shard that its group tells, or else its id.
 */
import type { RedisClient } from '@mortise/redis';
import { keySlot } from '@mortise/redis';
import type { NamedSettings } from './settings.js';
import { Shard } from './shard.js';

const UUID_BYTES = 16;

export class Shards {
  readonly #redis: RedisClient;
  readonly #queue: string;
  readonly prefix: string | undefined;
  readonly #named: NamedSettings;
  readonly #first: Shard;
  #all: readonly Shard[] | undefined;
  #opening: Promise<readonly Shard[]> | undefined;

  constructor(redis: RedisClient, queue: string, prefix: string | undefined, named: NamedSettings = {}) {
    this.#redis = redis;
    this.#queue = queue;
    this.prefix = prefix;
    this.#named = named;
    this.#first = new Shard(redis, queue, prefix, 0, named);
  }

  /** Shard 0, which every queue has. */
  get first(): Shard {
    return this.#first;
  }

  /** The shards, once `open` has resolved; not any more when it has turned out that there are others. */
  get all(): readonly Shard[] | undefined {
    return this.#all?.length === this.#first.settings.values.shards ? this.#all : undefined;
  }

  /** Learns how many shards there are. One round trip the first time, one for each shard of a new queue with several. */
  open(): Promise<readonly Shard[]> {
    const { all } = this;
    if (all) return Promise.resolve(all);
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** In which of the shards an id lies. */
  indexOf(storedId: Buffer, count: number): number {
    if (count === 1) return 0;
    // The last byte of a UUID is random, and `newTaskId` can choose it.
    return storedId.length === UUID_BYTES
      ? storedId[UUID_BYTES - 1]! % count
      : keySlot(storedId.toString('latin1')) % count;
  }

  async #open(): Promise<readonly Shard[]> {
    const first = this.#first;
    if (!first.settings.isKnown) await first.settings.learn(this.#redis);
    const { shards, priorities } = first.settings.values;
    const others = Array.from(
      { length: shards - 1 },
      (_, index) =>
        new Shard(this.#redis, this.#queue, this.prefix, index + 1, { ...this.#named, priorities, shards }),
    );
    const all = [first, ...others];
    // A task in shard 2 must not be there before shard 0 tells that there is one.
    if (shards > 1) for (const shard of all) await shard.configure((values) => ({ ...values, shards }));
    this.#all = all;
    return all;
  }

  /**
   * The first answer that is not null: of the shard where the id belongs, then of the others, where a task lies whose
   * group decides. One call, or one for each shard.
   */
  async find<Found>(storedId: Buffer, look: (shard: Shard) => Promise<Found | null>): Promise<Found | null> {
    const all = await this.open();
    const home = all[this.indexOf(storedId, all.length)]!;
    const found = await look(home);
    if (found !== null || all.length === 1) return found;
    const others = await Promise.all(all.filter((shard) => shard !== home).map((shard) => look(shard)));
    return others.find((answer) => answer !== null) ?? null;
  }
}
