/**
 * Retries the failed rows of one shard in separate slots, so that they delay no other rows. The script picks the rows with
 * the fewest failures, and the loader gives a row twice as long with each further failure. So a healthy row that failed
 * beside others is loaded after two short tries, however many rows keep failing. Rejected: shares of the slots for rows
 * that are known to time out, which need a set and a queue of their own.
 */
import { Loop } from '@mortise/redis';
import type { LeasedRows, NextDue } from './leased-rows.js';
import type { RowLeases } from './row-leases.js';
import type { Slots } from './slots.js';

export interface FailedRowsOptions {
  /** The table, for messages. */
  readonly name: string;
  /** The slots that the shards of the table share. */
  readonly slots: Slots;
  readonly onError: (error: unknown) => void;
  /** Loads and commits the rows; never rejects. */
  readonly run: (leased: LeasedRows, sentAt: number) => Promise<void>;
}

/** The failed rows of one shard in one process. Sends nothing while there are none. */
export class FailedRows {
  readonly #leases: RowLeases;
  readonly #options: FailedRowsOptions;
  readonly #loop: Loop;
  /** When rows are due, an instant of `performance.now()`. */
  #dueAt = Infinity;
  #isLeasing = false;

  constructor(leases: RowLeases, options: FailedRowsOptions) {
    this.#leases = leases;
    this.#options = options;
    const name = `mortise refresher of failed rows of table "${options.name}"`;
    this.#loop = new Loop(name, (signal) => this.#step(signal), { onError: options.onError });
  }

  start(): void {
    this.#loop.start();
  }

  /** Leases nothing more. Does not wait for rows that are being loaded. */
  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Learns when rows are due. */
  expect({ failedInMs }: Pick<NextDue, 'failedInMs'>): void {
    this.#dueAt = Math.min(this.#dueAt, performance.now() + failedInMs);
    if (this.#dueAt < Infinity) this.#loop.wake();
  }

  /** Rows may be due earlier than expected, if there are any. */
  recheck(): void {
    if (this.#isLeasing || this.#dueAt < Infinity) this.expect({ failedInMs: 0 });
  }

  async #step(signal: AbortSignal): Promise<number> {
    if (this.#pauseMs > 0) return this.#pauseMs;
    const { slots, run } = this.#options;
    await slots.take();
    let isRunning = false;
    try {
      if (signal.aborted) return 0;
      // While the call is under way, `expect` only lowers this.
      this.#dueAt = Infinity;
      this.#isLeasing = true;
      const sentAt = performance.now();
      const leased = await this.#leases.leaseFailed();
      this.expect(leased);
      isRunning = leased.ids.length > 0;
      if (isRunning) {
        void run(leased, sentAt).then(() => slots.release());
      }
    } catch (error) {
      this.#dueAt = 0;
      throw error;
    } finally {
      this.#isLeasing = false;
      if (!isRunning) slots.release();
    }
    return this.#pauseMs;
  }

  get #pauseMs(): number {
    return this.#dueAt - performance.now();
  }
}
