/** The handlers of a worker that writes down each execution. */
import type { TaskContext, WorkerOptions } from '@mortise/queues';
import { nowUs, toUs } from '../locks/clock.js';
import { BEHAVIOURS } from './handlers.js';
import type { Outcome, Recorder } from './records.js';
import { resultOf, taskIndex } from './task-ids.js';

const OUTCOME_OF: Readonly<Record<string, Outcome>> = {
  ERR_LEASE_LOST: 'lease lost',
  ERR_TASK_CANCELLED: 'cancelled',
  ERR_WORKER_STOPPED: 'stopped',
  ERR_TASK_TIMEOUT: 'timed out',
  ERR_DISCARDED: 'discarded',
  ERR_RETRY_LATER: 'later',
};

export interface Recorded {
  readonly handlers: Record<string, (payload: unknown, ctx: TaskContext) => Promise<number>>;
  readonly onError: NonNullable<WorkerOptions['onError']>;
}

/** @param worker Its number in the run. */
export function recorded(worker: number, recorder: Recorder): Recorded {
  const handlers = Object.fromEntries(
    Object.entries(BEHAVIOURS).map(([name, behaviour]) => [
      name,
      async (payload: unknown, ctx: TaskContext): Promise<number> => {
        const task = taskIndex(ctx.id);
        const execution = recorder.begin(task, ctx.attempt, nowUs(), leaseEndOf(ctx));
        let outcome: Outcome = 'returned';
        try {
          await behaviour(payload, ctx);
          return resultOf(worker, execution);
        } catch (error) {
          outcome = OUTCOME_OF[codeOf(error)] ?? 'failed';
          throw error;
        } finally {
          if (ctx.signal.aborted) outcome = OUTCOME_OF[codeOf(ctx.signal.reason)] ?? outcome;
          recorder.end(execution, task, outcome, nowUs(), leaseEndOf(ctx));
        }
      },
    ]),
  );
  const onError = (error: unknown): void => {
    const { code, taskId } = error as { code?: string; taskId?: string };
    if (code === 'ERR_LEASE_LOST') recorder.refused(taskIndex(taskId!), nowUs());
    // For whoever reads the output of a process that did not do what it should.
    else console.error(error);
  };
  return { handlers, onError };
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code);
}

/** Until when this process believes that nobody else has the task. It is not in the interface of handlers, but in what they are given. */
function leaseEndOf(ctx: TaskContext): number {
  const { leaseEndsAt } = ctx as TaskContext & { leaseEndsAt?: number };
  if (typeof leaseEndsAt !== 'number') {
    // Not an exception: it would be a failed attempt.
    console.error('a task context no longer tells when its lease ends');
    process.exit(2);
  }
  return toUs(leaseEndsAt);
}
