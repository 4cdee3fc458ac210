/** Requests and responses of the routes of queues and tasks; the OpenAPI document is made from the same schemas. */
import { MAX_NAME_BYTES } from '@mortise/redis';
import { TASK_STATES } from '@mortise/queues';
import { z } from 'zod';

import { flag } from '../http/flag.js';
import { nameSchema } from '../http/id-schema.js';
import { limit, longCursor, nextCursor } from '../http/page.js';

const YEAR_MS = 365 * 86_400_000;
const MAX_DELAY_MS = 10 * YEAR_MS;
export const MAX_HEADERS_BYTES = 16_384;

export const queueName = nameSchema.meta({ examples: ['mail'] });

const isShort = (text: string): boolean => Buffer.byteLength(text) <= MAX_NAME_BYTES;

/** The id of any task, also of other programs: percent-encoded in an address. */
export const taskIdSchema = z.string().min(1).refine(isShort, `must have at most ${MAX_NAME_BYTES} bytes`);
export const taskId = taskIdSchema.meta({ examples: ['019e4b5a-3f6e-7c4a-9d51-6a4f0c2b7e10'] });

export const name = z
  .string()
  .min(1)
  .refine(isShort, `must have at most ${MAX_NAME_BYTES} bytes`)
  .meta({ description: 'the name of the task, which selects its handler', examples: ['mail.sold'] });

const count = z.int().min(0);
export const instant = z
  .int()
  .min(0)
  .meta({ description: 'ms since the epoch', examples: [1_795_176_000_000] });
export const delayMs = z.int().min(0).max(MAX_DELAY_MS);
export const termMs = z.int().min(1).max(MAX_DELAY_MS);

// Queues.

export const priority = z.string().regex(/^[\w.-]{1,32}$/, 'must be 1 to 32 letters, digits or _.-');
const priorities = z
  .array(priority)
  .min(1)
  .max(16)
  .refine((names) => new Set(names).size === names.length, 'must differ from each other')
  .meta({ description: 'the most urgent one first', examples: [['high', 'medium', 'low']] });
const shards = z.int().min(1).max(64);
const concurrency = z.int().min(1).max(1_000_000).nullable();
const rate = z
  .strictObject({
    limit: z.int().min(1).max(1_000_000_000),
    periodMs: termMs,
    burst: z.int().min(1).max(1_000_000_000).optional(),
  })
  .refine(({ limit: most, burst = 1 }) => burst <= most, {
    path: ['burst'],
    error: 'must not be more than limit',
  })
  .nullable()
  .meta({ description: 'The limit of starts in a period. Null for no limit.' });
const maxTasks = z.int().min(1).max(1_000_000_000).nullable();
const keepEvents = z.int().min(0).max(10_000_000);

export const queueBody = z
  .strictObject({
    priorities: priorities.optional(),
    shards: shards.optional(),
    isPaused: z.boolean().optional(),
    concurrency: concurrency.optional(),
    rate: rate.optional(),
    groups: z
      .strictObject({
        concurrency: concurrency.optional(),
        rate: rate.optional(),
        isOrdered: z.boolean().optional(),
      })
      .optional(),
    maxTasks: maxTasks.optional(),
    keepEvents: keepEvents.optional(),
  })
  .meta({
    id: 'QueueBody',
    description:
      'Settings that are left out stay as they are; null removes a limit. Each shard has an equal share of a limit.',
    examples: [{ concurrency: 10, rate: { limit: 100, periodMs: 1_000 } }],
  });

const settings = {
  priorities,
  shards,
  isPaused: z.boolean(),
  concurrency,
  rate,
  groups: z.object({ concurrency, rate, isOrdered: z.boolean() }),
  maxTasks,
  keepEvents,
};

export const settingsSchema = z
  .object({ name: queueName, ...settings })
  .meta({ id: 'QueueSettings', description: 'The settings that all workers of a queue follow.' });

export const counts = z
  .object(Object.fromEntries(TASK_STATES.map((state) => [state, count])) as Record<TaskStates, typeof count>)
  .meta({ description: 'how many tasks are in each state' });

export const queueSchema = z
  .object({
    name: queueName,
    ...settings,
    counts,
    load: z.number().min(0).nullable().meta({
      description: 'active and ready tasks divided by the concurrency limit; null without a limit',
    }),
    headAgeMs: count.nullable().meta({
      description:
        'How long ago the next task was enqueued, by the clock of the API. Null if no task is ready.',
    }),
  })
  .meta({ id: 'Queue', description: 'A queue and its state.' });

type TaskStates = (typeof TASK_STATES)[number];

/** A queue in numbers, as lists show it. */
export const queueFigures = {
  name: queueName,
  counts,
  headAgeMs: count
    .nullable()
    .meta({ description: 'How long ago the next task was enqueued. Null if no task is ready.' }),
  isPaused: z.boolean(),
};

export const queuesQuery = z.strictObject({ cursor: longCursor, limit });

export const queuesPage = z.object({ items: z.array(z.object(queueFigures)), nextCursor }).meta({
  id: 'QueuesPage',
  description:
    'Queues that have had tasks or settings, by name. A page of long names has fewer queues than the limit.',
});

export const depthsSchema = z
  .object({
    priorities: z
      .array(z.object({ priority: z.string(), ready: count, scheduled: count, retrying: count }))
      .meta({ description: 'the most urgent one first; without the ready tasks in groups' }),
    inGroups: count.meta({ description: 'ready tasks in groups, of all priorities' }),
    due: z
      .array(
        z.object({
          withinMs: count.nullable().meta({ description: 'From now. Null for later tasks.' }),
          tasks: count,
        }),
      )
      .meta({
        description:
          'scheduled and retrying tasks that become due up to a minute from now, then up to 5, 15, an hour, a day, and later: ' +
          'each task is in one span',
      }),
  })
  .meta({ id: 'QueueDepths', description: 'How many tasks of a queue wait, by priority and by time.' });

export const taskNamesSchema = z
  .object({ items: z.array(z.object({ name: z.string().meta({ examples: ['mail.sold'] }) })) })
  .meta({ id: 'TaskNames', description: 'The names, in the order of their characters.' });

export const obliterateQuery = z.strictObject({
  isForced: flag
    .default(false)
    .meta({ description: 'Removes the queue even while it is in use. Default false.' }),
});

export const drainBody = z
  .strictObject({
    isAll: z.boolean().default(false).meta({ description: 'also removes scheduled and retrying tasks' }),
  })
  .meta({ id: 'DrainBody', examples: [{ isAll: true }] });

const most = z
  .int()
  .min(1)
  .max(10_000)
  .default(1_000)
  .meta({ description: 'maximum of tasks in this request' });

export const cleanBody = z
  .strictObject({
    state: z.enum(['succeeded', 'dead', 'cancelled']),
    olderThanMs: delayMs.default(0).meta({ description: 'only tasks that ended at least this long ago' }),
    limit: most,
  })
  .meta({ id: 'CleanBody', examples: [{ state: 'dead', olderThanMs: 604_800_000 }] });

export const retryAllBody = z
  .strictObject({ state: z.enum(['dead', 'cancelled']).default('dead'), name: name.optional(), limit: most })
  .meta({ id: 'RetryAllBody', examples: [{ name: 'mail.sold' }] });

export const bulkSchema = z
  .object({ tasks: count.meta({ description: 'the number of tasks' }) })
  .meta({ id: 'Bulk' });

// Tasks.

const headers = z
  .record(z.string(), z.string())
  .refine(
    (given) => Buffer.byteLength(JSON.stringify(given)) <= MAX_HEADERS_BYTES,
    `must have at most ${MAX_HEADERS_BYTES} bytes as JSON`,
  )
  .meta({
    description:
      'strings that travel beside the payload; `x-request-id`, unless given, is the id of the request',
  });

export const payload = z
  .unknown()
  .meta({ description: 'any JSON; a whole number that JavaScript would round is refused' });

/** Options that the tasks of a schedule have as well. */
export const taskOptions = {
  priority: priority.optional().meta({ description: 'Default: the middle one' }),
  attempts: z.int().min(1).max(65_535).optional().meta({ description: 'default 5' }),
  backoff: z
    .strictObject({
      type: z.enum(['exponential', 'fixed']).optional(),
      delayMs: delayMs.optional(),
      maxDelayMs: delayMs.optional(),
      jitter: z.number().min(0).max(1).optional(),
    })
    .refine(({ delayMs: first = 1_000, maxDelayMs = Infinity }) => first <= maxDelayMs, {
      path: ['maxDelayMs'],
      error: 'must not be less than delayMs',
    })
    .optional(),
  timeoutMs: z
    .int()
    .min(1)
    .max(24 * 86_400_000)
    .optional(),
  expiresInMs: termMs.optional(),
  headers: headers.optional(),
  group: name
    .optional()
    .meta({ description: 'tasks of a group take turns with those of others', examples: ['eu'] }),
};

/** The members of a new task. */
export const taskFields = {
  name,
  payload,
  id: nameSchema
    .optional()
    .meta({ description: 'identifies the task: if it is enqueued twice under one id, it is stored once' }),
  delayMs: delayMs.optional(),
  runAt: instant.refine((at) => at <= Date.now() + MAX_DELAY_MS, 'must be within ten years').optional(),
  ...taskOptions,
};

/** Refines a new task: it is due before it expires. */
export const dueInTime = [
  (task: { readonly delayMs?: number | undefined; readonly expiresInMs?: number | undefined }): boolean =>
    (task.delayMs ?? 0) < (task.expiresInMs ?? Infinity),
  { path: ['expiresInMs'] as PropertyKey[], error: 'must be more than delayMs' },
] as const;

/** Refines a new task: it has one of the two, or none. */
export const oneDelay = [
  (task: { readonly delayMs?: number | undefined; readonly runAt?: number | undefined }): boolean =>
    task.delayMs === undefined || task.runAt === undefined,
  { path: ['runAt'] as PropertyKey[], error: 'excludes delayMs' },
] as const;

export const enqueuedSchema = z
  .object({
    id: taskId,
    isDuplicate: z.boolean().meta({
      description: 'The task was there before. It is unchanged, unless `onDuplicate` says otherwise.',
    }),
  })
  .meta({ id: 'Enqueued' });

export const batchSchema = z
  .object({
    items: z
      .array(z.union([enqueuedSchema, z.object({ problem: z.record(z.string(), z.unknown()) })]))
      .meta({ description: 'the outcome of each task, in order' }),
  })
  .meta({ id: 'TaskBatch' });

export const taskError = z.object({
  name: z.string().meta({ examples: ['TypeError'] }),
  message: z.string(),
  code: z.string().optional(),
  stack: z.string().meta({ description: 'the stack, without frames of Mortise' }),
});

const summary = {
  id: taskId,
  queue: queueName,
  name: z.string().meta({ examples: ['mail.sold'] }),
  state: z.enum(TASK_STATES),
  priority: z.string().meta({ examples: ['high'] }),
  group: z.string().optional(),
  headers: z.record(z.string(), z.string()),
  attempt: count.meta({ description: 'the running or last attempt; 0 before the first' }),
  attempts: z.int().min(1).meta({ description: 'maximum of attempts' }),
  timeoutMs: count.optional(),
  enqueuedAt: instant,
  runAt: instant.optional(),
  expiresAt: instant.optional(),
  leaseUntil: instant.optional(),
  finishedAt: instant.optional(),
  waitsFor: z.string().optional().meta({ description: 'the event for which the task waits, until `runAt`' }),
  error: taskError
    .optional()
    .meta({ description: 'why the last attempt failed, or why the task was cancelled' }),
  progress: z.unknown().optional(),
  parent: z.object({ queue: z.string(), id: z.string() }).optional(),
};

export const taskSummarySchema = z
  .object(summary)
  .meta({ id: 'TaskSummary', description: 'A task without its payload. Instants are ms since the epoch.' });

export const taskSchema = z
  .object({
    ...summary,
    payload: payload.optional(),
    result: z.unknown().optional().meta({ description: 'the result with which the task succeeded' }),
    payloadText: z.string().optional().meta({ description: 'the beginning of a payload that is cut' }),
    payloadBytes: count
      .optional()
      .meta({ description: 'the size of the JSON of a payload that is cut, in bytes' }),
    resultText: z.string().optional(),
    resultBytes: count.optional(),
    logs: z.array(z.object({ at: instant, text: z.string() })).optional(),
    steps: z
      .array(z.object({ name: z.string(), at: instant }))
      .optional()
      .meta({ description: 'the steps of its handler that are stored, without their results' }),
  })
  .meta({ id: 'Task', description: 'A task and its state. Instants are ms since the epoch.' });

/** Tasks by a member of their payload. */
export const byField = {
  field: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .meta({ description: 'a member of the payload, nested ones by dots', examples: ['user.id'] }),
  equals: z
    .string()
    .max(1_024)
    .optional()
    .meta({ description: 'the value of the member: a text, or the JSON of another value', examples: ['42'] }),
};

/** Refines what has both. */
export const fieldWithValue = [
  (given: { readonly field?: string | undefined; readonly equals?: string | undefined }): boolean =>
    (given.field === undefined) === (given.equals === undefined),
  { path: ['equals'] as PropertyKey[], error: 'goes together with field' },
] as const;

export const tasksQuery = z
  .strictObject({
    state: z.enum(TASK_STATES),
    name: name.optional(),
    cursor: longCursor,
    limit,
    ...byField,
  })
  .refine(...fieldWithValue);

export const tasksPage = z
  .object({
    items: z.array(taskSummarySchema),
    nextCursor,
    isCapped: z.boolean().optional().meta({
      description:
        'For a list by a field: the page ended after 1,000 visited tasks. Go on with `nextCursor`.',
    }),
  })
  .meta({
    id: 'TaskPage',
    description: 'A page of tasks. It may have fewer tasks than the limit, or none, though there are more.',
  });

export const cancelBody = z
  .strictObject({
    reason: z
      .string()
      .refine(isShort, `must have at most ${MAX_NAME_BYTES} bytes`)
      .default('')
      .meta({ description: 'the reason, which becomes the error of the task' }),
  })
  .meta({ id: 'CancelBody', examples: [{ reason: 'not wanted any more' }] });
