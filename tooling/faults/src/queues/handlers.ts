/** The handlers of tasks, by task name. */
import { setTimeout as pause } from 'node:timers/promises';
import type { TaskContext } from '@mortise/queues';
import { Discard, RetryLater } from '@mortise/queues';

type Behaviour = (payload: unknown, ctx: TaskContext) => unknown;

/** The end of the first attempt after `ms`; later ones take `laterMs` and succeed. */
interface OutlivedPlan {
  readonly ms: number;
  readonly does: 'return' | 'fail' | 'renew';
  readonly laterMs: number;
}

export const BEHAVIOURS = {
  work: () => undefined,
  /** Takes so many ms. */
  sleep: (ms, { signal }) => pause(ms as number, undefined, { signal }),
  'fail once': (_, { attempt }) => {
    if (attempt === 1) throw new Error('the first attempt fails');
  },
  fail: () => {
    throw new Error('fails always');
  },
  discard: () => {
    throw new Discard('hopeless');
  },
  later: () => {
    if (Math.random() < 0.5) throw new RetryLater({ delayMs: Math.random() * 20 });
  },
  /** Ends the process in the middle of its first attempts. */
  poison: (deadly, { attempt }) => {
    if (attempt <= (deadly as number)) process.kill(process.pid, 'SIGKILL');
  },
  exit: () => process.exit(3),
  /** Blocks the event loop for this time in the first attempt; later attempts take as long without blocking. */
  block: (ms, { attempt, signal }) => {
    if (attempt > 1) return pause(ms as number, undefined, { signal });
    const end = performance.now() + (ms as number);
    while (performance.now() < end);
    return undefined;
  },
  /** Takes so many ms in the first attempt only. */
  hold: (ms, { attempt, signal }) => (attempt === 1 ? pause(ms as number, undefined, { signal }) : undefined),
  /** In a process that was stopped in between, chance decides whether this or the end of the lease comes first. */
  outlived: async (plan, { attempt, renew }) => {
    const { ms, does, laterMs } = plan as OutlivedPlan;
    await pause(attempt === 1 ? ms : laterMs);
    if (attempt > 1) return;
    if (does === 'renew') await renew();
    if (does === 'fail') throw new Error('fails late');
  },
} satisfies Record<string, Behaviour>;
