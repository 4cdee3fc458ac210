/** Requests and responses of the routes of cached rows. */
import { z } from 'zod';

import { flag } from '../http/flag.js';
import { nameSchema } from '../http/id-schema.js';
import { cursor, limit, nextCursor } from '../http/page.js';

const MIN_REFRESH_MS = 100;
const MAX_REFRESH_MS = 3_650 * 86_400_000;

export const tableNameSchema = nameSchema.meta({ examples: ['stock'] });
export const rowIdSchema = nameSchema.meta({ examples: ['42'] });

export const scheduleBody = z
  .strictObject({
    refreshMs: z
      .int()
      .min(MIN_REFRESH_MS)
      .max(MAX_REFRESH_MS)
      .meta({ description: 'how often the row is loaded from the database', examples: [1_000] }),
  })
  .meta({ id: 'ScheduleRowBody', examples: [{ refreshMs: 1_000 }] });

const count = z.int().min(0);

export const scheduledRowSchema = z
  .object({
    table: z.string(),
    id: z.string(),
    refreshMs: z.int().min(1),
    nextInMs: count.meta({
      description: 'the time until the next load; 0 if the row is due or being loaded',
    }),
    ageMs: count
      .nullable()
      .meta({ description: 'The time since the start of the last load. Null before the first load.' }),
    failures: count.meta({ description: 'the number of consecutive failed loads' }),
  })
  .meta({ id: 'ScheduledRow', description: 'The place of a row in the schedule.' });

export const cachedTableSchema = z
  .object({
    table: z.string(),
    scheduled: count.meta({ description: 'rows in the schedule' }),
    loaded: count.meta({ description: 'rows of these that were loaded at least once' }),
    due: count.meta({ description: 'rows that are due and not being loaded' }),
    failing: count.meta({ description: 'rows whose last load failed' }),
    shardsDown: count.meta({ description: 'shards of the table whose database does not answer' }),
    lagMs: z
      .number()
      .min(0)
      .meta({ description: 'how long the first due row has waited, without rows whose last load failed' }),
    hits: count.meta({ description: 'reads by this process that found their row' }),
    misses: count.meta({ description: 'reads by this process that did not find their row' }),
  })
  .meta({ id: 'CachedTable', description: 'A table whose rows are cached, in numbers.' });

export const listRowsQuery = z.strictObject({
  cursor,
  limit,
  isFailing: flag.default(false).meta({ description: 'only rows whose last load failed; default false' }),
});

const listedRowSchema = z.object({
  id: z.string(),
  refreshMs: z.int().min(1),
  nextInMs: count.meta({ description: 'until it is loaded next; 0: it is due, or being loaded' }),
  ageMs: count
    .nullable()
    .meta({ description: 'since it was last found to be so in the database; null: never loaded yet' }),
  lagMs: count.meta({ description: 'for how long it has been due; 0: it is not, or is being loaded' }),
  failures: count.meta({ description: 'loads in a row that failed' }),
  lastError: z
    .string()
    .nullable()
    .meta({ description: 'the message of the last of them, its first 200 characters; null: none is known' }),
});

export const rowsPage = z.object({ items: z.array(listedRowSchema), nextCursor }).meta({
  id: 'CachedRowPage',
  description: 'May have fewer rows than the limit, or some hundred more.',
});

export const cachedTablesSchema = z
  .object({ items: z.array(cachedTableSchema) })
  .meta({ id: 'CachedTables', description: 'All tables of the settings.' });
