/** Requests and responses of the routes of claims. */
import { z } from 'zod';

import { MAX_WAIT_MS } from '../http/wait-of.js';
import { delayMs, instant, name, payload, taskId } from './schemas.js';

const MAX_PROGRESS_BYTES = 16_384;
const MAX_RESULT_BYTES = 262_144;

const leaseMs = z
  .int()
  .min(1_000)
  .max(3_600_000)
  .default(10_000)
  .meta({ description: 'how long the claim lasts', examples: [30_000] });
export const lease = z
  .string()
  .regex(/^[0-9a-f]{1,2}-[0-9a-f]{1,8}$/, 'must be the lease of a claimed task')
  .meta({ description: 'the lease of the claimed task', examples: ['0-6f3a21c4'] });

export const claimBody = z
  .strictObject({
    limit: z.int().min(1).max(100).default(1).meta({ description: 'maximum of tasks' }),
    waitMs: z
      .int()
      .min(0)
      .max(MAX_WAIT_MS)
      .default(0)
      .meta({ description: 'how long to wait for the first task' }),
    leaseMs,
    names: z
      .array(name)
      .min(1)
      .max(100)
      .optional()
      .meta({
        description:
          'The names of the tasks to take. Tasks of other names go back for 0.1 to 15 s; the attempt does not ' +
          'count.',
      }),
  })
  .meta({ id: 'ClaimBody', examples: [{ limit: 10, waitMs: 10, leaseMs: 30_000 }] });

export const claimsSchema = z
  .object({
    items: z.array(
      z.object({
        id: taskId,
        name,
        payload,
        headers: z.record(z.string(), z.string()),
        group: z.string().optional(),
        attempt: z.int().min(1),
        attempts: z.int().min(1),
        timeoutMs: z.int().min(1).optional(),
        enqueuedAt: instant,
        leaseUntil: instant,
        lease,
      }),
    ),
  })
  .meta({
    id: 'Claims',
    description:
      'The tasks, or none. A task runs again after `leaseUntil`, unless a heartbeat moves that instant.',
  });

export const heartbeatBody = z
  .strictObject({ lease, leaseMs })
  .meta({ id: 'HeartbeatBody', examples: [{ lease: '0-6f3a21c4', leaseMs: 30_000 }] });

export const isJsonWithin = (bytes: number) => (value: unknown) =>
  value === undefined || Buffer.byteLength(JSON.stringify(value)) <= bytes;

export const completeBody = z
  .strictObject({
    lease,
    result: z
      .unknown()
      .refine(isJsonWithin(MAX_RESULT_BYTES), `must have at most ${MAX_RESULT_BYTES} bytes as JSON`)
      .optional()
      .meta({ description: 'The result: any JSON. It is stored with the task.' }),
  })
  .meta({ id: 'CompleteBody', examples: [{ lease: '0-6f3a21c4', result: { sent: 1 } }] });

export const failBody = z
  .strictObject({
    lease,
    error: z.string().meta({ description: 'the cause of the failure; its first 2,000 characters are kept' }),
    isRetried: z
      .boolean()
      .default(true)
      .meta({ description: 'with false the task is dead at once, whatever attempts it has left' }),
    delayMs: delayMs
      .optional()
      .meta({ description: 'the delay before the next attempt, in place of the backoff' }),
  })
  .meta({ id: 'FailBody', examples: [{ lease: '0-6f3a21c4', error: '451 try again later' }] });

export const giveBackBody = z
  .strictObject({
    lease,
    delayMs: delayMs.default(0).meta({ description: 'the delay before the task can be taken' }),
  })
  .meta({ id: 'GiveBackBody', examples: [{ lease: '0-6f3a21c4' }] });

export const progressBody = z
  .strictObject({
    lease,
    progress: z
      .unknown()
      .refine((value) => value !== undefined, 'is missing')
      .refine(isJsonWithin(MAX_PROGRESS_BYTES), `must have at most ${MAX_PROGRESS_BYTES} bytes as JSON`)
      .meta({ description: 'any JSON' }),
  })
  .meta({ id: 'ProgressBody', examples: [{ lease: '0-6f3a21c4', progress: { done: 3, of: 10 } }] });

export const logBody = z
  .strictObject({ lease, text: z.string().meta({ description: 'one line or several lines' }) })
  .meta({ id: 'LogBody', examples: [{ lease: '0-6f3a21c4', text: 'half of it' }] });
