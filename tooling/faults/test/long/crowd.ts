import { until } from '@mortise/test-kit';
import type { RedisAddress } from '../../src/locks/config.js';
import type { Violation } from '../../src/history/operation.js';
import type { LockRunOptions } from '../../src/locks/lock-run.js';
import { LockRun } from '../../src/locks/lock-run.js';

export const LEASE_MS = 500;
export const PERMITS = 5;

/** A few hold their lock for longer than a lease, which is renewed then. */
const CROWD: LockRunOptions = { contenders: 50, leaseMs: LEASE_MS, holdMs: 2, overstayPart: 0.002 };

export interface CrowdVerdict {
  readonly violations: readonly Violation[];
  /** How many acquisitions ended with an error. */
  readonly failures: number;
}

/** 100 contenders in two processes for one lock of each kind. A fault hits all kinds at once. */
export class Crowd {
  readonly runs: readonly LockRun[];

  private constructor(runs: readonly LockRun[]) {
    this.runs = runs;
  }

  /** Starts them, and waits until all are at it. */
  static async at(redis: RedisAddress, prefix = 'faults'): Promise<Crowd> {
    const runs = await Promise.all([
      LockRun.on(redis, { ...CROWD, prefix, kind: 'mutex' }),
      LockRun.on(redis, { ...CROWD, prefix, kind: 'semaphore', permits: PERMITS }),
      LockRun.on(redis, { ...CROWD, prefix, kind: 'read-write' }),
    ]);
    const crowd = new Crowd(runs);
    try {
      await Promise.all(runs.map((run) => run.fleet.start(2)));
      await crowd.movesOn();
    } catch (error) {
      await crowd.dispose();
      throw error;
    }
    return crowd;
  }

  /** Everybody has had a turn, and then some: only after that can it be said that nobody hangs. */
  async movesOn(turns = 150): Promise<void> {
    await Promise.all(this.runs.map((run) => movesOn(run, turns)));
  }

  /** Notes that connections break. */
  repeats(): void {
    for (const run of this.runs) run.repeats();
  }

  /** Notes that the server may forget what it knows while `action` runs. */
  losing<Result>(action: () => Promise<Result> | Result): Promise<Result> {
    return this.runs.reduce<() => Promise<Result>>(
      (inner, run) => () => run.losing(inner),
      async () => action(),
    )();
  }

  /** Ends all turns, and looks at all histories; fails when somebody hangs. */
  async verdict(): Promise<CrowdVerdict> {
    const verdicts = await Promise.all(this.runs.map((run) => run.verdict()));
    return {
      violations: verdicts.flatMap(({ violations }) => violations),
      failures: verdicts.reduce((sum, { counts }) => sum + (counts['acquire failed'] ?? 0), 0),
    };
  }

  async dispose(): Promise<void> {
    await Promise.all(this.runs.map((run) => run.dispose()));
  }
}

export async function movesOn({ fleet }: LockRun, turns: number): Promise<void> {
  const before = fleet.turns;
  await until(`${turns} turns more than ${before}`, () => fleet.turns >= before + turns, 20_000);
}
