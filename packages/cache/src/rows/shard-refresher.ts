/**
 * Refreshes one shard of a table. A loop claims; each claimed batch is loaded and committed beside it, as far as there are slots.
 *
 *   due ──claim──▶ leased ──commit──▶ due again (loaded) or out (gone) or due apart from others (failed: after a pause)
 *                    └──lease ends: the refresher died──▶ due
 *
 * Rows that failed have a loop, claims and slots of their own (retries.ts), so they take nothing from others.
 *
 * The loop sleeps until the next row is due, as far as it knows: what it heard from its last claim and its commits. A row
 * that others make due earlier comes as a wake-up; one that a dead refresher leaves behind, or a lost wake-up, by the bounded re-check.
 */
import { Loop, WaiterHub } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import type { ShardKeys } from '../keys.js';
import type { RefreshOptions } from '../options.js';
import type { BatchOutcome, CacheTelemetry } from '../telemetry/cache-telemetry.js';
import { Claims } from './claims.js';
import type { Claim } from './claim.js';
import type { Outcome } from './claims.js';
import { Gathering } from './gathering.js';
import type { RefreshedTable } from './refreshed-table.js';
import { Retries } from './retries.js';
import type { Slots } from './slots.js';
import type { TableLoader } from './table-loader.js';

/** The longest sleep of a refresher. */
const RECHECK_MS = 5_000;

/** What a process has refreshed. */
export interface RefreshCounts {
  /** Batches that were claimed. */
  batches: number;
  /** Rows in them. */
  rows: number;
  /** Rows whose value had not changed. */
  unchanged: number;
  /** Rows whose result came too late: changed meanwhile, or somebody else's since. */
  refused: number;
}

/** What the shards of a table share in a process. */
export interface TableWork {
  readonly table: RefreshedTable;
  readonly loader: TableLoader;
  readonly slots: Slots;
  /** Of batches of rows whose last load failed: they take no other slot, for they may hang. */
  readonly retrySlots: Slots;
  /** Of these, for rows that are known to hang. */
  readonly hungSlots: Slots;
  readonly counts: RefreshCounts;
  readonly telemetry: CacheTelemetry | undefined;
}

let refreshers = 0;

export class ShardRefresher {
  readonly #redis: RedisClient;
  readonly #work: TableWork;
  readonly #keys: ShardKeys;
  readonly #options: RefreshOptions;
  readonly #onError: (error: unknown) => void;
  readonly #claims: Claims;
  readonly #claiming: Loop;
  readonly #listening: Loop;
  readonly #retries: Retries;
  readonly #running = new Set<Promise<void>>();
  /** When a row is due, on the clock of `performance.now()`; until then a claim would find nothing. */
  #dueAt = 0;
  readonly #gathering = new Gathering();

  constructor(
    redis: RedisClient,
    work: TableWork,
    keys: ShardKeys,
    options: RefreshOptions,
    onError: (error: unknown) => void,
  ) {
    this.#redis = redis;
    this.#work = work;
    this.#keys = keys;
    this.#options = options;
    this.#onError = onError;
    this.#claims = new Claims(redis, work.table, keys, options);
    const name = `mortise refresher of table "${work.table.keys.table}"`;
    this.#claiming = new Loop(name, (signal) => this.#claim(signal), { onError });
    this.#listening = new Loop(name, (signal) => this.#listen(signal), { onError });
    this.#retries = new Retries(this.#claims, work, {
      onError,
      run: (claim, claimedAt) => this.#run(claim, claimedAt),
    });
  }

  start(): void {
    this.#expect(0);
    this.#listening.start();
    this.#claiming.start();
    this.#retries.start();
  }

  /**
   * Claims nothing more, and waits until what is claimed is loaded and committed, but not longer than any lease: while Redis is
   * away, a claim or a commit may never be answered, and rows of leases that have ended are somebody else's.
   */
  async stop(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const leasesEnd = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#options.leaseMs);
    });
    const stopped = Promise.all([this.#claiming.stop(), this.#listening.stop(), this.#retries.stop()]);
    const done = stopped.then(() => Promise.all(this.#running));
    await Promise.race([done, leasesEnd]);
    clearTimeout(timer);
  }

  async #claim(signal: AbortSignal): Promise<number> {
    if (this.#pauseMs > 0) return this.#pauseMs;
    const { slots } = this.#work;
    await slots.take();
    let isRunning = false;
    try {
      if (signal.aborted) return 0;
      const hasWaited = this.#dueAt < this.#gathering.untilAt;
      // Whatever is heard while the claim is under way only lowers this.
      this.#dueAt = Infinity;
      const claimedAt = performance.now();
      const claim = await this.#claims.claim();
      isRunning = claim.ids.length > 0;
      if (isRunning) void this.#run(claim, claimedAt).then(() => slots.free());
      this.#plan(claim, claimedAt, hasWaited);
      this.#retries.expect(claim);
    } catch (error) {
      this.#dueAt = 0;
      throw error;
    } finally {
      if (!isRunning) slots.free();
    }
    return this.#pauseMs;
  }

  /** When to claim again. */
  #plan({ ids, isProbe, lateMs, nextInMs }: Claim, claimedAt: number, hasWaited: boolean): void {
    // What is due and didn't fit is a pack as well: most batches of packs have a few rows less than they may.
    const isFull = ids.length === this.#options.batch || (ids.length > 0 && nextInMs === 0 && !isProbe);
    this.#gathering.claimed({ rows: ids.length, isFull, lateMs }, claimedAt, hasWaited);
    if (isProbe) this.#gathering.hurry();
    // What a probe finds out is waited for, if it has found a row.
    this.#expect(isFull ? 0 : isProbe && ids.length > 0 ? RECHECK_MS : nextInMs);
  }

  /** Never rejects. */
  #run(claim: Claim, claimedAt: number): Promise<void> {
    const run = this.#refresh(claim, claimedAt).finally(() => this.#running.delete(run));
    this.#running.add(run);
    return run;
  }

  /** Never rejects. */
  async #refresh(claim: Claim, claimedAt: number): Promise<void> {
    const { loader, counts, telemetry } = this.#work;
    const { ids, isProbe } = claim;
    try {
      const startedAt = performance.now();
      const loaded = await loader.load(claim, claim.claimedAt, claimedAt);
      telemetry?.loaded(performance.now() - startedAt, loaded.isSourceDown);
      for (const error of loaded.errors) this.#report(error);
      const committed = await this.#claims.commit(claim, loaded);
      const { nextInMs, held, unchanged } = committed;
      counts.batches += 1;
      counts.rows += ids.length;
      counts.unchanged += unchanged;
      counts.refused += ids.length - held;
      telemetry?.refreshed({
        rows: countsOf(ids, loaded.outcomes, unchanged),
        refused: ids.length - held,
        lateMs: claim.lateMs,
      });
      this.#expect(isProbe || loaded.isSourceDown ? 0 : nextInMs);
      this.#retries.expect(committed);
    } catch (error) {
      // The rows come back when their lease ends.
      this.#report(error);
    }
    this.#claiming.wake();
  }

  /** Hears of rows that became due earlier than expected, until it is stopped. */
  async #listen(signal: AbortSignal): Promise<never> {
    refreshers += 1;
    const waiter = await WaiterHub.of(this.#redis).waiter(this.#keys.wake, String(refreshers));
    try {
      for (;;) {
        // Also at the beginning: what was published before the subscription was not heard.
        this.#expect(0);
        this.#claiming.wake();
        this.#retries.hurry();
        await waiter.next({ signal });
      }
    } finally {
      waiter.close();
    }
  }

  get #pauseMs(): number {
    return Math.max(this.#dueAt, this.#gathering.untilAt) - performance.now();
  }

  #expect(inMs: number): void {
    this.#dueAt = Math.min(this.#dueAt, performance.now() + Math.min(inMs, RECHECK_MS));
  }

  #report(error: unknown): void {
    try {
      this.#onError(error);
    } catch (thrown) {
      console.error('onError threw', thrown);
    }
  }
}

function countsOf(
  ids: readonly string[],
  outcomes: ReadonlyMap<string, Outcome>,
  unchanged: number,
): BatchOutcome['rows'] {
  const rows = { stored: -unchanged, unchanged, gone: 0, failed: 0, skipped: 0 };
  for (const id of ids) {
    const outcome = outcomes.get(id) ?? 'skipped';
    const count = typeof outcome === 'string' ? outcome : 'stored';
    rows[count === 'hung' ? 'failed' : count] += 1;
  }
  return rows;
}
