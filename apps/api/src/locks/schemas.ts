import { z } from 'zod';

import { nameSchema } from '../http/id-schema.js';
import { cursor, limit, nextCursor } from '../http/page.js';
import { MAX_WAIT_MS } from '../http/wait-of.js';

export { nameSchema };
const name = nameSchema.meta({ examples: ['invoice:42'] });

const leaseMs = z
  .int()
  .min(10)
  .max(86_400_000)
  .default(10_000)
  .meta({ description: 'how long a silent holder keeps it', examples: [10_000] });
const waitMs = z
  .int()
  .min(0)
  .max(MAX_WAIT_MS)
  .default(0)
  .meta({ description: 'how long to wait for it; 0: take it only if it is free', examples: [5_000] });
const holder = z
  .string()
  .regex(/^[A-Za-z0-9._~@:-]{1,256}$/, 'must be the holder of a lease')
  .meta({
    description: 'the id of a lease, from the answer of its acquisition',
    examples: ['q0-3zLcXb9dTt2Vw.1k.1000'],
  });

/** Programs that use Redis directly may hold locks under other holder names. */
const seenHolder = z.string().meta({ description: 'the holder of a lease, its first 256 characters' });

const count = z.int().min(0);
const ms = z.int().min(0);
const fencingToken = z
  .int()
  .min(1)
  .meta({ description: 'rises with each grant', examples: [1_795_176_000_000_000] });

/** Tokens are instants in µs, of 16 digits. Only the server's clock knows whether one was granted. */
const LEAST_TOKEN = 1_000_000_000_000_000;

export const acquireBody = z
  .strictObject({ leaseMs, waitMs })
  .meta({ id: 'AcquireBody', examples: [{ leaseMs: 10_000, waitMs: 5_000 }] });

export const renewBody = z
  .strictObject({
    holder,
    leaseMs,
    fencingToken: z
      .int()
      .min(0)
      .max(Number.MAX_SAFE_INTEGER)
      .refine((token) => token === 0 || token >= LEAST_TOKEN, 'must be the fencing token of a lease, or 0')
      .default(0)
      .meta({
        description:
          'that of the lease, while it is not over: with it the lease survives the loss of its keys in Redis',
      }),
  })
  .meta({ id: 'RenewBody', examples: [{ holder: 'q0-3zLcXb9dTt2Vw.1k.1000', leaseMs: 10_000 }] });

export const releaseBody = z
  .strictObject({ holder })
  .meta({ id: 'ReleaseBody', examples: [{ holder: 'q0-3zLcXb9dTt2Vw.1k.1000' }] });

const permits = z
  .int()
  .min(1)
  .max(100_000)
  .meta({ description: 'how many permits there are; all users agree', examples: [3] });

export const acquirePermitsBody = z
  .strictObject({
    permits,
    take: z
      .int()
      .min(1)
      .max(100_000)
      .default(1)
      .meta({ description: 'how many of them to take, all or none' }),
    leaseMs,
    waitMs,
  })
  .refine((wish) => wish.take <= wish.permits, {
    path: ['take'],
    error: 'must not be more than permits',
  })
  .meta({ id: 'AcquirePermitsBody', examples: [{ permits: 3, take: 1, leaseMs: 10_000, waitMs: 5_000 }] });

export const permitsBody = z
  .strictObject({ permits })
  .meta({ id: 'PermitsBody', examples: [{ permits: 5 }] });

export const leaseSchema = z.object({ name, holder, fencingToken, expiresInMs: ms }).meta({
  id: 'Lease',
  description: 'What is held now. Its end is counted from when the answer was written.',
});

export const renewalSchema = z
  .object({ expiresInMs: ms.meta({ description: 'the lease lasts at least this time' }) })
  .meta({ id: 'Renewal' });

export const releaseSchema = z
  .object({ isReleased: z.boolean().meta({ description: 'whether it was held' }) })
  .meta({ id: 'Release' });

export const lockSchema = z
  .object({
    name,
    holder: seenHolder.nullable().meta({ description: 'null: nobody holds it' }),
    fencingToken: fencingToken.nullable().meta({ description: 'the last one; null: none is known' }),
    remainingMs: ms,
    queueLength: count,
  })
  .meta({ id: 'Lock', description: 'The state of a lock, at one instant.' });

const semaphore = {
  name,
  limit: z
    .int()
    .min(1)
    .nullable()
    .meta({ description: 'how many permits there are; null: nobody has used a semaphore of this name' }),
  used: count.meta({ description: 'how many are held; more than the limit only after it was lowered' }),
  queueLength: count,
};

export const semaphoreSchema = z
  .object({
    ...semaphore,
    holders: z
      .array(z.object({ holder: seenHolder, permits: z.int().min(1), remainingMs: ms }))
      .meta({ description: 'the first 100, by the ends of their leases' }),
  })
  .meta({ id: 'Semaphore', description: 'The state of a semaphore, at one instant.' });

export const listQuery = z.strictObject({ cursor, limit });

export const semaphoresPage = z
  .object({ items: z.array(z.object(semaphore)), nextCursor })
  .meta({ id: 'SemaphorePage' });

export const locksPage = z.object({ items: z.array(lockSchema), nextCursor }).meta({ id: 'LockPage' });
