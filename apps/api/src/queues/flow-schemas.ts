/** Requests and responses of the routes of flows. A tree is a list: each task names the place of its parent. */
import { TASK_STATES } from '@mortise/queues';
import { z } from 'zod';

import {
  cancelBody,
  dueInTime,
  instant,
  oneDelay,
  queueName,
  taskError,
  taskFields,
  taskId,
} from './schemas.js';

const MAX_TASKS = 1_000;

const place = z.int().min(0).max(MAX_TASKS);

const flowTask = z
  .strictObject({
    ...taskFields,
    queue: queueName
      .optional()
      .meta({ description: 'The queue of a child. Default: the queue of the flow.' }),
    parent: place
      .optional()
      .meta({ description: 'The index of its parent in the list, from 0. Only the first task has none.' }),
    onChildFailure: z
      .enum(['fail', 'ignore'])
      .optional()
      .meta({
        description:
          'The effect of a child that is dead, cancelled or removed. `fail`, the default: this task is dead. ' +
          '`ignore`: this task runs when all children have ended.',
      }),
  })
  .refine(...oneDelay)
  .refine(...dueInTime);

export const flowBody = z
  .strictObject({ tasks: z.array(flowTask).min(1).max(MAX_TASKS) })
  .superRefine(({ tasks }, context) => {
    for (const [index, { parent, queue }] of tasks.entries()) {
      const isRoot = index === 0;
      const isSound = isRoot ? parent === undefined : parent !== undefined && parent < index;
      const message = isRoot ? 'is of children alone' : 'must be the place of an earlier task';
      if (!isSound) context.addIssue({ code: 'custom', path: ['tasks', index, 'parent'], message });
      if (isRoot && queue !== undefined)
        context.addIssue({ code: 'custom', path: ['tasks', 0, 'queue'], message: 'is of children alone' });
    }
  })
  .meta({
    id: 'FlowBody',
    examples: [
      {
        tasks: [
          { name: 'album.publish', payload: { album: 7 } },
          { name: 'photo.scale', payload: { photo: 1 }, parent: 0 },
          { name: 'photo.scale', payload: { photo: 2 }, parent: 0 },
        ],
      },
    ],
  });

export const cancelFlowBody = z
  .strictObject({
    items: z
      .array(z.strictObject({ queue: queueName, id: taskId, parent: place.optional() }))
      .min(1)
      .max(MAX_TASKS)
      .meta({ description: 'ids from the answer that stored the flow' }),
    reason: cancelBody.shape.reason,
  })
  .superRefine(({ items }, context) => {
    for (const [index, { parent = -1 }] of items.entries()) {
      const message = 'must be the place of an earlier task';
      if (parent >= index) context.addIssue({ code: 'custom', path: ['items', index, 'parent'], message });
    }
  })
  .meta({
    id: 'CancelFlowBody',
    examples: [
      {
        items: [
          { queue: 'photos', id: 'album-7' },
          { queue: 'photos', id: 'photo-1', parent: 0 },
        ],
        reason: 'not wanted any more',
      },
    ],
  });

export const cancelledFlowSchema = z
  .object({ cancelled: z.int().min(0).meta({ description: 'the number of cancelled tasks' }) })
  .meta({ id: 'CancelledFlow' });

export const childrenSchema = z
  .object({
    count: z.int().min(0).meta({ description: 'how many children the task has' }),
    items: z
      .array(
        z.object({
          id: taskId,
          queue: queueName,
          name: z.string().optional(),
          state: z
            .enum([...TASK_STATES, 'removed'])
            .optional()
            .meta({ description: 'absent: its queue does not have the child yet, or no longer' }),
          finishedAt: instant.optional(),
          result: z
            .unknown()
            .optional()
            .meta({ description: 'the result of a child, until its parent has succeeded' }),
          error: taskError.optional(),
        }),
      )
      .meta({
        description:
          'The children, in the order of the flow. If given ids and queues have more than 16 KiB, those that have not ' +
          'ended are missing.',
      }),
  })
  .meta({ id: 'Children' });

export const enqueuedFlowSchema = z
  .object({
    items: z
      .array(z.object({ queue: queueName, id: taskId, parent: place.optional() }))
      .meta({ description: 'the tasks, in the order of the request' }),
    isDuplicate: z.boolean().meta({ description: 'the flow was there before, and is unchanged' }),
  })
  .meta({ id: 'EnqueuedFlow' });
