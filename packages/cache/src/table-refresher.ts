/**
 * Refreshes one table. A loop claims; each claimed batch is loaded and committed beside it, up to `concurrency` at once.
 *
 *   due ──claim──▶ leased ──commit──▶ due again (loaded, or failed: after a pause) or out (gone)
 *                    └──lease ends: the refresher died──▶ due
 *
 * The loop sleeps until the next row is due, as far as it knows: what it heard from its last claim and its commits. A row
 * that others make due earlier comes as a wake-up; one that a dead refresher leaves behind, or a lost wake-up, by the bounded re-check.
 */
import { Loop, WaiterHub } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { Claims } from './claims.js';
import type { Claim } from './claims.js';
import { loadBatch } from './load-batch.js';
import type { RefreshOptions } from './options.js';
import type { RefreshedTable } from './refreshed-table.js';

/** The longest sleep of a refresher. */
const RECHECK_MS = 5_000;
/**
 * Between two claims of a process, unless the first was full. Without it, rows that are due one after the other
 * make batches of a few: at 10,000 rows per second 38 instead of 250 in a query, and twice the CPU of Redis per row.
 */
const GATHER_MS = 25;

let refreshers = 0;

export class TableRefresher {
  readonly #redis: RedisClient;
  readonly #table: RefreshedTable;
  readonly #options: RefreshOptions;
  readonly #onError: (error: unknown) => void;
  readonly #claims: Claims;
  readonly #claiming: Loop;
  readonly #listening: Loop;
  readonly #running = new Set<Promise<void>>();
  /** When a row is due, on the clock of `performance.now()`; until then a claim would find nothing. */
  #dueAt = 0;
  /** When the batch behind the last one has had time to gather. */
  #gatheredAt = 0;

  constructor(
    redis: RedisClient,
    table: RefreshedTable,
    options: RefreshOptions,
    onError: (error: unknown) => void,
  ) {
    this.#redis = redis;
    this.#table = table;
    this.#options = options;
    this.#onError = onError;
    this.#claims = new Claims(redis, table, options);
    const name = `mortise refresher of table "${table.keys.table}"`;
    this.#claiming = new Loop(name, (signal) => this.#claim(signal), { onError });
    this.#listening = new Loop(name, (signal) => this.#listen(signal), { onError });
  }

  start(): void {
    this.#expect(0);
    this.#listening.start();
    this.#claiming.start();
  }

  /** Claims nothing more, and waits until what is claimed is loaded and committed. */
  async stop(): Promise<void> {
    await Promise.all([this.#claiming.stop(), this.#listening.stop()]);
    await Promise.all(this.#running);
  }

  async #claim(signal: AbortSignal): Promise<number> {
    if (this.#running.size >= this.#options.concurrency) await Promise.race(this.#running);
    if (signal.aborted) return 0;
    if (this.#pauseMs > 0) return this.#pauseMs;
    // Whatever is heard while the claim is under way only lowers this.
    this.#dueAt = Infinity;
    try {
      const claimedAt = performance.now();
      const claim = await this.#claims.claim();
      if (claim.rows.length > 0) this.#run(claim, claimedAt);
      const isFull = claim.rows.length === this.#options.batch;
      this.#gatheredAt = isFull ? 0 : claimedAt + GATHER_MS;
      this.#expect(isFull ? 0 : claim.nextInMs);
    } catch (error) {
      this.#dueAt = 0;
      throw error;
    }
    return this.#pauseMs;
  }

  #run(claim: Claim, claimedAt: number): void {
    const run = this.#refresh(claim, claimedAt).finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  /** Never rejects. */
  async #refresh(claim: Claim, claimedAt: number): Promise<void> {
    try {
      const ids = claim.rows.map(({ id }) => id);
      const deadlineAt = claimedAt + 0.9 * this.#options.leaseMs;
      const { outcomes, errors } = await loadBatch(this.#table, ids, deadlineAt);
      for (const error of errors) this.#report(error);
      this.#expect(await this.#claims.commit(claim, outcomes));
    } catch (error) {
      // The rows come back when their lease ends.
      this.#report(error);
    }
    this.#claiming.wake();
  }

  /** Hears of rows that became due earlier than expected, until it is stopped. */
  async #listen(signal: AbortSignal): Promise<never> {
    refreshers += 1;
    const waiter = await WaiterHub.of(this.#redis).waiter(this.#table.keys.wake, String(refreshers));
    try {
      for (;;) {
        // Also at the beginning: what was published before the subscription was not heard.
        this.#expect(0);
        this.#claiming.wake();
        await waiter.next({ signal });
      }
    } finally {
      waiter.close();
    }
  }

  get #pauseMs(): number {
    return Math.max(this.#dueAt, this.#gatheredAt) - performance.now();
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
