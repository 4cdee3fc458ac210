/** Responses of the routes that the console reads; the OpenAPI document is made from them. */
import { z } from 'zod';

import { counts, instant, queueName } from '../queues/schemas.js';

const count = z.int().min(0);

export const overviewSchema = z
  .object({
    at: instant,
    total: count.meta({ description: 'how many queues there are' }),
    queues: z
      .array(
        z.object({
          name: queueName,
          counts,
          headAgeMs: count
            .nullable()
            .meta({ description: 'how long ago the next task was enqueued; null: none is ready' }),
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
          maxBytes: count.nullable().meta({ description: '0: no limit' }),
          policy: z.string().nullable().meta({ description: 'the policy of Redis for a full memory' }),
          opsPerSecond: count.nullable(),
          clients: count.nullable(),
        }),
      )
      .meta({ description: 'the masters; null: the server refuses to tell' }),
    slow: z
      .array(
        z.object({
          address,
          at: instant,
          micros: count,
          command: z.string().meta({ examples: ['EVALSHA'] }),
          arguments: count.meta({ description: 'how many; they are not shown' }),
        }),
      )
      .nullable()
      .meta({ description: 'the last 20 slow commands; null: the server refuses to tell' }),
    findings: z
      .array(
        z.object({
          level: z.enum(['ok', 'advice', 'problem']),
          subject: z.string(),
          found: z.string(),
          action: z.string().optional(),
        }),
      )
      .meta({ description: 'as `npm run doctor` says them' }),
  })
  .meta({ id: 'Redis', description: 'The Redis of the deployment.' });
