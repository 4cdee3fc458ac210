/** Requests and responses of the routes of caches. */
import { z } from 'zod';

import { nameSchema } from '../http/id-schema.js';
import { cursor, limit, nextCursor } from '../http/page.js';
import { MAX_WAIT_MS } from '../http/wait-of.js';

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
  .meta({ description: 'Any JSON. Null is a known absence of a value.' });

const tags = z.array(tag).max(MAX_TAGS).default([]);

export const loadTokenSchema = z
  .string()
  .regex(/^[1-9]\d{0,15}$/, 'must be the token of a load')
  .meta({ description: 'the token from the answer of `POST …/loads`', examples: ['1795176000000000'] });

export const entryBody = z
  .strictObject({
    value,
    ttlMs: z.int().min(1).max(YEAR_MS).default(60_000).meta({ description: 'how long the value is fresh' }),
    staleMs: z.int().min(0).max(YEAR_MS).default(0).meta({
      description: 'how long the stale value is returned after that, while a program loads it again',
    }),
    tags: tags.meta({ description: 'an invalidation of one of them ends the entry' }),
    loadToken: loadTokenSchema.optional(),
  })
  .meta({
    id: 'CacheEntryBody',
    examples: [{ value: { name: 'Shield', price: 5 }, ttlMs: 60_000, tags: ['category:7'] }],
  });

export const entrySchema = z.object({ value }).meta({ id: 'CacheEntry' });

export const loadBody = z
  .strictObject({
    waitMs: z
      .int()
      .min(0)
      .max(MAX_WAIT_MS)
      .default(0)
      .meta({ description: 'how long to wait for the load of another client', examples: [5_000] }),
    leaseMs: z
      .int()
      .min(100)
      .max(600_000)
      .default(10_000)
      .meta({ description: 'How long the load may take. The lease is not renewed.', examples: [10_000] }),
    tags: tags.meta({
      description:
        'Tags known before the load. After the invalidation of a tag, no client waits for a load under way.',
    }),
  })
  .meta({ id: 'LoadBody', examples: [{ waitMs: 5_000, leaseMs: 10_000 }] });

export const loadSchema = z
  .object({
    isCached: z.boolean(),
    value: value.optional(),
    load: z
      .object({ token: loadTokenSchema, expiresInMs: z.int().min(0) })
      .nullable()
      .meta({
        description: 'The right to load, which only this client has. Null if the client has nothing to load.',
      }),
  })
  .meta({ id: 'CacheLoad', description: 'The value, the right to load it, or both if the value is stale.' });

export const deletedSchema = z
  .object({ isDeleted: z.boolean().meta({ description: 'whether the entry existed' }) })
  .meta({ id: 'DeletedCacheEntry' });

export const invalidationBody = z
  .strictObject({ tag })
  .meta({ id: 'InvalidationBody', examples: [{ tag: 'category:7' }] });

const reads = z.int().min(0);

export const cacheSchema = z
  .object({
    cache: z.string(),
    hits: reads.meta({
      description: 'reads by requests to this process that found an entry, also a stale one',
    }),
    misses: reads.meta({ description: 'reads by requests to this process that did not' }),
  })
  .meta({ id: 'Cache', description: 'A cache, in numbers of one process of the API.' });

export const cacheKeysQuery = z.strictObject({ cursor, limit });

export const cacheKeysPage = z
  .object({ items: z.array(z.object({ key: z.string() })), nextCursor })
  .meta({ id: 'CacheKeyPage' });
