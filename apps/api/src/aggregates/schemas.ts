/** Requests and responses of the routes of the aggregates. */
import { DEFAULT_TOP, DIMENSIONS, isDay, MAX_TOP } from '@mortise/messaging/log-aggregation';
import { z } from 'zod';

import { digits } from '../http/digits.js';

export const dimensionSchema = z.enum(DIMENSIONS, `must be one of ${DIMENSIONS.join(', ')}`);

export const daySchema = z
  .string()
  .refine(isDay, 'must be a day such as 2026-11-20')
  .meta({ description: 'a day in the time zone of the logs', examples: ['2026-11-20'] });

export const topQuery = z.strictObject({
  limit: digits(1, MAX_TOP)
    .default(DEFAULT_TOP)
    .meta({ description: `how many places, default ${DEFAULT_TOP}` }),
});

const count = z.int().min(0);

export const dailyTopSchema = z
  .object({
    day: z.string(),
    dimension: z.enum(DIMENSIONS),
    total: count.meta({ description: 'all lines of the day' }),
    places: count.meta({ description: 'the number of countries, regions or cities with lines' }),
    items: z.array(
      z.object({
        country: z
          .string()
          .meta({ description: 'The country by ISO 3166-1 alpha-2. `ZZ` for addresses in no known range.' }),
        region: z
          .string()
          .optional()
          .meta({ description: 'The region, for regions and cities. Empty if not known.' }),
        city: z.string().optional().meta({ description: 'The city, for cities. Empty if not known.' }),
        count,
      }),
    ),
  })
  .meta({ id: 'DailyTop', description: 'The places of most lines of a day, the most frequent first.' });
