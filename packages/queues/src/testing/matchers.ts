import { inspect } from 'node:util';
import type { MatcherContext, MatcherResult } from '@mortise/redis/testing';
import type { Queue } from '../queue.js';
import { TASK_STATES } from '../task/task.js';

const PAGE = 1_000;

/** The parts of a task that a test needs. */
interface Enqueued {
  readonly name: string;
  readonly payload?: unknown;
}

type AnyQueue = Pick<Queue, 'list' | 'name'>;

/** All tasks of the queue, in whatever state; by name if one is given. */
export async function enqueuedTasks(queue: AnyQueue, name?: string): Promise<Enqueued[]> {
  const found: Enqueued[] = [];
  for (const state of TASK_STATES) {
    let cursor: string | null | undefined;
    do {
      const page = await queue.list(state, { cursor, limit: PAGE, name });
      found.push(...page.tasks);
      ({ cursor } = page);
    } while (cursor !== null);
  }
  return found;
}

/** For `expect.extend(queueMatchers)` of jest and vitest. Await the assertion: it reads the queue. */
export const queueMatchers = {
  /** Whether the queue has a task of this name, and of this payload if one is given, in whatever state. */
  async toHaveEnqueued(
    this: MatcherContext,
    queue: AnyQueue,
    name: string,
    ...payload: [] | [unknown]
  ): Promise<MatcherResult> {
    const tasks = await enqueuedTasks(queue);
    const pass = tasks.some(
      (task) => task.name === name && (payload.length === 0 || this.equals(task.payload, payload[0])),
    );
    const wanted = [name, ...payload.map((value) => inspect(value))].join(' ');
    const found = tasks.map((task) => `  ${task.name} ${inspect(task.payload)}`).join('\n');
    return {
      pass,
      message: () =>
        `expected queue ${inspect(queue.name)} ${pass ? 'not ' : ''}to have the task ${wanted}, it has\n${found || '  none'}`,
    };
  },
};

/** The types of `queueMatchers`, to merge into those of `expect`. */
export interface QueueMatchers<Returned = Promise<void>> {
  toHaveEnqueued(name: string, payload?: unknown): Returned;
}
