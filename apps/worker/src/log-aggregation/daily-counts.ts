/**
 * Adds checkpoints to the aggregates of a day, each exactly once. A checkpoint is what a worker has counted of a file between two offsets; next
 * to the aggregates, in the same slot, stands for each file up to where it is counted. A script adds a checkpoint only if it begins
 * there, and moves that mark in the same step. So whoever doesn't know whether a checkpoint was counted sends it again; and a worker that
 * reads a file again passes over the lines before the mark, wherever its own checkpoints end.
 *
 * A checkpoint may have more members than one script should add: the first part travels with the mark, the others are laid aside
 * before and become pending with the mark. Whoever comes next, the same worker or the one after a crash, adds them. Rejected: a mark for each part,
 * which asks every later worker to make the same parts, with the same table and the same checkpoints.
 *
 * The marks of a file that never comes again are forgotten when it is done. A worker that stood still may wake up after that: what it still wants to add is
 * refused, by the clock of the server, since its lease has ended before another one could count the file.
 */
import { randomUUID } from 'node:crypto';
import { type DayKeys, dayKeys, type DoneKeys, doneKeys } from '@mortise/api/aggregates';
import type { RedisClient } from '@mortise/redis';
import { decodeName, encodeName } from '@mortise/redis';

import { dailyBegin, dailyCount, dailyDone, dailyDue, dailyResume, dailyStage } from '../scripts.gen.js';
import { CheckpointConflictError, LeaseTooShortError } from './errors.js';
import type { FileLease } from './log-file.js';

/** Each part renews it. */
const STAGED_MS = 10_000;
/** Files that are forgotten at once. */
const FORGOTTEN_AT_ONCE = 100;

export interface DailyCountsOptions {
  readonly prefix?: string | undefined;
  readonly retentionMs: number;
  readonly markerMs: number;
}

/** Of a lease, for clocks of several servers that differ; renewed each third, two thirds are left of it. */
const SKEW = 1 / 4;

/** What was counted of a file in one day. */
export interface Checkpoint {
  readonly file: string;
  readonly day: string;
  /** Where the last checkpoint of this file that has lines of this day ended; 0 for none. */
  readonly fromOffset: number;
  readonly toOffset: number;
  readonly lines: number;
  readonly parts: readonly Buffer[];
  readonly lease?: FileLease | undefined;
}

export class DailyCounts {
  readonly #redis: RedisClient;
  readonly #options: DailyCountsOptions;
  readonly #done: DoneKeys;
  /** Keeps apart what two workers stage of the same file. */
  readonly #writer = randomUUID();

  constructor(redis: RedisClient, options: DailyCountsOptions) {
    this.#redis = redis;
    this.#options = options;
    this.#done = doneKeys(options.prefix);
  }

  /**
   * Up to which offset a file is counted in a day, 0 for not at all; after what was pending of it is added. One round trip, and one more for each
   * pending part.
   */
  async countedTo(file: string, day: string): Promise<number> {
    const keys = this.#keysOf(day);
    const args = { file: encodeName(file), retentionMs: this.#options.retentionMs };
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
   * Adds a checkpoint, unless it is counted already, and gives the offset up to which the file is counted now. Safe to repeat. A round trip for each part, and
   * another one for each but the first. Renews a lease that has ended. Throws CheckpointConflictError, LeaseTooShortError
   * and what the renewal throws, and then nothing was added.
   */
  async count(checkpoint: Checkpoint): Promise<number> {
    const { file, day, fromOffset, toOffset, lines, parts, lease } = checkpoint;
    const { retentionMs, markerMs } = this.#options;
    const keys = this.#keysOf(day);
    const staged = keys.stagedOf(this.#writer, file);
    const [part = Buffer.alloc(0), ...rest] = parts;
    let isRenewed = false;
    for (;;) {
      if (!(await this.#stage(staged, rest))) continue;
      const [outcome, offset, waiting] = (await dailyCount.run(
        this.#redis,
        { ...keys, pending: keys.pendingOf(file), staged },
        {
          file: encodeName(file),
          fromOffset,
          toOffset,
          lines,
          stagedParts: rest.length,
          part,
          retentionMs,
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

  /** Before a file that never comes again once it is done is counted in a day. One script. Renews a lease that has ended. */
  async begin(file: string, day: string, lease?: FileLease): Promise<void> {
    const { markerMs } = this.#options;
    const days = this.#done.daysOf(file);
    await inTime(lease, async (untilMs) => dailyBegin.run(this.#redis, { days }, { day, markerMs, untilMs }));
  }

  /** Such a file will be done: from now on somebody forgets it in time. Safe to repeat. One script. Renews a lease that has ended. */
  async done(file: string, lease?: FileLease): Promise<void> {
    const { markerMs } = this.#options;
    const { done } = this.#done;
    await inTime(lease, async (untilMs) =>
      dailyDone.run(this.#redis, { done }, { file: encodeName(file), markerMs, untilMs }),
    );
  }

  /**
   * Forgets how far files are counted that were done so long ago, by whichever worker; a hundred at most. Returns them, and the ms until there are more, if
   * there will be.
   * One script, and for each file what `forget` takes.
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
   * Forgets up to where a file is counted, in all days, after what was pending of it is added; it must not come again. Safe to repeat. Four round trips, and one more
   * for each pending part.
   */
  async forget(file: string): Promise<void> {
    const name = encodeName(file);
    const key = this.#done.daysOf(file);
    const days = (await this.#redis.call('smembers', [key])) as string[];
    await Promise.all(
      days.map(async (day) => {
        // Whoever counted it may have been killed before that, and nobody else comes.
        await this.countedTo(file, day);
        await this.#redis.call('hdel', [this.#keysOf(day).files, name]);
      }),
    );
    // Last, so that whoever comes after one that was killed finds what is left to do.
    await Promise.all([this.#redis.call('unlink', [key]), this.#redis.call('zrem', [this.#done.done, name])]);
  }

  async #stage(staged: string, parts: readonly Buffer[]): Promise<boolean> {
    for (const [index, part] of parts.entries()) {
      const isThere = await dailyStage.run(this.#redis, { staged }, { index, part, stagedMs: STAGED_MS });
      if (isThere !== 1) return false;
    }
    return true;
  }

  #keysOf(day: string): DayKeys {
    return dayKeys(this.#options.prefix, day);
  }
}

/** 0: for ever. */
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
