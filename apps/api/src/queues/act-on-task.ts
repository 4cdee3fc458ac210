import type { Queue } from '@mortise/queues';

import { Problem } from '../problems/problem.js';
import type { OpenQueues } from './open-queues.js';

/** Does something with a task that its state may not allow. Throws the problems `unknown-queue`, `unknown-task` and `wrong-state`. */
export async function actOnTask(
  queues: OpenQueues,
  queueName: string,
  id: string,
  act: (queue: Queue) => Promise<boolean>,
): Promise<void> {
  await queues.use(queueName, async (queue) => {
    if (await act(queue)) return;
    const task = await queue.get(id);
    if (!task) throw unknownTask(queueName, id);
    const { state } = task;
    throw new Problem('wrong-state', `task "${id}" is ${state}`, { queue: queueName, taskId: id, state });
  });
}

export function unknownTask(queue: string, taskId: string): Problem {
  return new Problem('unknown-task', `there is no task "${taskId}"`, { queue, taskId });
}
