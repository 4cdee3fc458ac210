/** Responses of the routes that the console reads; the OpenAPI document is made from them. */
import { z } from 'zod';

import { counts, instant, queueFigures, queueName } from '../queues/schemas.js';

const count = z.int().min(0);
const perSecond = z.number().min(0);

export const overviewSchema = z
  .object({
    at: instant,
    total: count.meta({ description: 'the number of queues' }),
    counted: count.meta({
      description: 'The number of queues in the sums: the first 1,000 by name at most.',
    }),
    sums: z
      .object({
        counts,
        perSecond: z
          .object({
            succeeded: perSecond.nullable().meta({
              description: 'Counted by the stored tasks. Null if a result of more than 16 kB hides it.',
            }),
            dead: perSecond.meta({ description: 'failed for good' }),
          })
          .meta({ description: 'tasks that ended in the last 10 s, for each second' }),
        paused: count.meta({ description: 'the number of paused queues' }),
        oldest: z.object({ name: queueName, headAgeMs: count }).nullable().meta({
          description: 'The queue whose next task has waited for the longest time. Null if no task is ready.',
        }),
        deadliest: z
          .object({ name: queueName, dead: count })
          .nullable()
          .meta({ description: 'The queue with the most dead tasks. Null if there is none.' }),
      })
      .meta({ description: 'of the queues that were counted' }),
    workers: count.nullable().meta({
      description:
        'The number of running workers. A worker that has died counts for up to 150 s. Claims do not count.',
    }),
    queues: z
      .array(z.object(queueFigures))
      .meta({ description: 'the first 100 by name, fewer if their names are long' }),
  })
  .meta({ id: 'Overview', description: 'The queues of the tenant in numbers.' });

const address = z.string().meta({ examples: ['127.0.0.1:6379'] });

export const redisSchema = z
  .object({
    nodes: z
      .array(
        z.object({
          address,
          version: z.string().nullable(),
          usedBytes: count.nullable(),
          maxBytes: count.nullable().meta({ description: 'The memory limit in bytes; 0 for no limit.' }),
          policy: z.string().nullable().meta({ description: 'the policy of Redis for a full memory' }),
          opsPerSecond: count.nullable(),
          clients: count.nullable(),
          evictedKeys: count
            .nullable()
            .meta({ description: 'keys that the policy has removed since the start of the server' }),
        }),
      )
      .meta({ description: 'The masters. Null if the server refuses to list them.' }),
    cluster: z
      .object({
        slotsCovered: count.meta({ description: 'The slots, of 16,384, that a reachable node serves.' }),
        masters: count,
        isOk: z.boolean().meta({ description: 'whether the Cluster serves commands' }),
      })
      .nullable()
      .meta({ description: 'Null for a server without Cluster, or if the server refuses to describe it.' }),
    slow: z
      .array(
        z.object({
          address,
          at: instant,
          micros: count,
          command: z.string().meta({ examples: ['EVALSHA'] }),
          arguments: count.meta({ description: 'the number of arguments, which are not shown' }),
        }),
      )
      .nullable()
      .meta({ description: 'The last 20 slow commands. Null if the server refuses to list them.' }),
    findings: z
      .array(
        z.object({
          level: z.enum(['ok', 'advice', 'problem']),
          subject: z.string(),
          found: z.string(),
          action: z.string().optional(),
        }),
      )
      .meta({ description: 'the recommendations of `npm run doctor`' }),
  })
  .meta({ id: 'Redis', description: 'The Redis of the deployment.' });
