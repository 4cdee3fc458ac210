import { setTimeout as pause } from 'node:timers/promises';
import type { Loss, Operation } from '../../history/operation.js';
import { LockRun } from '../../locks/lock-run.js';
import type { Finding, Place, Workload } from '../workload.js';
import { oneOf } from '../workload.js';

/** Their slots belong to several masters. */
const NAMES = ['lock', 'lock 1', 'lock 2'];
const KINDS = ['mutex', 'semaphore', 'read-write'] as const;
const PERMITS = 3;
/** Waiters wait longer than any fault lasts. */
const WAIT_MS = 120_000;
/** How long after a fault a client may notice that its connection is gone, and send again. */
const AFTERMATH_US = 5_000_000;
const MOST_SHOWN = 3;
const OPTIONS = { names: NAMES, contenders: 6, leaseMs: 1_000, holdMs: 150, overstayPart: 0.02 } as const;

/** Contenders for locks of each kind, in two processes each. */
export async function locks({ redis, prefix }: Place): Promise<Workload> {
  const runs = await Promise.all(
    KINDS.map(async (kind) => {
      const shape = { kind, ...(kind === 'semaphore' && { permits: PERMITS }) };
      const run = await LockRun.on(redis, { ...OPTIONS, ...shape, prefix, waitMs: WAIT_MS });
      await run.fleet.start(2);
      return run;
    }),
  );
  /** Moments in which calls may fail. */
  const disturbed: Loss[] = [];
  return {
    progress: () => runs.reduce((sum, { fleet }) => sum + fleet.turns, 0),
    veterans: () => runs.map(({ fleet }, index) => ({ name: KINDS[index]!, pid: fleet.workers[0]!.pid })),
    async strike(how, ms) {
      const { fleet } = oneOf(runs);
      const victim = oneOf(fleet.workers.slice(1).filter(({ isRunning }) => isRunning));
      if (how === 'kill') {
        await victim.kill();
        await fleet.add();
      } else {
        await victim.pause();
        await pause(ms);
        victim.resume();
      }
    },
    async noted({ from, to, mayForget }) {
      disturbed.push({ from, to: to + AFTERMATH_US });
      for (const run of runs) {
        run.repeats(disturbed.at(-1));
        if (mayForget) run.lost({ from, to });
      }
    },
    async finish(): Promise<Finding> {
      const figures: Record<string, number> = {};
      const violations: string[] = [];
      for (const [index, run] of runs.entries()) {
        const verdict = await run.verdict({ withinMs: WAIT_MS });
        violations.push(...verdict.violations.map(({ rule, key, message }) => `${rule}, ${key}: ${message}`));
        violations.push(...failuresOf(verdict.operations, disturbed));
        for (const what of ['acquired', 'failed', 'timeout'])
          figures[`${KINDS[index]} ${what}`] = verdict.counts[`acquire ${what}`] ?? 0;
        figures[`${KINDS[index]} sections`] = verdict.counts['section written'] ?? 0;
      }
      return { violations, figures };
    },
    clean: async () => undefined,
    dispose: async () => {
      await Promise.all(runs.map((run) => run.dispose()));
    },
  };
}

/** Calls that failed while nothing was done to servers and links. */
export function failuresOf(operations: readonly Operation[], disturbed: readonly Loss[]): string[] {
  const failures = operations.flatMap((operation) => {
    const { op, id, outcome, calledAt, returnedAt } = operation;
    if (outcome !== 'failed') return [];
    const isExplained = disturbed.some(({ from, to }) => calledAt <= to && returnedAt! >= from);
    return isExplained ? [] : [`${op} ${id} failed without a fault: ${operation.error}`];
  });
  return failures.slice(0, MOST_SHOWN);
}
