/**
 * Rows of a database table, kept in Redis and refreshed on schedule instead of on reads.
 *
 * A ZSET holds the due time of each row, a HASH its interval and the time of its last load, a STRING the row. Refreshers,
 * any number of them in any process, lease due rows in batches; readers only read. A shard of a table is one slot, because
 * a lease must see all its due rows. One slot serves some 100,000 refreshes per second, so one shard is enough on a single
 * node.
 */
import { Coalescer, encodeName, requireClient, requireName, WaiterHub } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { TableKeys } from './keys.js';
import type { ShardKeys } from './keys.js';
import { resolveRowCacheOptions, resolveSchedule, resolveScheduleAll } from './options.js';
import type { RowCacheOptions, ScheduleAllOptions, ScheduleOptions } from './options.js';
import { rowCacheInspect, rowCacheSchedule, rowCacheStats } from '../scripts.gen.js';
import { CacheTelemetry } from '../telemetry/cache-telemetry.js';
import { setTable } from './refreshed-table.js';
import { RowCodec } from './row-codec.js';
import type { RowState } from './row-state.js';
import { toRowState } from './row-state.js';

/** Counters of a table. */
export interface RowCacheStats {
  /** Rows in the schedule. */
  readonly scheduled: number;
  /** Scheduled rows that were loaded at least once: the progress of a first fill. */
  readonly loaded: number;
  /** Rows that are due and not being loaded. */
  readonly due: number;
  /** Rows whose last load failed. */
  readonly failing: number;
  /** Shards whose source is down: their cached rows are served, and half-open probes are sent. */
  readonly shardsDown: number;
  /** How long the first due row has waited, without failed rows, in ms. Near 0 when the refreshers keep up. */
  readonly lagMs: number;
  /** Reads of this object, by whether they found a row. */
  readonly hits: number;
  readonly misses: number;
}

interface Change {
  readonly id: string;
  /** ms between refreshes; 0: remove the row; 'now': make it due. */
  readonly change: number | 'now';
}

/** Rows in one script call or one MGET: about 1 ms of the server. */
const MAX_BATCH = 500;
/** Concurrent script calls of `scheduleAll`. */
const MAX_CALLS = 4;

/** The cached rows of one table; `Row` is the result of its loader. */
export class RowCache<Row = unknown> {
  readonly #redis: RedisClient;
  readonly #keys: TableKeys;
  readonly #codec: RowCodec<Row>;
  readonly #changes: Coalescer<ShardKeys, Change, boolean>;
  readonly #reads: Coalescer<ShardKeys, string, Buffer | null>;
  readonly #telemetry: CacheTelemetry | undefined;
  #hits = 0;
  #misses = 0;

  /**
   * Sends nothing.
   *
   * @param table Names the rows in Redis; only the loader knows the table of the database. 1 to 1,024 bytes.
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
    this.#changes = new Coalescer(
      async (shard, requests) => {
        const { due, rows, packs, packed, failed, failures, unloaded, wake } = shard;
        const values = requests.map(({ id }) => shard.row(id));
        const changes = requests.flatMap(({ id, change }) => [encodeName(id), change]);
        const counts = await rowCacheSchedule.run(
          redis,
          { due, rows, packs, packed, failed, failures, unloaded, wake, values },
          { publish, idleMs, keepMs, changes },
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

  /** The name given to the constructor. */
  get table(): string {
    return this.#keys.table;
  }

  /**
   * Refreshes the row every `everyMs` from now on, first at once; 0 or less removes it from cache and schedule.
   * A row that has this schedule already is unchanged, so every process may call this at its start. Calls of one
   * tick share a round trip and are atomic together, up to 500 rows. O(log n). Repeating it is safe.
   */
  async schedule(id: string, options: ScheduleOptions): Promise<void> {
    await this.#change(id, resolveSchedule(options));
  }

  /**
   * `schedule` for many ids, such as those of a whole table from a cursor: keeps a few thousand in memory. Resolves to
   * their number. `stats` shows how many of them are loaded.
   */
  async scheduleAll(
    ids: Iterable<string> | AsyncIterable<string>,
    options: ScheduleAllOptions,
  ): Promise<number> {
    const everyMs = resolveScheduleAll(options);
    const { signal } = options;
    const calls = new Set<Promise<void>>();
    let chunk: string[] = [];
    let count = 0;
    const send = async (): Promise<void> => {
      const call = this.#changeAll(chunk, everyMs);
      chunk = [];
      calls.add(call);
      // A rejection is handled below, even if something else ends the iteration first.
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

  /**
   * Removes the row from cache and schedule; returns whether it was scheduled. Costs as much as `schedule`. Repeating it is
   * safe; a call that ioredis sends again after a lost reply returns false.
   */
  async unschedule(id: string): Promise<boolean> {
    return this.#change(id, 0);
  }

  /**
   * Makes a scheduled row due now, as after a change in the database; a load that began before is not stored.
   * Resolves before the row is loaded. Returns false for a row that isn't scheduled. Costs as much as `schedule`. Repeating
   * it is safe.
   */
  async refresh(id: string): Promise<boolean> {
    return this.#change(id, 'now');
  }

  /**
   * Returns the row as last loaded, or null: it isn't scheduled, isn't loaded yet, or is missing. Reads of a tick share one
   * MGET for each shard.
   */
  async get(id: string): Promise<Row | null> {
    requireName('id', id);
    const row = this.#codec.decode(await this.#reads.submit(this.#keys.of(id), id));
    if (row === null) this.#misses += 1;
    else this.#hits += 1;
    this.#telemetry?.read(row === null ? 'miss' : 'hit');
    return row;
  }

  /** Returns the cached rows by id. One round trip for each 500 of a shard. */
  async getMany(ids: readonly string[]): Promise<Map<string, Row>> {
    const rows = await Promise.all(ids.map((id) => this.get(id)));
    const found = new Map<string, Row>();
    for (const [index, row] of rows.entries()) {
      if (row !== null) found.set(ids[index] as string, row);
    }
    return found;
  }

  /**
   * Returns the row with its age, its etag and its next refresh; null for a row that is neither scheduled nor cached. One round
   * trip, read-only. O(log n).
   */
  async inspect(id: string): Promise<RowState<Row> | null> {
    const shard = this.#keys.of(requireName('id', id));
    const { due, rows, packs, packed, failed, failures } = shard;
    const value = shard.row(id);
    const reply = await rowCacheInspect.runBuffer(
      this.#redis,
      { due, rows, packs, packed, failed, failures, value },
      { id: encodeName(id) },
    );
    return toRowState(reply as (Buffer | null)[], this.#codec);
  }

  /** Counters of the schedule and of the reads of this object. One round trip for each shard, read-only. O(log n). */
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

  async #changeAll(ids: readonly string[], change: number): Promise<void> {
    await Promise.all(ids.map((id) => this.#change(id, change)));
  }

  async #change(id: string, change: number | 'now'): Promise<boolean> {
    return this.#changes.submit(this.#keys.of(requireName('id', id)), { id, change });
  }
}
