/**
 * The shards of one queue. Their number is stored with each of them when the queue is created, shard 0 first, and never
 * changes. The group of a task decides its shard; without a group its id does.
 */
import type { Codecs, RedisClient } from '@mortise/redis';
import { keySlot } from '@mortise/redis';
import type { NamedSettings } from './settings.js';
import { Shard } from './shard.js';

const UUID_BYTES = 16;

export class Shards {
  readonly #redis: RedisClient;
  readonly #queue: string;
  readonly prefix: string | undefined;
  /** Of payloads and results. */
  readonly codecs: Codecs | undefined;
  readonly #named: NamedSettings;
  readonly #first: Shard;
  #all: readonly Shard[] | undefined;
  #opening: Promise<readonly Shard[]> | undefined;

  constructor(
    redis: RedisClient,
    queue: string,
    prefix: string | undefined,
    named: NamedSettings = {},
    codecs?: Codecs,
  ) {
    this.#redis = redis;
    this.#queue = queue;
    this.prefix = prefix;
    this.codecs = codecs;
    this.#named = named;
    this.#first = new Shard(redis, queue, prefix, 0, named, codecs);
  }

  /** Shard 0, which every queue has. */
  get first(): Shard {
    return this.#first;
  }

  /** The shards after `open`. Undefined again when another number of shards is stored. */
  get all(): readonly Shard[] | undefined {
    return this.#all?.length === this.#first.settings.values.shards ? this.#all : undefined;
  }

  /** Reads the number of shards. One round trip the first time, and one for each shard of a new queue with several. */
  open(): Promise<readonly Shard[]> {
    const { all } = this;
    if (all) return Promise.resolve(all);
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** Begins anew: the queue was removed. */
  forget(): void {
    this.#all = undefined;
    this.#first.settings.forget();
  }

  /** The shard of an id without a group. */
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
    const named = { ...this.#named, priorities, shards };
    const others = Array.from(
      { length: shards - 1 },
      (_, index) => new Shard(this.#redis, this.#queue, this.prefix, index + 1, named, this.codecs),
    );
    const all = [first, ...others];
    // Shard 2 may have no task before the settings of shard 0 tell of it.
    if (shards > 1) for (const shard of all) await shard.configure((values) => ({ ...values, shards }));
    this.#all = all;
    return all;
  }

  /** Calls `act` for all shards at the same time. */
  async each<Result>(act: (shard: Shard) => Promise<Result>): Promise<Result[]> {
    return Promise.all((await this.open()).map(act));
  }

  /**
   * The first answer that is not null. `look` is called for the shard of the id; when that has none, for all others, since a
   * group may have decided the shard.
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
