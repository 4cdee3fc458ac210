/**
 * Rows of a database table, kept in Redis and refreshed on schedule instead of on reads.
 *
 * A ZSET holds the due time of each row, a HASH its interval and the time of its last load, a STRING the row. Refreshers,
 * any number of them in any process, lease due rows in batches; readers only read. A shard of a table is one slot, because
 * a lease must see all its due rows. One slot serves some 100,000 refreshes per second, so one shard is enough on a single
 * node.
 */
import { encodeName, requireClient, requireName } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { TableKeys } from './keys.js';
import { resolveRowCacheOptions, resolveSchedule, resolveScheduleAll } from './options.js';
import type { RowCacheOptions, ScheduleAllOptions, ScheduleOptions } from './options.js';
import { rowCacheInspect } from '../scripts.gen.js';
import { CacheTelemetry } from '../telemetry/cache-telemetry.js';
import { setTable } from './refreshed-table.js';
import { RowCodec } from './row-codec.js';
import { listRows } from './row-list.js';
import type { ListRowsOptions, RowPage } from './row-list.js';
import { RowReads } from './row-reads.js';
import type { RowState } from './row-state.js';
import { toRowState } from './row-state.js';
import { ScheduleChanges } from './schedule-changes.js';
import type { ScheduleStats } from './schedule-stats.js';
import { statsOf } from './schedule-stats.js';

/** Counters of a table. */
export interface RowCacheStats extends ScheduleStats {
  /** Reads of this object that found a row; `misses` counts the others. */
  readonly hits: number;
  readonly misses: number;
}

/** The cached rows of one table; `Row` is the result of its loader. */
export class RowCache<Row = unknown> {
  readonly #redis: RedisClient;
  readonly #keys: TableKeys;
  readonly #codec: RowCodec<Row>;
  readonly #changes: ScheduleChanges;
  readonly #reads: RowReads<Row>;

  /**
   * Sends nothing.
   *
   * @param table Names the rows in Redis; only the loader knows the table of the database. 1 to 1,024 bytes.
   */
  constructor(redis: RedisClient, table: string, options: RowCacheOptions<Row> = {}) {
    this.#redis = requireClient(redis);
    const resolved = resolveRowCacheOptions(options, redis.isCluster);
    this.#keys = new TableKeys(table, options.prefix, resolved.shards);
    this.#codec = new RowCodec(resolved.codec, resolved.version);
    setTable(this, { keys: this.#keys, options: resolved, codec: this.#codec });
    const telemetry = CacheTelemetry.for(options.telemetry, 'rows', table);
    this.#changes = new ScheduleChanges(redis, this.#keys, resolved);
    this.#reads = new RowReads(redis, this.#keys, this.#codec, telemetry);
  }

  /** The name given to the constructor. */
  get table(): string {
    return this.#keys.table;
  }

  /**
   * Refreshes the row every `everyMs` from now on, the first time at once. With 0 or less the row is removed from cache and
   * schedule. A row that has this schedule already is unchanged, so every process may call this at its start. Otherwise each
   * deployment would load all rows again. `refresh` loads such a row at once. Calls of one tick share a round trip and are
   * atomic together, up to 500 rows. O(log n). Repeating the call is safe.
   */
  async schedule(id: string, options: ScheduleOptions): Promise<void> {
    await this.#changes.change(id, resolveSchedule(options));
  }

  /**
   * Calls `schedule` for many ids, such as those of a whole table from a cursor, of which a few thousand are in memory.
   * Resolves to the number of ids. `stats` shows how many rows are loaded.
   */
  async scheduleAll(
    ids: Iterable<string> | AsyncIterable<string>,
    options: ScheduleAllOptions,
  ): Promise<number> {
    return this.#changes.changeAll(ids, resolveScheduleAll(options), options.signal);
  }

  /**
   * Removes the row from cache and schedule, and returns whether it was scheduled. Costs as much as `schedule`. Repeating the
   * call is safe; if ioredis resends it after a lost reply, the result is false.
   */
  async unschedule(id: string): Promise<boolean> {
    return this.#changes.change(id, 0);
  }

  /**
   * Makes a scheduled row due now, for example after a change in the database. The result of a load that began before is not
   * stored. Resolves before the row is loaded. Returns false for a row that isn't scheduled. Costs as much as `schedule`.
   * Repeating the call is safe.
   */
  async refresh(id: string): Promise<boolean> {
    return this.#changes.change(id, 'now');
  }

  /**
   * Returns the row as last loaded. Null if the row isn't scheduled, isn't loaded yet, or is missing. Reads of a tick share one
   * MGET for each shard.
   */
  async get(id: string): Promise<Row | null> {
    return this.#reads.get(id);
  }

  /** Returns the cached rows by id. One round trip for each 500 of a shard. */
  async getMany(ids: readonly string[]): Promise<Map<string, Row>> {
    return this.#reads.getMany(ids);
  }

  /**
   * Returns the row with its age, its etag and its next refresh; null for a row that is neither scheduled nor cached. The call
   * counts as a read. One round trip, read-only. O(log n).
   */
  async inspect(id: string): Promise<RowState<Row> | null> {
    const shard = this.#keys.of(requireName('id', id));
    const keys = { ...shard, value: shard.row(id) };
    const reply = await rowCacheInspect.runBuffer(this.#redis, keys, { id: encodeName(id) });
    const state = toRowState<Row>(reply as (Buffer | null)[], this.#codec);
    this.#reads.count((state?.row ?? null) !== null);
    return state;
  }

  /**
   * A page of the scheduled rows, such as for a dashboard. Read-only: it counts as no read. One round trip, O(limit · log n), for
   * tables of any size. Throws TypeError or RangeError for a wrong option. Repeating it is safe.
   */
  async list(options: ListRowsOptions = {}): Promise<RowPage> {
    return listRows(this.#redis, this.#keys, options);
  }

  /** Counters of the schedule and of the reads of this object. One round trip for each shard, read-only. O(log n). */
  async stats(): Promise<RowCacheStats> {
    return { ...(await statsOf(this.#redis, this.#keys)), ...this.#reads.counts };
  }
}
