/** Responses of the routes that the console reads; the OpenAPI document is made from them. */
import { z } from 'zod';

import { counts, instant, queueName } from '../queues/schemas.js';

const count = z.int().min(0);

export const overviewSchema = z
  .object({
    at: instant,
    total: count.meta({ description: 'the number of queues' }),
    queues: z
      .array(
        z.object({
          name: queueName,
          counts,
          headAgeMs: count
            .nullable()
            .meta({ description: 'How long ago the next task was enqueued. Null if no task is ready.' }),
          isPaused: z.boolean(),
        }),
      )
      .meta({ description: 'the first 100 by name' }),
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
        }),
      )
      .meta({ description: 'The masters. Null if the server refuses to list them.' }),
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
