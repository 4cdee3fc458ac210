/**
 * Adds checkpoints to the aggregates of a day, each exactly once. A checkpoint has the lines that a worker has counted of a file between two
 * offsets. The slot of the day also has a mark for each file: the offset up to which the file is counted. A script adds a checkpoint only if it
 * begins at the mark, and moves the mark in the same step. So a worker that doesn't know whether a checkpoint was counted sends it again. A worker
 * that reads a file again skips the lines before the mark, wherever its own checkpoints end.
 *
 * A checkpoint may have more members than one script should add. The first segment travels with the mark. The others are staged before, and
 * become pending with the mark. The same worker, or the next one after a crash, adds them. Rejected: a mark for each segment, since every later
 * worker would have to make the same segments, with the same table and the same checkpoints.
 *
 * The marks of a file that never comes again are removed when it is done. A paused worker may resume after that; the server refuses its checkpoints,
 * since its lease has ended by the server's clock before another worker could count the file.
 */
import { randomUUID } from 'node:crypto';
import type { RedisClient } from '@mortise/redis';
import { callRedis, decodeName, encodeName } from '@mortise/redis';

import { dailyBegin, dailyCount, dailyDone, dailyDue, dailyResume, dailyStage } from '../scripts.gen.js';
import { type DayKeys, dayKeys, type DoneKeys, doneKeys } from './keys.js';
import { CheckpointConflictError, LeaseTooShortError } from './errors.js';
import type { FileLease } from './log-file.js';

/** Each segment renews it. */
const STAGED_MS = 10_000;
/** Files whose marks one call removes. */
const FORGOTTEN_AT_ONCE = 100;

export interface DailyCountsOptions {
  readonly prefix?: string | undefined;
  readonly keepMs: number;
  readonly markerMs: number;
}

/** The fraction of a lease that is left out, since clocks of servers differ. It is renewed each third, so two thirds are left of it. */
const SKEW = 1 / 4;

/** The counted lines of a file and a day between two offsets. */
export interface Checkpoint {
  readonly file: string;
  readonly day: string;
  /** The end of the last checkpoint of this file with lines of this day; 0 for none. */
  readonly fromOffset: number;
  readonly toOffset: number;
  readonly lines: number;
  readonly segments: readonly Buffer[];
  readonly lease?: FileLease | undefined;
}

export class DailyCounts {
  readonly #redis: RedisClient;
  readonly #options: DailyCountsOptions;
  readonly #done: DoneKeys;
  /** Tells apart the staged segments of two workers of one file. */
  readonly #writer = randomUUID();

  constructor(redis: RedisClient, options: DailyCountsOptions) {
    this.#redis = redis;
    this.#options = options;
    this.#done = doneKeys(options.prefix);
  }

  /**
   * The offset up to which a file is counted in a day, 0 for none. Adds its pending segments before. One round trip, and one more for each pending
   * segment.
   */
  async countedTo(file: string, day: string): Promise<number> {
    const keys = this.#keysOf(day);
    const args = { file: encodeName(file), keepMs: this.#options.keepMs };
    for (;;) {
      const [offset, waiting] = (await dailyResume.run(
        this.#redis,
        { ...keys, pending: keys.pendingOf(file) },
        args,
      )) as [string | null, number];
      if (waiting === 0) return Number(offset);
    }
  }

  /**
   * Adds a checkpoint, unless it is counted already, and returns the offset up to which the file is counted now. Safe to repeat. One round trip for the first
   * segment, two for each other. Renews a lease that has ended. Throws CheckpointConflictError, LeaseTooShortError and the error of the
   * renewal; then nothing was added.
   */
  async count(checkpoint: Checkpoint): Promise<number> {
    const { file, day, fromOffset, toOffset, lines, segments, lease } = checkpoint;
    const { keepMs, markerMs } = this.#options;
    const keys = this.#keysOf(day);
    const staged = keys.stagedOf(this.#writer, file);
    const [segment = Buffer.alloc(0), ...others] = segments;
    let isRenewed = false;
    for (;;) {
      if (!(await this.#stage(staged, others))) continue;
      const [outcome, offset, waiting] = (await dailyCount.run(
        this.#redis,
        { ...keys, pending: keys.pendingOf(file), staged },
        {
          file: encodeName(file),
          fromOffset,
          toOffset,
          lines,
          stagedSegments: others.length,
          segment,
          keepMs,
          markerMs,
          untilMs: untilOf(lease),
        },
      )) as ['counted' | 'before' | 'pending' | 'unstaged' | 'late' | 'conflict', string, number];
      if (outcome === 'late') {
        if (isRenewed) throw new LeaseTooShortError();
        await lease?.renew();
        isRenewed = true;
      }
      if (outcome === 'conflict') {
        throw new CheckpointConflictError(file, day, fromOffset, toOffset, Number(offset));
      }
      if (waiting > 0) await this.countedTo(file, day);
      if (outcome === 'counted' || outcome === 'before') return Number(offset);
    }
  }

  /** Call it before a file is counted in a day that never comes again once it is done. One script. Renews a lease that has ended. */
  async begin(file: string, day: string, lease?: FileLease): Promise<void> {
    const { markerMs } = this.#options;
    const days = this.#done.daysOf(file);
    await inTime(lease, async (untilMs) => dailyBegin.run(this.#redis, { days }, { day, markerMs, untilMs }));
  }

  /** Call it before such a file is done: its marks will be removed in time. Safe to repeat. One script. Renews a lease that has ended. */
  async done(file: string, lease?: FileLease): Promise<void> {
    const { markerMs } = this.#options;
    const { done } = this.#done;
    await inTime(lease, async (untilMs) =>
      dailyDone.run(this.#redis, { done }, { file: encodeName(file), markerMs, untilMs }),
    );
  }

  /**
   * Removes the marks of files that any worker was done with `forgetMs` ago; of a hundred at most. Returns these files, and the ms until there are
   * more. One script, and the round trips of `forget` for each file.
   */
  async forgetDue(forgetMs: number): Promise<{ files: string[]; nextMs: number | undefined }> {
    const args = { forgetMs, limit: FORGOTTEN_AT_ONCE };
    const [nextMs, ...files] = (await dailyDue.run(this.#redis, { done: this.#done.done }, args)) as [
      number,
      ...string[],
    ];
    const names = files.map(decodeName);
    for (const file of names) await this.forget(file);
    return { files: names, nextMs: nextMs < 0 ? undefined : nextMs };
  }

  /**
   * Removes the marks of a file in all days, after adding its pending segments. The file must not come again. Safe to repeat. Four round trips, and one
   * more for each pending segment.
   */
  async forget(file: string): Promise<void> {
    const name = encodeName(file);
    const key = this.#done.daysOf(file);
    const members = (await callRedis(this.#redis, 'smembers', [key])) as string[];
    const days = members.toSorted();
    await Promise.all(
      days.map(async (day) => {
        // Its worker may have been killed before that, and no other worker adds them.
        await this.countedTo(file, day);
        await callRedis(this.#redis, 'hdel', [this.#keysOf(day).files, name]);
      }),
    );
    // Last, so that another worker finds the remaining work of one that was killed.
    await Promise.all([
      callRedis(this.#redis, 'unlink', [key]),
      callRedis(this.#redis, 'zrem', [this.#done.done, name]),
    ]);
  }

  async #stage(staged: string, segments: readonly Buffer[]): Promise<boolean> {
    for (const [index, segment] of segments.entries()) {
      const isThere = await dailyStage.run(this.#redis, { staged }, { index, segment, stagedMs: STAGED_MS });
      if (isThere !== 1) return false;
    }
    return true;
  }

  #keysOf(day: string): DayKeys {
    return dayKeys(this.#options.prefix, day);
  }
}

/** 0: without end. */
function untilOf(lease: FileLease | undefined): number {
  return lease ? Math.floor(lease.until - SKEW * lease.leaseMs) : 0;
}

/** Throws LeaseTooShortError when a renewal changes nothing. */
async function inTime(
  lease: FileLease | undefined,
  run: (untilMs: number) => Promise<unknown>,
): Promise<void> {
  for (let isRenewed = false; (await run(untilOf(lease))) !== 1; isRenewed = true) {
    if (isRenewed) throw new LeaseTooShortError();
    await lease?.renew();
  }
}
