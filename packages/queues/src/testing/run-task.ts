import type { EnqueueOptions } from '../options.js';
import { Queue } from '../queue.js';
import type { PayloadOf } from '../task-types.js';
import type { TaskMap } from '../task/task.js';
import type { Handlers } from '../work/handlers.js';
import type { DrainedAttempt } from './drain.js';
import { TestQueues } from './test-queues.js';

const QUEUE = 'test';

/**
 * Runs one task to its end, with its retries, in the memory of this process. The real worker runs the task, and delays pass at
 * once. Resolves to the attempts in their order, with those of tasks that a handler enqueues in this queue. An attempt has its
 * `result` or `error`; the error of a failed attempt is not thrown.
 *
 * Rejects as `enqueue` does, and after 4 s of real time without an end of an attempt. Throws while a virtual clock is
 * installed: a test with `TestQueues` calls `drain`.
 *
 * @param handlers Handlers as for a `Worker`.
 * @param options Options of `enqueue`, such as `attempts`.
 */
export async function runTask<Tasks extends TaskMap<Tasks>, Name extends keyof Tasks & string>(
  handlers: Handlers<Tasks>,
  name: Name,
  payload: PayloadOf<Tasks, Name>,
  options: EnqueueOptions = {},
): Promise<DrainedAttempt[]> {
  const queues = new TestQueues();
  try {
    await new Queue<Tasks>(queues.redis, QUEUE).enqueue(name, payload, options);
    return await queues.drain(QUEUE, handlers, { delayed: true });
  } finally {
    await queues.close();
  }
}
