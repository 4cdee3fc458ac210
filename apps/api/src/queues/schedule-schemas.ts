/** Requests and responses of the routes of schedules and of results. */
import { z } from 'zod';

import { digits } from '../http/digits.js';
import { MAX_WAIT_MS } from '../http/wait-of.js';
import { instant, name, payload, taskOptions } from './schemas.js';

/** A key becomes part of the ids of its tasks. */

const MAX_EVERY_MS = 10 * 365.25 * 86_400_000;

const timing = {
  cron: z
    .string()
    .min(1)
    .max(1_024)
    .optional()
    .meta({ description: 'five fields, or six with seconds first', examples: ['0 9 * * 1-5'] }),
  timezone: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .meta({ description: 'a name of the IANA database, for cron; default UTC', examples: ['Europe/Berlin'] }),
  everyMs: z.int().min(1_000).max(MAX_EVERY_MS).optional(),
  startAt: instant.optional(),
  until: instant.optional(),
  maxRuns: z.int().min(1).optional().meta({ description: 'the maximum number of instants' }),
  missed: z
    .enum(['skip', 'once', 'all'])
    .optional()
    .meta({ description: 'The handling of instants without a running worker. Default `once`.' }),
  overlap: z.enum(['allow', 'skip']).optional().meta({
    description: '`skip` drops an instant while the last task has not ended. Default `allow`.',
  }),
};

export const scheduleBody = z
  .strictObject({ ...timing, name, payload, ...taskOptions })
  .refine(({ cron, everyMs }) => (cron === undefined) !== (everyMs === undefined), {
    path: ['cron'],
    error: 'needs to be there, or else everyMs',
  })
  .meta({
    id: 'ScheduleBody',
    examples: [{ cron: '0 9 * * 1-5', timezone: 'Europe/Berlin', name: 'report.daily', payload: null }],
  });

const nextAt = instant
  .optional()
  .meta({ description: 'The next instant. Absent when the schedule has ended.' });

export const scheduledSchema = z
  .object({
    key: z.string(),
    nextAt,
    isChanged: z.boolean().meta({ description: 'the schedule was new, or differed from the stored one' }),
  })
  .meta({ id: 'Scheduled' });

export const schedulesSchema = z
  .object({
    items: z.array(
      z.object({
        key: z.string(),
        ...timing,
        name: z.string(),
        nextAt,
        lastAt: instant.optional().meta({ description: 'the last instant for which a task was enqueued' }),
        runs: z.int().min(0).meta({ description: 'the number of instants for which a task was enqueued' }),
        definedAt: instant,
        problem: z
          .string()
          .optional()
          .meta({ description: 'the stored schedule cannot be read; ignore the other fields' }),
      }),
    ),
  })
  .meta({ id: 'Schedules', description: 'The schedules, the earliest first.' });

export const resultQuery = z.strictObject({
  waitMs: digits(0, MAX_WAIT_MS)
    .default(0)
    .meta({ description: 'how long to wait for the end of the task, default 0' }),
});

export const resultSchema = z
  .object({ result: z.unknown().optional().meta({ description: 'absent if the handler returned nothing' }) })
  .meta({ id: 'Result' });
