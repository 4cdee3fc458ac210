/**
 * Rows of a database table, kept in Redis and refreshed on schedule rather than on reading.
 *
 * A ZSET says when each row is due, a HASH how often it is refreshed and when it was last loaded, a STRING per row holds it.
 * Refreshers, any number of them in any process, claim due rows in batches; readers only ever read. A shard of a table is
 * one slot, because a claim has to see all its due rows; one slot serves some 100,000 refreshes per second, so on a single
 * node one shard is enough.
 */
import { Coalescer, encodeName, requireClient, requireName, WaiterHub } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { TableKeys } from '../keys.js';
import type { ShardKeys } from '../keys.js';
import { resolveEveryMs, resolveRowCacheOptions } from '../options.js';
import type { RowCacheOptions, ScheduleAllOptions, ScheduleOptions } from '../options.js';
import { rowCacheInspect, rowCachePlan, rowCacheStats } from '../scripts.gen.js';
import { CacheTelemetry } from '../telemetry/cache-telemetry.js';
import { setTable } from './refreshed-table.js';
import { RowCodec } from './row-codec.js';
import type { RowState } from './row-state.js';
import { toRowState } from './row-state.js';

/** A table in numbers. */
export interface RowCacheStats {
  /** Rows in the schedule. */
  readonly scheduled: number;
  /** Rows of these that were loaded at least once: how far a first fill has come. */
  readonly loaded: number;
  /** Rows that are due and not being loaded. */
  readonly due: number;
  /** Rows whose last load failed. */
  readonly failing: number;
  /** Shards whose source is down: their rows are served as they are, and a few are tried from time to time. */
  readonly shardsDown: number;
  /** For how long the first due row has been waiting whose last load did not fail, in ms. Near 0 when the refreshers keep up. */
  readonly lagMs: number;
  /** Reads of this object that found their row, and that did not. */
  readonly hits: number;
  readonly misses: number;
}

interface Plan {
  readonly id: string;
  /** ms between refreshes; 0: take the row out; 'now': only make it due. */
  readonly plan: number | 'now';
}

/** Rows in one script call, or one MGET: about 1 ms of the server. */
const MAX_BATCH = 500;
/** Calls of `scheduleAll` that are under way at once. */
const MAX_CALLS = 4;

/** The cached rows of one table; `Row` is what its loader gives. */
export class RowCache<Row = unknown> {
  readonly #redis: RedisClient;
  readonly #keys: TableKeys;
  readonly #codec: RowCodec<Row>;
  readonly #plans: Coalescer<ShardKeys, Plan, boolean>;
  readonly #reads: Coalescer<ShardKeys, string, Buffer | null>;
  readonly #telemetry: CacheTelemetry | undefined;
  #hits = 0;
  #misses = 0;

  /**
   * Sends nothing.
   *
   * @param table Names the rows in Redis; the loader knows which table of the database that is. 1 to 1,024 bytes.
   */
  constructor(redis: RedisClient, table: string, options: RowCacheOptions<Row> = {}) {
    this.#redis = requireClient(redis);
    const resolved = resolveRowCacheOptions(options, redis.isCluster);
    const { idleMs, keepMs, shards } = resolved;
    const keys = new TableKeys(table, options.prefix, shards);
    this.#keys = keys;
    this.#telemetry = CacheTelemetry.for(options.telemetry, 'rows', table);
    this.#codec = new RowCodec(resolved.codec, resolved.version);
    setTable(this, { keys, options: resolved, codec: this.#codec });
    const publish = WaiterHub.of(redis).publishCommand;
    this.#plans = new Coalescer(
      async (shard, requests) => {
        const { due, rows, packs, packed, failures, suspects, hung, unloaded, wake } = shard;
        const values = requests.map(({ id }) => shard.row(id));
        const plans = requests.flatMap(({ id, plan }) => [encodeName(id), plan]);
        const counts = await rowCachePlan.run(
          redis,
          { due, rows, packs, packed, failures, suspects, hung, unloaded, wake, values },
          { publish, idleMs, keepMs, plans },
        );
        return (counts as number[]).map((count) => count === 1);
      },
      { maxBatch: MAX_BATCH },
    );
    this.#reads = new Coalescer(
      async (shard, ids) =>
        (await redis.callBuffer(
          'mget',
          ids.map((id) => shard.row(id)),
        )) as (Buffer | null)[],
      { maxBatch: MAX_BATCH },
    );
  }

  /** The name that the constructor was given. */
  get table(): string {
    return this.#keys.table;
  }

  /**
   * Refreshes the row every `everyMs` from now on, beginning at once; with 0 or less takes it out of cache and schedule.
   * A row that is scheduled so already is left as it is, so every process may schedule at its start. Calls of one
   * tick share a round trip and are atomic together, up to 500 rows. O(log n). Repeating it is safe.
   */
  async schedule(id: string, options: ScheduleOptions): Promise<void> {
    await this.#plan(id, resolveEveryMs(options));
  }

  /**
   * As `schedule` for each of many ids, such as those of a whole table from a cursor: holds only a few thousand at a time. Resolves to
   * their number. `stats` tells how far the refreshers are with loading them.
   */
  async scheduleAll(
    ids: Iterable<string> | AsyncIterable<string>,
    options: ScheduleAllOptions,
  ): Promise<number> {
    const plan = resolveEveryMs(options);
    const { signal } = options;
    const calls = new Set<Promise<void>>();
    let chunk: string[] = [];
    let count = 0;
    const send = async (): Promise<void> => {
      const call = this.#planAll(chunk, plan);
      chunk = [];
      calls.add(call);
      // A rejection is seen below, also if something else ends the walk first.
      call.then(
        () => calls.delete(call),
        () => undefined,
      );
      if (calls.size >= MAX_CALLS) await Promise.race(calls);
    };
    for await (const id of ids) {
      signal?.throwIfAborted();
      chunk.push(requireName('id', id));
      count += 1;
      if (chunk.length === MAX_BATCH) await send();
    }
    await send();
    await Promise.all(calls);
    return count;
  }

  /** Takes the row out of cache and schedule; returns whether it was scheduled. Costs as `schedule`. */
  async unschedule(id: string): Promise<boolean> {
    return this.#plan(id, 0);
  }

  /**
   * Makes a scheduled row due now, as after a change in the database; a load that has begun before is not stored.
   * Resolves when that is noted, not when the row is loaded. Returns false for a row that isn't scheduled. Costs as
   * `schedule`.
   */
  async refresh(id: string): Promise<boolean> {
    return this.#plan(id, 'now');
  }

  /**
   * The row as it was last loaded, or null: it isn't scheduled, isn't loaded yet, or is gone. Reads of a tick share one MGET for each
   * shard.
   */
  async get(id: string): Promise<Row | null> {
    requireName('id', id);
    const row = this.#codec.decode(await this.#reads.submit(this.#keys.of(id), id));
    if (row === null) this.#misses += 1;
    else this.#hits += 1;
    this.#telemetry?.read(row === null ? 'miss' : 'hit');
    return row;
  }

  /** The rows that are there, by id. One round trip for each 500 of a shard. */
  async getMany(ids: readonly string[]): Promise<Map<string, Row>> {
    const rows = await Promise.all(ids.map((id) => this.get(id)));
    const found = new Map<string, Row>();
    for (const [index, row] of rows.entries()) {
      if (row !== null) found.set(ids[index] as string, row);
    }
    return found;
  }

  /**
   * The row with its age, its etag and when it is refreshed next; null for one that is neither scheduled nor cached. One round
   * trip, read-only. O(log n).
   */
  async inspect(id: string): Promise<RowState<Row> | null> {
    const shard = this.#keys.of(requireName('id', id));
    const { due, rows, packs, packed, failures, suspects, hung } = shard;
    const value = shard.row(id);
    const reply = await rowCacheInspect.runBuffer(
      this.#redis,
      { due, rows, packs, packed, failures, suspects, hung, value },
      { id: encodeName(id) },
    );
    return toRowState(reply as (Buffer | null)[], this.#codec);
  }

  /** Counts of the schedule, and of the reads of this object. One round trip for each shard, read-only. O(log n). */
  async stats(): Promise<RowCacheStats> {
    const total = { scheduled: 0, loaded: 0, due: 0, failing: 0, shardsDown: 0, lagMs: 0 };
    const replies = await Promise.all(
      this.#keys.shards.map((shard) => rowCacheStats.run(this.#redis, shard, {})),
    );
    for (const reply of replies) {
      const [scheduled, due, failing, unloaded, lagMs, sourceFailures] = reply as [
        number,
        number,
        number,
        number,
        number,
        number,
      ];
      total.scheduled += scheduled;
      total.loaded += scheduled - unloaded;
      total.due += due;
      total.failing += failing;
      total.shardsDown += sourceFailures > 0 ? 1 : 0;
      total.lagMs = Math.max(total.lagMs, lagMs);
    }
    return { ...total, hits: this.#hits, misses: this.#misses };
  }

  async #planAll(ids: readonly string[], plan: number): Promise<void> {
    await Promise.all(ids.map((id) => this.#plan(id, plan)));
  }

  async #plan(id: string, plan: number | 'now'): Promise<boolean> {
    return this.#plans.submit(this.#keys.of(requireName('id', id)), { id, plan });
  }
}
