/**
 * How long rows wait so that others can join them. Without it, rows that are due one after the other make batches of a
 * few: at 10,000 rows per second 38 instead of 250 in a query, and twice the CPU of Redis per row.
 *
 * Behind a batch that was full, rows gather as well, for what is left over would make a small batch: at 10,500 rows per second
 * every second one would have 13. Only rows that are late by then are claimed at once. Where others claim as well,
 * each process leaves them more time, so that together they come as often as one alone.
 */

const GATHER_MS = 25;
const MAX_GATHER_MS = 200;
/** Full batches are claimed without a pause while rows have been due for longer than this: there are more than pauses allow. */
const LATE_MS = 2 * GATHER_MS;

/** What a claim has found. */
export interface Gathered {
  readonly rows: number;
  /** There may be more of them. */
  readonly isFull: boolean;
  /** For how long the first row had been due, in ms. */
  readonly lateMs: number;
}

/** Of one shard, in one process. */
export class Gathering {
  #untilAt = 0;
  #gatherMs = GATHER_MS;

  /** When rows have had time to gather, on the clock of the calls. */
  get untilAt(): number {
    return this.#untilAt;
  }

  /** @param hasWaited Whether the rows were there before, and only `untilAt` was waited for. */
  claimed({ rows, isFull, lateMs }: Gathered, claimedAt: number, hasWaited: boolean): void {
    if (rows > 0 && (hasWaited || lateMs > GATHER_MS)) {
      // Rows that others would have taken have been waiting for less than planned.
      const gatherMs = this.#gatherMs + (GATHER_MS - lateMs) / 2;
      this.#gatherMs = Math.max(GATHER_MS, Math.min(MAX_GATHER_MS, gatherMs));
    }
    this.#untilAt = isFull && lateMs > LATE_MS ? 0 : claimedAt + this.#gatherMs;
  }

  /** What comes next does not wait to gather. */
  hurry(): void {
    this.#untilAt = 0;
  }
}
