/**
 * Rows of a database table, kept in Redis and refreshed on schedule rather than on reading.
 *
 * A ZSET says when each row is due, another how often it is refreshed, a STRING per row holds it. Refreshers, any
 * number of them in any process, claim due rows in batches; readers only ever read. One table is one slot, because a claim has to see
 * all its due rows; one slot serves some 100,000 refreshes per second.
 */
import { Coalescer, encodeName, requireClient, requireName, WaiterHub } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { TableKeys } from './keys.js';
import { resolveEveryMs, resolveRowCacheOptions } from './options.js';
import type { RowCacheOptions, ScheduleOptions } from './options.js';
import { setTable } from './refreshed-table.js';
import { decodeRow } from './row-codec.js';
import { rowCachePlan, rowCacheStats } from './scripts.gen.js';

/** A table in numbers. */
export interface RowCacheStats {
  /** Rows in the schedule. */
  readonly scheduled: number;
  /** Rows that are due and not being loaded. */
  readonly due: number;
  /** Rows whose last load failed. */
  readonly failing: number;
  /** For how long the first due row has been waiting, in ms. Near 0 when the refreshers keep up. */
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

/** The cached rows of one table; `Row` is what its loader gives. */
export class RowCache<Row = unknown> {
  readonly #redis: RedisClient;
  readonly #keys: TableKeys;
  readonly #plans: Coalescer<'plans', Plan, boolean>;
  readonly #reads: Coalescer<'reads', string, string | null>;
  #hits = 0;
  #misses = 0;

  /**
   * Sends nothing.
   *
   * @param table Names the rows in Redis; the loader knows which table of the database that is. 1 to 1,024 bytes.
   */
  constructor(redis: RedisClient, table: string, options: RowCacheOptions<Row>) {
    this.#redis = requireClient(redis);
    const resolved = resolveRowCacheOptions(options);
    const keys = new TableKeys(table, options.prefix);
    this.#keys = keys;
    setTable(this, { keys, options: resolved });
    const { due, every, failures, wake } = keys;
    const publish = WaiterHub.of(redis).publishCommand;
    const { idleMs } = resolved;
    this.#plans = new Coalescer(
      async (_, requests) => {
        const rows = requests.map(({ id }) => keys.row(id));
        const plans = requests.flatMap(({ id, plan }) => [encodeName(id), plan]);
        const counts = await rowCachePlan.run(
          redis,
          { due, every, failures, wake, rows },
          { publish, idleMs, plans },
        );
        return (counts as number[]).map((count) => count === 1);
      },
      { maxBatch: MAX_BATCH },
    );
    this.#reads = new Coalescer(
      async (_, ids) =>
        (await redis.call(
          'mget',
          ids.map((id) => keys.row(id)),
        )) as (string | null)[],
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

  /** The row as it was last loaded, or null: it isn't scheduled, isn't loaded yet, or is gone. Reads of a tick share one MGET. */
  async get(id: string): Promise<Row | null> {
    const row = decodeRow<Row>(await this.#reads.submit('reads', requireName('id', id)));
    if (row === null) this.#misses += 1;
    else this.#hits += 1;
    return row;
  }

  /** The rows that are there, by id. One round trip for each 500. */
  async getMany(ids: readonly string[]): Promise<Map<string, Row>> {
    const rows = await Promise.all(ids.map((id) => this.get(id)));
    const found = new Map<string, Row>();
    for (const [index, row] of rows.entries()) {
      if (row !== null) found.set(ids[index] as string, row);
    }
    return found;
  }

  /** Counts of the schedule, and of the reads of this object. One round trip, read-only. O(log n). */
  async stats(): Promise<RowCacheStats> {
    const reply = await rowCacheStats.run(this.#redis, this.#keys, {});
    const [scheduled, due, failing, lagMs] = reply as [number, number, number, number];
    return { scheduled, due, failing, lagMs, hits: this.#hits, misses: this.#misses };
  }

  async #plan(id: string, plan: number | 'now'): Promise<boolean> {
    return this.#plans.submit('plans', { id: requireName('id', id), plan });
  }
}
