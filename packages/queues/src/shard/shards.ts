/**
 * The shards of one queue. Their number is stored with each of them when the queue is created, shard 0 first. The group of a
 * task decides its shard; without a group its id does.
 *
 * `reshard` changes the number, and moves no task. New tasks go by the new number, and older ones stay where they are until they
 * end. A task with an id or group of the caller first looks for it in the shard of each earlier number, so an id is still stored
 * once, and a group still runs in one shard. All shards have the new number before anything is stored by it: until then each
 * script refuses the callers of one number or of the other. Rejected: moving the tasks, which takes two steps in two slots for
 * each, while the task may be fetched.
 */
import type { Codecs, RedisClient } from '@mortise/redis';
import { callRedis, keySlot } from '@mortise/redis';
import type { NamedSettings } from './settings.js';
import type { Layout } from './settings-text.js';
import { isSameLayout, layoutOf } from './settings-text.js';
import { Shard } from './shard.js';

const UUID_BYTES = 16;

/** A task by the parts that decide its shard. */
export interface Placed {
  readonly storedId: Buffer | undefined;
  readonly group: string | undefined;
}

export class Shards {
  readonly #redis: RedisClient;
  readonly #queue: string;
  readonly prefix: string | undefined;
  /** Of payloads and results. */
  readonly codecs: Codecs | undefined;
  readonly #named: NamedSettings;
  readonly #first: Shard;
  #all: readonly Shard[] | undefined;
  #layout: Layout | undefined;
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

  /** The shards after `open`. Undefined again when shard 0 is known to have another number. */
  get all(): readonly Shard[] | undefined {
    return this.#layout && isSameLayout(this.#layout, this.#first.settings.values) ? this.#all : undefined;
  }

  /** How many of them get new tasks. Call after `open`. */
  get count(): number {
    return this.#layout!.shards;
  }

  /** Whether older tasks may lie elsewhere than their id or group says. Call after `open`. */
  get hasMoved(): boolean {
    return this.#layout!.earlierShards.length > 0;
  }

  /** Reads the number of shards. One round trip the first time, and one for each shard of a new queue with several. */
  open(): Promise<readonly Shard[]> {
    const { all } = this;
    if (all?.every((shard) => isCurrent(shard))) return Promise.resolve(all);
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** Begins anew: the queue was removed. */
  forget(): void {
    this.#all = undefined;
    this.#layout = undefined;
    this.#first.settings.forget();
  }

  /** The shard of a new task. */
  indexOf({ storedId, group }: Placed, count: number): number {
    if (count === 1) return 0;
    if (group !== undefined) return keySlot(group) % count;
    // The last byte of a UUID is random, and `newTaskId` can choose it.
    return storedId!.length === UUID_BYTES
      ? storedId![UUID_BYTES - 1]! % count
      : keySlot(storedId!.toString('latin1')) % count;
  }

  /** The shards where an older task of this id or group may lie, but for that of a new task. Call after `open`. */
  earlierHomes(placed: Placed): Shard[] {
    const { shards, earlierShards } = this.#layout!;
    const homes = new Set(earlierShards.toReversed().map((count) => this.indexOf(placed, count)));
    homes.delete(this.indexOf(placed, shards));
    return [...homes].map((index) => this.#all![index]!);
  }

  /** The shard that has a task of this id, or other tasks of this group; else that of a new task. Round trips only after `reshard`. */
  async locate(placed: Placed & { readonly storedId: Buffer }): Promise<Shard> {
    const all = await this.open();
    for (const shard of this.earlierHomes(placed)) {
      const { tasks, groups } = shard.keys.of;
      if ((await callRedis(this.#redis, 'hexists', [tasks, placed.storedId])) === 1) return shard;
      if (placed.group === undefined) continue;
      if ((await callRedis(this.#redis, 'hexists', [groups, placed.group])) === 1) return shard;
    }
    return all[this.indexOf(placed, this.count)]!;
  }

  async #open(): Promise<readonly Shard[]> {
    const { settings } = this.#first;
    if (!settings.isKnown || this.#all) await settings.learn(this.#redis);
    for (;;) {
      const layout = layoutOf(settings.values);
      const all = this.#shardsOf(layout);
      for (const shard of all) {
        // Shard 2 may have no task before the settings of shard 0 tell of it, nor by another number than theirs.
        if (layout.servedShards > 1) await shard.configure((values) => later(values, layout));
        shard.opened = layout;
      }
      if (all.every((shard) => isCurrent(shard))) {
        this.#layout = layout;
        this.#all = all;
        return all;
      }
      const [last] = all
        .map((shard) => shard.settings.values)
        .toSorted((a, b) => b.reshardings - a.reshardings);
      // A failover may have lost the new number in shard 0 only.
      if (last!.reshardings > layout.reshardings) {
        await this.#first.configure((values) => later(values, layoutOf(last!)));
      } else await settings.learn(this.#redis);
    }
  }

  /** New objects after a change: requests that wait in those of before are sent by the number of then, and are refused. */
  #shardsOf({ shards, servedShards, reshardings }: Layout): Shard[] {
    const { priorities } = this.#first.settings.values;
    const named = { ...this.#named, priorities, shards: reshardings > 0 ? undefined : shards };
    return Array.from({ length: servedShards }, (_, index) =>
      index === 0 && !this.#all
        ? this.#first
        : new Shard(this.#redis, this.#queue, this.prefix, index, named, this.codecs),
    );
  }

  /** Calls `act` for all shards at the same time, also for those that `reshard` adds meanwhile. Resolves in their order. */
  async each<Result>(act: (shard: Shard) => Promise<Result>): Promise<Result[]> {
    const results: Result[] = [];
    for (;;) {
      const all = await this.open();
      results.push(...(await Promise.all(all.slice(results.length).map(act))));
      if (all.every((shard) => isCurrent(shard))) return results;
    }
  }

  /**
   * The first answer that is not null. `look` is called for the shard of the id; when that has none, for all others, since a
   * group or an earlier number of shards may have decided the shard.
   */
  async find<Found>(storedId: Buffer, look: (shard: Shard) => Promise<Found | null>): Promise<Found | null> {
    for (;;) {
      const all = await this.open();
      const home = all[this.indexOf({ storedId, group: undefined }, this.count)]!;
      const found = await look(home);
      if (found !== null) return found;
      const others = await Promise.all(all.filter((shard) => shard !== home).map((shard) => look(shard)));
      const answer = others.find((one) => one !== null) ?? null;
      if (answer !== null || all.every((shard) => isCurrent(shard))) return answer;
    }
  }
}

/** Whether the shard was opened with the number of shards that its settings have now. */
export function isCurrent({ opened, settings }: Shard): boolean {
  return opened !== undefined && isSameLayout(opened, settings.values);
}

function later<Values extends Layout>(values: Values, layout: Layout): Values {
  return values.reshardings > layout.reshardings ? values : { ...values, ...layout };
}
