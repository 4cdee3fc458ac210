/** Requests and responses of the routes of bulk operations. */
import { TASK_STATES } from '@mortise/queues';
import type { BulkAction } from '@mortise/queues/admin';
import { BULK_ACTIONS } from '@mortise/queues/admin';
import { z } from 'zod';

import { byField, delayMs, fieldWithValue, instant, name, oneDelay, priority, queueName } from './schemas.js';

const MAX_TASKS = 1_000_000;

const action = z.enum(Object.keys(BULK_ACTIONS) as BulkAction[]);
const state = z.enum(TASK_STATES);
/** For the actions reschedule and set-priority. */
const moving = { delayMs: delayMs.optional(), runAt: instant.optional(), priority: priority.optional() };

export const operationBody = z
  .strictObject({
    action,
    state,
    name: name.optional(),
    ...byField,
    ...moving,
    limit: z
      .int()
      .min(1)
      .max(MAX_TASKS)
      .default(10_000)
      .meta({ description: 'maximum of changed tasks; up to 199 more may be changed' }),
  })
  .refine(...fieldWithValue)
  .refine(...oneDelay)
  .refine((body) => (body.action === 'set-priority') === (body.priority !== undefined), {
    path: ['priority'],
    error: 'goes together with the action set-priority',
  })
  .refine(
    ({ action: wanted, delayMs: ms, runAt: at }) =>
      (wanted === 'reschedule') === (ms !== undefined || at !== undefined),
    { path: ['delayMs'], error: 'goes together with the action reschedule' },
  )
  .refine((body) => (BULK_ACTIONS[body.action] as readonly string[]).includes(body.state), {
    path: ['state'],
    error: 'must be one in which tasks can be acted on so',
  })
  .meta({
    id: 'OperationBody',
    examples: [{ action: 'retry', state: 'dead', field: 'user.id', equals: '42' }],
  });

const count = z.int().min(0);

export const operationSchema = z
  .object({
    id: z.string().meta({ examples: ['019e4b5a-3f6e-7c4a-9d51-6a4f0c2b7e10'] }),
    queue: queueName,
    action,
    state,
    name: name.optional(),
    ...byField,
    ...moving,
    limit: count,
    status: z.enum(['running', 'completed', 'interrupted', 'failed']).meta({
      description:
        '`interrupted`: the process of the operation has ended. `failed`: Redis was unavailable. Start the ' +
        'operation again: changed tasks stay changed.',
    }),
    changed: count.meta({ description: 'the number of changed tasks so far' }),
    skipped: count.meta({ description: 'tasks that had left the state before the operation reached them' }),
    startedAt: instant,
    updatedAt: instant,
  })
  .meta({ id: 'Operation', description: 'An operation on many tasks. It is kept for a day.' });

export type Operation = z.infer<typeof operationSchema>;

export const rescheduleBody = z
  .strictObject({ delayMs: delayMs.optional(), runAt: instant.optional() })
  .refine(...oneDelay)
  .refine(({ delayMs: ms, runAt: at }) => ms !== undefined || at !== undefined, {
    path: ['delayMs'],
    error: 'needs to be there, or else runAt',
  })
  .meta({ id: 'RescheduleBody', examples: [{ delayMs: 3_600_000 }] });

export const priorityBody = z
  .strictObject({ priority })
  .meta({ id: 'PriorityBody', examples: [{ priority: 'high' }] });
