/**
 * How long due rows wait for others to become due with them. Without a window, rows that are due one after another make small
 * batches. At 10,000 rows per second these were 38 instead of 250 rows in a query, and twice the CPU of Redis per row.
 *
 * A full batch is followed by a window too, because the remaining rows would make a small batch. At 10,500 rows per second
 * every second batch would have 13 rows. Late rows are leased at once; all others wait for the window. Processes that share a table
 * lengthen their windows, so that together they lease as often as one alone.
 */

const WINDOW_MS = 25;
const MAX_WINDOW_MS = 200;
/** Full batches follow each other without a window while rows have been due for longer than this. */
const LATE_MS = 2 * WINDOW_MS;

/** A batch that was leased. */
export interface LeasedBatch {
  readonly rows: number;
  /** Whether more rows may be due. */
  readonly isFull: boolean;
  /** How long the first row had been due, in ms. */
  readonly lateMs: number;
}

/** The window of one shard in one process. */
export class BatchWindow {
  #endsAt = 0;
  #windowMs = WINDOW_MS;

  /** The end of the present window, on the clock of the calls. */
  get endsAt(): number {
    return this.#endsAt;
  }

  /** @param hasWaited Whether rows were due earlier and waited only for `endsAt`. */
  leased({ rows, isFull, lateMs }: LeasedBatch, leasedAt: number, hasWaited: boolean): void {
    if (rows > 0 && (hasWaited || lateMs > WINDOW_MS)) {
      // If other processes lease rows too, the rows here are late by less than the window.
      const windowMs = this.#windowMs + (WINDOW_MS - lateMs) / 2;
      this.#windowMs = Math.max(WINDOW_MS, Math.min(MAX_WINDOW_MS, windowMs));
    }
    this.#endsAt = isFull && lateMs > LATE_MS ? 0 : leasedAt + this.#windowMs;
  }

  /** Ends the present window. */
  end(): void {
    this.#endsAt = 0;
  }
}
