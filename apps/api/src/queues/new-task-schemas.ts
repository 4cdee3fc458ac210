/** New tasks, also those that change a task which waits under a key, and new payloads. */
import { z } from 'zod';

import { dueInTime, name, oneDelay, payload, taskFields, termMs } from './schemas.js';

const MAX_ELEMENTS = 100_000;
const MAX_BATCH = 1_000;

/** The members of a new task with a key. */
const mergeFields = {
  dedupKey: name.optional().meta({
    description:
      'At most one task that waits for a worker has this key. Excludes `id`, `dedupMs` and the Idempotency-Key.',
    examples: ['reindex 42'],
  }),
  onDuplicate: z
    .enum(['keep', 'replace', 'earliest', 'latest', 'append'])
    .optional()
    .meta({
      description:
        'The effect on the task that has the key. `keep`: none. `replace`: the new payload. `earliest` and ' +
        '`latest`: the new payload, and the earlier or later time. `append`: the new elements. Default `keep`.',
    }),
  maxElements: z.int().min(1).max(MAX_ELEMENTS).optional().meta({
    description: 'For `append`: a task with this many elements is due at once. Default 1,000.',
  }),
};

interface Given {
  readonly payload?: unknown;
  readonly id?: string | undefined;
  readonly dedupMs?: number | undefined;
  readonly dedupKey?: string | undefined;
  readonly onDuplicate?: string | undefined;
  readonly maxElements?: number | undefined;
}

/** Refines a new task: what goes with a key. */
const keyAlone = [
  (task: Given): boolean =>
    task.dedupKey === undefined || (task.id === undefined && task.dedupMs === undefined),
  { path: ['dedupKey'] as PropertyKey[], error: 'excludes id and dedupMs' },
] as const;

const modeWithKey = [
  (task: Given): boolean => task.dedupKey !== undefined || task.onDuplicate === undefined,
  { path: ['onDuplicate'] as PropertyKey[], error: 'needs dedupKey' },
] as const;

const mostWithAppend = [
  (task: Given): boolean => task.maxElements === undefined || task.onDuplicate === 'append',
  { path: ['maxElements'] as PropertyKey[], error: 'goes with onDuplicate append' },
] as const;

const arrayToAppend = [
  ({ payload: given, onDuplicate, maxElements = 1_000 }: Given): boolean =>
    onDuplicate !== 'append' || (Array.isArray(given) && given.length <= maxElements),
  { path: ['payload'] as PropertyKey[], error: 'must be an array of at most maxElements to append' },
] as const;

const newTask = z
  .strictObject({
    ...taskFields,
    ...mergeFields,
    dedupMs: termMs
      .optional()
      .meta({ description: 'how long the id counts as a duplicate, also after the task has ended' }),
  })
  .refine(...oneDelay)
  .refine(...keyAlone)
  .refine(...modeWithKey)
  .refine(...mostWithAppend)
  .refine(...arrayToAppend)
  .refine(...dueInTime);

export const taskBody = newTask.meta({
  id: 'TaskBody',
  examples: [{ name: 'report.daily', payload: { day: '2026-11-20' }, delayMs: 60_000 }],
});

export const batchBody = z
  .strictObject({ tasks: z.array(newTask).min(1).max(MAX_BATCH) })
  .meta({ id: 'TaskBatchBody', examples: [{ tasks: [{ name: 'report.daily', payload: null }] }] });

export const payloadBody = z
  .strictObject({ payload })
  .meta({ id: 'PayloadBody', examples: [{ payload: { day: '2026-11-21' } }] });
