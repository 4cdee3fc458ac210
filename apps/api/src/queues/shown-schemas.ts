/** Queries and answers of the routes that show tasks, their events and their times. */
import { z } from 'zod';

import { digits } from '../http/digits.js';
import { instant } from './schemas.js';

const count = z.int().min(0);

const MAX_SHOWN_BYTES = 1_048_576;

export const taskQuery = z.strictObject({
  maxBytes: digits(1, MAX_SHOWN_BYTES)
    .optional()
    .meta({
      description:
        'A payload or result whose JSON is longer is cut. One with a whole number that JavaScript would round is ' +
        'text, exact. Default: nothing is cut, and such numbers are rounded.',
    }),
});

/** Of a session that may change nothing, and so switches nothing on. */
const hasEvents = z
  .boolean()
  .meta({ description: 'false if the events of the queue are off, and this session may not switch them on' });

export const taskEventsSchema = z
  .object({
    hasEvents,
    items: z.array(
      z.object({
        type: z.string().meta({ examples: ['started'] }),
        at: instant,
        attempt: count.optional(),
        event: z
          .string()
          .optional()
          .meta({ description: 'the name of the event that was delivered, or for which the task waits' }),
        error: z.object({ name: z.string(), message: z.string(), code: z.string().optional() }).optional(),
        progress: z.unknown().optional(),
      }),
    ),
  })
  .meta({
    id: 'TaskEvents',
    description: 'The events of the task among the last 2,000 of its queue, the oldest first.',
  });

const percentiles = z
  .object({ p50: z.number(), p95: z.number(), p99: z.number() })
  .nullable()
  .meta({ description: 'ms. Null without such a task.' });

export const timesSchema = z
  .object({
    hasEvents,
    count: count.meta({ description: 'the number of examined runs' }),
    wait: percentiles,
    run: percentiles,
  })
  .meta({ id: 'Times', description: 'Numbers of the last 2,000 events of the queue.' });
