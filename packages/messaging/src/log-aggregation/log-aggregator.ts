import { setTimeout as wait } from 'node:timers/promises';
import type { RedisClient } from '@mortise/redis';
import {
  callRedis,
  ClientClosedError,
  CodedError,
  isClosed,
  requireClient,
  requireName,
} from '@mortise/redis';

import { DailyCounts } from './daily-counts.js';
import { LeaseTooShortError } from './errors.js';
import { FileCounter, type Persist } from './file-counter.js';
import type { DayWindow } from './line-counter.js';
import type { FileReport, LogFile } from './log-file.js';
import { type LogAggregatorOptions, type ResolvedOptions, resolveOptions } from './options.js';
import type { RangeTable } from './range-table.js';

const DAY_MS = 86_400_000;
const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2_000;
/** The most files whose marks `stop` removes. */
const MAX_DONE = 10_000;

/**
 * Counts access logs, lines `IP DATE TIME EVENT`, by day and country, region and city. Each line is counted exactly once, even
 * if several workers begin its file, or one worker begins it several times. A file that comes again must have its id and its
 * content, and come within `markerMs`. The report of a file has the lines that cannot be counted.
 */
export class LogAggregator {
  readonly #redis: RedisClient;
  readonly #table: RangeTable;
  readonly #options: ResolvedOptions;
  readonly #daily: DailyCounts;
  /** Files that are done and never come again. */
  readonly #done = new Set<string>();
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;
  #forgetting: Promise<void> | undefined;

  /** Throws TypeError or RangeError for options that cannot be used. */
  constructor(redis: RedisClient, table: RangeTable, options?: LogAggregatorOptions) {
    this.#redis = requireClient(redis);
    this.#table = table;
    this.#options = resolveOptions(options);
    this.#daily = new DailyCounts(redis, this.#options);
  }

  /**
   * Counts a file to its end, and acks what is counted; the caller then calls `done` or `fail`. A call of Redis that fails is
   * repeated until Redis answers or the signal is aborted. Rejects with the error of the file, and with the reason of the
   * signal. Rejects with CheckpointConflictError when another worker counts the same file at the same time.
   */
  async count(file: LogFile, { signal }: { readonly signal?: AbortSignal } = {}): Promise<FileReport> {
    return this.#countingOf(file, signal).run(signal);
  }

  #countingOf(file: LogFile, signal: AbortSignal | undefined): FileCounter {
    requireName('file.id', file.id);
    const readWindow = async (): Promise<DayWindow> => this.#window();
    return new FileCounter(file, this.#table, this.#daily, readWindow, this.#options, this.#persist(signal));
  }

  /**
   * Counts files as they come, some side by side, and calls `done` or `fail` of each. `onError` gets the failure of a file, which ends that file only.
   * Resolves when there are no more files, or the signal is aborted, and the current files have stopped. Rejects with the error of `files`, which
   * stops the current files as an abort does.
   */
  async run(
    files: AsyncIterable<LogFile>,
    {
      signal,
      onReport,
    }: { readonly signal?: AbortSignal; readonly onReport?: (report: FileReport) => void } = {},
  ): Promise<void> {
    const current = new Set<Promise<void>>();
    const failure = new AbortController();
    const ended = signal ? AbortSignal.any([signal, failure.signal]) : failure.signal;
    this.#isStopped = false;
    this.#forgetIn(0);
    try {
      for await (const file of files) {
        const work = this.#countAndFinish(file, ended, onReport).finally(() => current.delete(work));
        current.add(work);
        if (current.size >= this.#options.concurrency) await Promise.race(current);
        if (signal?.aborted) break;
      }
    } catch (error) {
      // The current files come from there, too: one that is still written might not end for a day.
      failure.abort(error);
      throw error;
    } finally {
      await Promise.all(current);
    }
  }

  async #countAndFinish(
    file: LogFile,
    signal: AbortSignal,
    onReport: ((report: FileReport) => void) | undefined,
  ): Promise<void> {
    try {
      const report = await this.count(file, { signal });
      await this.#expectEnd(file, signal);
      await this.#persist(signal)(() => file.done());
      onReport?.(report);
    } catch (error) {
      // A worker that stops leaves the file to the next one.
      if (signal.aborted) return;
      const report = (failure: unknown): void => this.#options.errors.report(failure);
      report(error);
      if (file.isGivenUp?.(error)) await this.#expectEnd(file, signal).catch(report);
      await file.fail(error).catch(report);
    }
  }

  /** Before the file is done, so that no crash comes in between. A file that comes again nevertheless has no more lines to count. */
  async #expectEnd(file: LogFile, signal: AbortSignal | undefined): Promise<void> {
    if (!file.isOnce) return;
    await this.#persist(signal)(() => this.#daily.done(file.id, file.lease));
    this.#done.add(file.id);
    if (this.#done.size > MAX_DONE) this.#done.delete(this.#done.values().next().value!);
    this.#forgetIn(this.#options.forgetMs);
  }

  /**
   * Removes the marks of the files that were done here, so that nothing of them is left. Idempotent, legal before `run`. If
   * Redis cannot be reached, another aggregator removes the marks, or they expire after `markerMs`.
   */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#forgetting;
    const done = [...this.#done];
    this.#done.clear();
    if (this.#redis.status !== 'ready') return;
    try {
      for (const file of done) await this.#daily.forget(file);
    } catch (error) {
      this.#options.errors.report(error);
    }
  }

  /** Also for processes that were killed. The process may end meanwhile. */
  #forgetIn(ms: number): void {
    if (this.#isStopped || this.#timer || isClosed(this.#redis)) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      // The caller may have closed the client meanwhile, without a call of `stop`.
      if (isClosed(this.#redis)) return;
      this.#forgetting = this.#forget();
    }, ms);
    this.#timer.unref();
  }

  async #forget(): Promise<void> {
    try {
      const { files, nextMs } = await this.#daily.forgetDue(this.#options.forgetMs);
      for (const file of files) this.#done.delete(file);
      if (nextMs !== undefined) this.#forgetIn(nextMs);
    } catch (error) {
      this.#options.errors.report(error);
      this.#forgetIn(MAX_PAUSE_MS);
    }
  }

  /** The days that are counted, by the server's clock: up to `maxAgeMs` ago, and tomorrow, since other time zones are ahead. */
  async #window(): Promise<DayWindow> {
    const [seconds] = (await callRedis(this.#redis, 'time', [])) as [string | number];
    const now = Number(seconds) * 1_000;
    return { first: keyOf(now - this.#options.maxAgeMs), last: keyOf(now + DAY_MS) };
  }

  #persist(signal: AbortSignal | undefined): Persist {
    return async (work) => {
      for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
        signal?.throwIfAborted();
        try {
          return await work();
        } catch (error) {
          if (isRefusal(error)) throw error;
          if (isClosed(this.#redis)) throw new ClientClosedError();
          this.#options.errors.report(error);
          await wait(pauseMs, undefined, { ...(signal && { signal }) });
        }
      }
    };
  }
}

/** Whether repeating the call would not help. */
function isRefusal(error: unknown): boolean {
  if (error instanceof LeaseTooShortError) return false;
  return error instanceof CodedError || error instanceof TypeError || error instanceof RangeError;
}

/** 20261120 */
function keyOf(at: number): number {
  return Number(new Date(at).toISOString().slice(0, 10).replaceAll('-', ''));
}
