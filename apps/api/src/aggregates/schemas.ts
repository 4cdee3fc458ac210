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
    places: count.meta({ description: 'how many countries, regions or cities they came from' }),
    items: z.array(
      z.object({
        country: z
          .string()
          .meta({ description: 'ISO 3166-1 alpha-2; `ZZ`: the address is in no known range' }),
        region: z.string().optional().meta({ description: 'of regions and cities; empty: not known' }),
        city: z.string().optional().meta({ description: 'of cities; empty: not known' }),
        count,
      }),
    ),
  })
  .meta({ id: 'DailyTop', description: 'Where most lines of a day came from, the most frequent first.' });
