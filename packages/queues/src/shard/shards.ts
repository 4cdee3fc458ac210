/**
 * The shards of one queue. The first producer stores their number in each of them, in shard 0 first. The group of a task decides
 * its shard; without a group its id does.
 *
 * `reshard` changes the number, and moves no task. The new number decides the shards of new tasks. Older tasks stay where they
 * are until they end. An enqueue with an id or a group first looks into the shard of each earlier number. So an id is still
 * stored once, and a group still runs in one shard. All shards get the new number before a producer stores tasks by it: each
 * script refuses a caller whose number isn't the one of its shard. Rejected: moving the tasks. Each takes two scripts in two
 * slots, and a worker may fetch the task between them.
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

  /** The shards after `open`. Undefined again as soon as this process learns that shard 0 has another number. */
  get all(): readonly Shard[] | undefined {
    return this.#layout && isSameLayout(this.#layout, this.#first.settings.values) ? this.#all : undefined;
  }

  /** How many of them get new tasks. Call after `open`. */
  get count(): number {
    return this.#layout!.shards;
  }

  /** Whether older tasks may lie in other shards than those that their id or group has now. Call after `open`. */
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

  /** Forgets the number, because the queue was removed. */
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

  /** The shards where an older task of this id or group may lie, without the shard of a new task. Call after `open`. */
  earlierHomes(placed: Placed): Shard[] {
    const { shards, earlierShards } = this.#layout!;
    const homes = new Set(earlierShards.toReversed().map((count) => this.indexOf(placed, count)));
    homes.delete(this.indexOf(placed, shards));
    return [...homes].map((index) => this.#all![index]!);
  }

  /** The shard that has a task of this id, or tasks of this group; otherwise the shard of a new task. Takes round trips only after `reshard`. */
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
        // No shard may get a task before shard 0 has its number, and all shards must have the same number.
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

  /** New objects after a change: requests that wait in the old objects have the old number, and scripts refuse them. */
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
   * The first answer that is not null. Calls `look` for the shard of the id. If that has no answer, calls it for all others: a
   * group or an earlier number may have decided the shard.
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
