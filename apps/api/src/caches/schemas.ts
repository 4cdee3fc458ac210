/** Requests and responses of the routes of caches. */
import { z } from 'zod';

import { nameSchema } from '../http/id-schema.js';

const YEAR_MS = 365 * 86_400_000;
const MAX_TAGS = 16;

export const cacheNameSchema = nameSchema.meta({ examples: ['products'] });

/** The package keeps names that begin with NUL for itself. */
const isFree = (text: string): boolean => !text.startsWith('\0');
export const entryKeySchema = nameSchema
  .refine(isFree, 'must not begin with NUL')
  .meta({ examples: ['product:42'] });
const tag = nameSchema.refine(isFree, 'must not begin with NUL').meta({ examples: ['category:7'] });

const value = z
  .unknown()
  .refine((given) => given !== undefined, 'is missing')
  .meta({ description: 'any JSON; null: it is known that there is no value' });

export const entryBody = z
  .strictObject({
    value,
    ttlMs: z.int().min(1).max(YEAR_MS).default(60_000).meta({ description: 'how long it is fresh' }),
    staleMs: z
      .int()
      .min(0)
      .max(YEAR_MS)
      .default(0)
      .meta({ description: 'how long it is still given after that, while programs load it again' }),
    tags: z
      .array(tag)
      .max(MAX_TAGS)
      .default([])
      .meta({ description: 'an invalidation of one of them ends the entry' }),
  })
  .meta({
    id: 'CacheEntryBody',
    examples: [{ value: { name: 'Shield', price: 5 }, ttlMs: 60_000, tags: ['category:7'] }],
  });

export const entrySchema = z.object({ value }).meta({ id: 'CacheEntry' });

export const deletedSchema = z
  .object({ isDeleted: z.boolean().meta({ description: 'whether there was one' }) })
  .meta({ id: 'DeletedCacheEntry' });

export const invalidationBody = z
  .strictObject({ tag })
  .meta({ id: 'InvalidationBody', examples: [{ tag: 'category:7' }] });
