/**
 * Refreshes one shard of a table. A loop leases batches while there are free slots; each batch is loaded and committed
 * outside of the loop.
 *
 *   due ──lease──▶ leased ──commit──▶ due again (loaded), removed (missing), or failed (after a pause)
 *                    └──the lease ends: the refresher died──▶ due
 *
 * Failed rows have a loop, leases and slots of their own (failed-rows.ts), so they take nothing from others.
 *
 * The loop sleeps until the next row is due, according to its last lease and commits. A wake-up announces a row that
 * another process makes due earlier. The bounded recheck finds the rows of a dead refresher, and repairs a lost wake-up.
 */
import { Loop, waitFor, WaiterHub } from '@mortise/redis';
import type { ErrorReporter, RedisClient } from '@mortise/redis';
import { failureOf } from '../failure-of.js';
import type { ShardKeys } from './keys.js';
import type { BatchOutcome, CacheTelemetry } from '../telemetry/cache-telemetry.js';
import { BatchWindow } from './batch-window.js';
import { FailedRows } from './failed-rows.js';
import type { LeasedRows } from './leased-rows.js';
import type { ResolvedRefresherOptions } from './options.js';
import type { RefreshedTable } from './refreshed-table.js';
import { RowLeases } from './row-leases.js';
import type { Outcome } from './row-leases.js';
import type { Slots } from './slots.js';
import type { TableLoader } from './table-loader.js';

/** The longest sleep of a refresher. */
const RECHECK_MS = 5_000;

/** Counters of a refresher. */
export interface RefreshCounts {
  /** Batches leased. */
  batches: number;
  /** Rows in them. */
  rows: number;
  /** Rows whose value had not changed. */
  unchanged: number;
  /** Rows whose result came too late: they were changed in between, or leased by another refresher. */
  refused: number;
}

/** The parts that the shards of a table share in a process. */
export interface TableWork {
  readonly table: RefreshedTable;
  readonly loader: TableLoader;
  readonly slots: Slots;
  /** For batches of failed rows. */
  readonly failedSlots: Slots;
  readonly counts: RefreshCounts;
  readonly telemetry: CacheTelemetry | undefined;
}

export class ShardRefresher {
  readonly #redis: RedisClient;
  readonly #work: TableWork;
  readonly #keys: ShardKeys;
  readonly #options: ResolvedRefresherOptions;
  readonly #reporter: ErrorReporter;
  readonly #leases: RowLeases;
  readonly #leasing: Loop;
  readonly #listening: Loop;
  readonly #failedRows: FailedRows;
  readonly #running = new Set<Promise<void>>();
  readonly #window = new BatchWindow();
  /** When a row is due, an instant of `performance.now()`; a lease before that would find nothing. */
  #dueAt = 0;

  constructor(
    redis: RedisClient,
    work: TableWork,
    keys: ShardKeys,
    options: ResolvedRefresherOptions,
    reporter: ErrorReporter,
  ) {
    this.#redis = redis;
    this.#work = work;
    this.#keys = keys;
    this.#options = options;
    this.#reporter = reporter;
    this.#leases = new RowLeases(redis, work.table, keys, options);
    const { table } = work.table.keys;
    const name = `mortise refresher of table "${table}"`;
    const onError = (error: unknown): void => reporter.reportRepeated(error);
    this.#leasing = new Loop(name, (signal) => this.#lease(signal), { onError });
    this.#listening = new Loop(name, (signal) => this.#listen(signal), { onError });
    this.#failedRows = new FailedRows(this.#leases, {
      name: table,
      slots: work.failedSlots,
      onError,
      run: (leased, sentAt) => this.#run(leased, sentAt),
    });
  }

  start(): void {
    this.#expect(0);
    this.#listening.start();
    this.#leasing.start();
    this.#failedRows.start();
  }

  /**
   * Leases nothing more, and waits until all leased rows are loaded and committed, but not longer than a lease. While Redis
   * is unavailable, a command may never be answered, and the rows of an ended lease belong to others.
   */
  async stop(): Promise<void> {
    const loops = [this.#leasing.stop(), this.#listening.stop(), this.#failedRows.stop()];
    const drained = Promise.all(loops).then(() => Promise.all(this.#running));
    await waitFor(drained, { waitMs: this.#options.leaseMs });
  }

  async #lease(signal: AbortSignal): Promise<number> {
    if (this.#pauseMs > 0) return this.#pauseMs;
    const { slots } = this.#work;
    await slots.take();
    let isRunning = false;
    try {
      if (signal.aborted) return 0;
      const hasWaited = this.#dueAt < this.#window.endsAt;
      // While the call is under way, `#expect` only lowers this.
      this.#dueAt = Infinity;
      const sentAt = performance.now();
      const leased = await this.#leases.lease();
      isRunning = leased.ids.length > 0;
      if (isRunning) void this.#run(leased, sentAt).then(() => slots.release());
      this.#plan(leased, sentAt, hasWaited);
      this.#failedRows.expect(leased);
    } catch (error) {
      this.#dueAt = 0;
      throw error;
    } finally {
      if (!isRunning) slots.release();
    }
    return this.#pauseMs;
  }

  /** Decides when to lease again. */
  #plan({ ids, isProbe, lateMs, nextInMs }: LeasedRows, sentAt: number, hasWaited: boolean): void {
    // More due rows did not fit: most batches of packs have a few rows less than `batch`.
    const isFull = ids.length === this.#options.batch || (ids.length > 0 && nextInMs === 0 && !isProbe);
    this.#window.leased({ rows: ids.length, isFull, lateMs }, sentAt, hasWaited);
    if (isProbe) this.#window.end();
    // The end of a half-open probe wakes the loop, if the probe has a row.
    this.#expect(isFull ? 0 : isProbe && ids.length > 0 ? RECHECK_MS : nextInMs);
  }

  /** Never rejects. */
  #run(leased: LeasedRows, sentAt: number): Promise<void> {
    const run = this.#refresh(leased, sentAt).finally(() => this.#running.delete(run));
    this.#running.add(run);
    return run;
  }

  /** Never rejects. */
  async #refresh(leased: LeasedRows, sentAt: number): Promise<void> {
    const { loader, counts, telemetry } = this.#work;
    const { ids, isProbe } = leased;
    try {
      const startedAt = performance.now();
      const loaded = await loader.load(leased, leased.leasedAt, sentAt);
      telemetry?.loaded(performance.now() - startedAt, loaded.isSourceDown);
      for (const error of loaded.errors) this.#reporter.reportRepeated(error, failureOf(error));
      const committed = await this.#leases.commit(leased, loaded);
      const { nextInMs, held, unchanged } = committed;
      counts.batches += 1;
      counts.rows += ids.length;
      counts.unchanged += unchanged;
      counts.refused += ids.length - held;
      telemetry?.refreshed({
        rows: countsOf(ids, loaded.outcomes, unchanged),
        refused: ids.length - held,
        lateMs: leased.lateMs,
      });
      this.#expect(isProbe || loaded.isSourceDown ? 0 : nextInMs);
      this.#failedRows.expect(committed);
    } catch (error) {
      // The rows are due again when their lease ends.
      this.#reporter.reportRepeated(error);
    }
    this.#leasing.wake();
  }

  /** Receives wake-ups until `stop`. */
  async #listen(signal: AbortSignal): Promise<never> {
    const hub = WaiterHub.of(this.#redis);
    const waiter = await hub.waiter(this.#keys.wake, hub.newId());
    try {
      for (;;) {
        // Also at the start: a wake-up before the subscription was missed.
        this.#expect(0);
        this.#leasing.wake();
        this.#failedRows.recheck();
        await waiter.next({ signal });
      }
    } finally {
      waiter.close();
    }
  }

  get #pauseMs(): number {
    return Math.max(this.#dueAt, this.#window.endsAt) - performance.now();
  }

  #expect(inMs: number): void {
    this.#dueAt = Math.min(this.#dueAt, performance.now() + Math.min(inMs, RECHECK_MS));
  }
}

function countsOf(
  ids: readonly string[],
  outcomes: ReadonlyMap<string, Outcome>,
  unchanged: number,
): BatchOutcome['rows'] {
  const rows = { stored: -unchanged, unchanged, missing: 0, failed: 0, skipped: 0 };
  for (const id of ids) {
    const outcome = outcomes.get(id) ?? 'skipped';
    rows[typeof outcome === 'string' ? outcome : 'stored'] += 1;
  }
  return rows;
}
