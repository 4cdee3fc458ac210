/**
 * Counts one file: blocks become lines, lines become counters, and at checkpoints the counters are added to the aggregates before the
 * offset is acked. So after a crash at any point, the next worker reads from an offset up to which the lines are counted, and skips counted
 * lines after it (see daily-counts.ts).
 */
import { TIMED_OUT, waitFor } from '@mortise/redis';
import { segmentsOfDay } from './checkpoint-segments.js';
import type { DailyCounts } from './daily-counts.js';
import { dayOf } from './day-counts.js';
import { type LineBlock, LineBlocks } from './line-blocks.js';
import { type DayWindow, LineCounter } from './line-counter.js';
import type { FileReport, LogFile } from './log-file.js';
import { MalformedLines } from './malformed-lines.js';
import { LOG_LINES } from './metrics.js';
import type { ResolvedOptions } from './options.js';
import type { RangeTable } from './range-table.js';

/** Repeats a call that is safe to repeat until Redis has done it. */
export type Persist = <T>(work: () => Promise<T>) => Promise<T>;

export class FileCounter {
  readonly #file: LogFile;
  readonly #table: RangeTable;
  readonly #daily: DailyCounts;
  readonly #options: ResolvedOptions;
  readonly #persist: Persist;
  readonly #readWindow: () => Promise<DayWindow>;
  /** When the window of counted days has to be read again. */
  #windowUntil = -Infinity;
  #blocks: LineBlocks;
  readonly #counter: LineCounter;
  readonly #malformed = new MalformedLines();
  #lines = 0;
  /** Lines that end at this offset or before are in the counters or in the aggregates. */
  #reached = 0;
  #acked = 0;
  #checkpointAt = performance.now();
  /** Lines that telemetry has counted, by outcome. */
  readonly #reported: Record<string, number> = {};

  constructor(
    file: LogFile,
    table: RangeTable,
    daily: DailyCounts,
    readWindow: () => Promise<DayWindow>,
    options: ResolvedOptions,
    persist: Persist,
  ) {
    this.#file = file;
    this.#table = table;
    this.#daily = daily;
    this.#options = options;
    this.#persist = persist;
    this.#blocks = new LineBlocks(0, options.maxLineBytes);
    this.#readWindow = readWindow;
    // No day, until it is read.
    const window = { first: 0, last: 0 };
    this.#counter = new LineCounter(table, { ...options, window }, this.#malformed);
  }

  /** Rejects with the error of the file, with CheckpointConflictError, or with the reason of the signal; then the file isn't done. */
  async run(signal?: AbortSignal): Promise<FileReport> {
    const blocks = this.#file.blocks()[Symbol.asyncIterator]();
    try {
      for (let isFirst = true; ; isFirst = false) {
        const next = await this.#next(blocks);
        signal?.throwIfAborted();
        if (isFirst) this.#begin(this.#file.offset);
        if (next.done) break;
        if (performance.now() >= this.#windowUntil) await this.#moveWindow();
        for (const lines of this.#blocks.add(next.value)) await this.#count(lines);
        if (this.#isDue()) await this.#checkpoint();
      }
    } catch (error) {
      await blocks.return?.();
      throw error;
    }
    for (const lines of this.#blocks.end()) await this.#count(lines);
    await this.#checkpoint();
    return {
      id: this.#file.id,
      bytes: this.#blocks.offset,
      lines: this.#lines,
      repeated: this.#counter.repeated,
      malformed: this.#malformed.total,
      malformedOf: this.#malformed.counts,
      samples: this.#malformed.samples,
    };
  }

  #begin(offset: number): void {
    this.#reached = this.#acked = offset;
    this.#blocks = new LineBlocks(offset, this.#options.maxLineBytes);
  }

  /** The next block. While a file grows slowly, the counted lines are flushed meanwhile. */
  async #next(blocks: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array>> {
    const next = blocks.next();
    const found = await waitFor(next, { waitMs: this.#options.checkpointMs });
    if (found === TIMED_OUT && this.#reached > this.#acked) {
      // A rejection reaches the caller by the `return` below.
      next.catch(() => undefined);
      await this.#checkpoint();
    }
    return next;
  }

  async #count({ bytes, start, end, base, lost }: LineBlock): Promise<void> {
    const counter = this.#counter;
    let at = start;
    while (at < end) {
      at = counter.count(bytes, at, end, base);
      this.#reached = base + at;
      if (counter.missingDay !== 0) await this.#open(counter.missingDay);
      else if (counter.isFull) await this.#checkpoint();
    }
    this.#reached = base + end + lost;
  }

  async #open(key: number): Promise<void> {
    if (this.#counter.openDays >= this.#options.maxDays) await this.#checkpoint(true);
    const day = dayOf(key);
    const { id, isOnce, lease } = this.#file;
    if (isOnce) await this.#persist(() => this.#daily.begin(id, day, lease));
    const countedTo = await this.#persist(() => this.#daily.countedTo(id, day));
    this.#counter.open(key, countedTo);
  }

  /** A followed file may reach days after the window, perhaps after a silent night. */
  async #moveWindow(): Promise<void> {
    this.#counter.window = await this.#persist(this.#readWindow);
    this.#windowUntil = performance.now() + this.#options.checkpointMs;
  }

  #isDue(): boolean {
    const { checkpointBytes, checkpointMs } = this.#options;
    return (
      this.#reached - this.#acked >= checkpointBytes ||
      (this.#reached > this.#acked && performance.now() - this.#checkpointAt >= checkpointMs)
    );
  }

  /** Adds the lines since the last checkpoint to the aggregates, then acks. With `isForgetting`, closes the days. */
  async #checkpoint(isForgetting = false): Promise<void> {
    const toOffset = this.#reached;
    const days = Array.from(this.#counter.days).filter(({ lines }) => lines > 0);
    await Promise.all(
      days.map(async (counts) => {
        const { day, countedTo: fromOffset, lines } = counts;
        const segments = segmentsOfDay(counts, this.#table.places);
        const { id: file, lease } = this.#file;
        const checkpoint = { file, day, fromOffset, toOffset, lines, segments, lease };
        counts.countedTo = await this.#persist(() => this.#daily.count(checkpoint));
        this.#lines += lines;
      }),
    );
    this.#counter.clear(isForgetting);
    this.#countLines();
    this.#checkpointAt = performance.now();
    this.#windowUntil = -Infinity;
    // A last line without a newline was given one, which is not in the file.
    const offset = Math.min(toOffset, this.#blocks.offset);
    if (offset <= this.#acked) return;
    await this.#persist(() => this.#file.ack(offset));
    this.#acked = offset;
  }
  #countLines(): void {
    const { telemetry } = this.#options;
    if (!telemetry) return;
    const lines = { counted: this.#lines, repeated: this.#counter.repeated, ...this.#malformed.counts };
    for (const [outcome, count] of Object.entries(lines)) {
      const added = count - (this.#reported[outcome] ?? 0);
      this.#reported[outcome] = count;
      if (added > 0) telemetry.count(LOG_LINES, added, { 'mortise.messaging.lines': outcome });
    }
  }
}
