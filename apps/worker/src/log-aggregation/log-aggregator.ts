import { setTimeout as wait } from 'node:timers/promises';
import type { RedisClient } from '@mortise/redis';
import { ClientClosedError, CodedError, requireClient, requireName } from '@mortise/redis';

import { DailyCounts } from './daily-counts.js';
import { FileCounting, type Persist } from './file-counting.js';
import type { DayWindow } from './line-counter.js';
import type { FileReport, LogFile } from './log-file.js';
import { type LogAggregatorOptions, type ResolvedOptions, resolveOptions } from './options.js';
import type { RangeTable } from './range-table.js';

const DAY_MS = 86_400_000;
const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2_000;

/**
 * Counts access logs, lines `IP DATE TIME EVENT`, by day and country, region and city. Each line is counted exactly once, however often its file
 * is begun, by whichever workers, as long as the file keeps its id and its content and comes again within `markerMs`. Lines that
 * cannot be counted are in the report of the file.
 */
export class LogAggregator {
  readonly #redis: RedisClient;
  readonly #table: RangeTable;
  readonly #options: ResolvedOptions;
  readonly #daily: DailyCounts;
  /** Files that are done and never come again, the first one first. */
  #done: { readonly file: string; readonly days: readonly string[]; readonly at: number }[] = [];

  /** Throws TypeError or RangeError for options that cannot be used. */
  constructor(redis: RedisClient, table: RangeTable, options?: LogAggregatorOptions) {
    this.#redis = requireClient(redis);
    this.#table = table;
    this.#options = resolveOptions(options);
    this.#daily = new DailyCounts(redis, this.#options);
  }

  /**
   * Counts a file and acks what is counted, until its end; whether it is then done or has failed is for the caller to say. Where Redis fails, it is asked
   * again until it answers or the signal is aborted. Rejects with what reading the file rejects with; with CheckpointConflictError, when
   * another worker counts the same file at the same time; with the reason of the signal.
   */
  async count(file: LogFile, { signal }: { readonly signal?: AbortSignal } = {}): Promise<FileReport> {
    return (await this.#countingOf(file, signal)).run(signal);
  }

  async #countingOf(file: LogFile, signal: AbortSignal | undefined): Promise<FileCounting> {
    requireName('file.id', file.id);
    const persist = this.#persist(signal);
    const window = await persist(() => this.#window());
    return new FileCounting(file, this.#table, this.#daily, window, this.#options, persist);
  }

  /**
   * Counts files as they come, some side by side, and says of each whether it is done or has failed; a failure is told to `onError` and ends that
   * file only. Resolves when there are no more files, or the signal is aborted and the files at work have stopped.
   */
  async run(
    files: AsyncIterable<LogFile>,
    {
      signal,
      onReport,
    }: { readonly signal?: AbortSignal; readonly onReport?: (report: FileReport) => void } = {},
  ): Promise<void> {
    const atWork = new Set<Promise<void>>();
    for await (const file of files) {
      const work = this.#settle(file, signal, onReport).finally(() => atWork.delete(work));
      atWork.add(work);
      if (atWork.size >= this.#options.concurrency) await Promise.race(atWork);
      if (signal?.aborted) break;
    }
    await Promise.all(atWork);
  }

  async #settle(
    file: LogFile,
    signal: AbortSignal | undefined,
    onReport: ((report: FileReport) => void) | undefined,
  ): Promise<void> {
    try {
      const counting = await this.#countingOf(file, signal);
      const report = await counting.run(signal);
      await this.#persist(signal)(() => file.done());
      if (file.isOnce) this.#done.push({ file: file.id, days: counting.days, at: performance.now() });
      await this.#forget();
      onReport?.(report);
    } catch (error) {
      // A worker that stops leaves the file to whoever comes next.
      if (signal?.aborted) return;
      this.#options.onError(error);
      await file.fail(error).catch(this.#options.onError);
    }
  }

  /** What isn't forgotten, because Redis fails or the process ends, goes away with the other marks of its day. */
  async #forget(): Promise<void> {
    const until = performance.now() - this.#options.forgetMs;
    const due = this.#done.filter(({ at }) => at <= until);
    this.#done = this.#done.filter(({ at }) => at > until);
    try {
      for (const { file, days } of due) await this.#daily.forget(file, days);
    } catch (error) {
      this.#options.onError(error);
    }
  }

  /** The days that are counted, by the server's clock: as long as they are kept, and tomorrow, where it may be later already. */
  async #window(): Promise<DayWindow> {
    const [seconds] = (await this.#redis.call('time', [])) as [string | number];
    const now = Number(seconds) * 1_000;
    return { first: keyOf(now - this.#options.retentionMs), last: keyOf(now + DAY_MS) };
  }

  #persist(signal: AbortSignal | undefined): Persist {
    return async (work) => {
      for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
        signal?.throwIfAborted();
        try {
          return await work();
        } catch (error) {
          // A refusal stays one.
          if (error instanceof CodedError || error instanceof TypeError || error instanceof RangeError)
            throw error;
          if (this.#redis.status === 'end') throw new ClientClosedError();
          this.#options.onError(error);
          await wait(pauseMs, undefined, { ...(signal && { signal }) });
        }
      }
    };
  }
}

/** 20261120 */
function keyOf(at: number): number {
  return Number(new Date(at).toISOString().slice(0, 10).replaceAll('-', ''));
}
