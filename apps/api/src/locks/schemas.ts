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
  .meta({ description: 'how long a silent holder keeps the lock', examples: [10_000] });
const waitMs = z
  .int()
  .min(0)
  .max(MAX_WAIT_MS)
  .default(0)
  .meta({
    description: 'How long to wait for the lock. With 0 it is taken only if it is free.',
    examples: [5_000],
  });
const owner = z
  .string()
  .regex(/^[\w@-]{1,64}$/, 'must be 1 to 64 letters, digits, "_", "@" and "-"')
  .optional()
  .meta({ description: 'a name of the holder, for people: a part of `holder`', examples: ['mailer-3'] });
const seenOwner = z
  .string()
  .nullable()
  .meta({ description: 'The owner of the lease, as given when it was acquired. Null without an owner.' });
const holder = z
  .string()
  .regex(/^[A-Za-z0-9._~@:-]{1,256}$/, 'must be the holder of a lease')
  .meta({
    description: 'the id of a lease, from the answer of its acquisition',
    examples: ['q0-3zLcXb9dTt2Vw.1k.1000'],
  });

/** Programs that use Redis directly may hold locks under other holder names. */
const seenHolder = z.string().meta({ description: 'the first 256 characters of the holder of a lease' });

const count = z.int().min(0);
const ms = z.int().min(0);
const longestWaitMs = ms.meta({ description: 'for how long the first waiter has waited; 0 without waiters' });
const fencingToken = z
  .int()
  .min(1)
  .meta({ description: 'the fencing token, which rises with each grant', examples: [1_795_176_000_000_000] });

/** Tokens are instants in µs, of 16 digits. Only the server's clock knows whether one was granted. */
const LEAST_TOKEN = 1_000_000_000_000_000;

export const acquireBody = z
  .strictObject({ leaseMs, waitMs, owner })
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
          'The fencing token of the lease, if the lease has not ended. With it the lease survives the loss of its ' +
          'keys in Redis.',
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
  .meta({ description: 'The number of permits. All users must agree.', examples: [3] });

export const acquirePermitsBody = z
  .strictObject({
    permits,
    take: z
      .int()
      .min(1)
      .max(100_000)
      .default(1)
      .meta({ description: 'how many permits to take, all or none' }),
    leaseMs,
    waitMs,
    owner,
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
  description: 'The lease that is held now. Its end counts from the instant at which the answer was written.',
});

export const renewalSchema = z
  .object({ expiresInMs: ms.meta({ description: 'the lease lasts at least this time' }) })
  .meta({ id: 'Renewal' });

export const releaseSchema = z
  .object({ isReleased: z.boolean().meta({ description: 'whether the lease was held' }) })
  .meta({ id: 'Release' });

export const lockSchema = z
  .object({
    name,
    holder: seenHolder.nullable().meta({ description: 'The holder. Null for a free lock.' }),
    owner: seenOwner,
    fencingToken: fencingToken
      .nullable()
      .meta({ description: 'The last fencing token. Null if none is known.' }),
    remainingMs: ms,
    queueLength: count,
    longestWaitMs,
  })
  .meta({ id: 'Lock', description: 'The state of a lock, at one instant.' });

const semaphore = {
  name,
  limit: z
    .int()
    .min(1)
    .nullable()
    .meta({ description: 'The number of permits. Null if nobody has used a semaphore of this name.' }),
  used: count.meta({
    description: 'The number of held permits. It exceeds the limit only after the limit was lowered.',
  }),
  queueLength: count,
  longestWaitMs,
};

export const semaphoreSchema = z
  .object({
    ...semaphore,
    holders: z
      .array(z.object({ holder: seenHolder, owner: seenOwner, permits: z.int().min(1), remainingMs: ms }))
      .meta({ description: 'the first 100 readers, ordered by the ends of their leases' }),
  })
  .meta({ id: 'Semaphore', description: 'The state of a semaphore, at one instant.' });

export const listQuery = z.strictObject({ cursor, limit });

export const semaphoresPage = z
  .object({ items: z.array(z.object(semaphore)), nextCursor })
  .meta({ id: 'SemaphorePage' });

export const locksPage = z.object({ items: z.array(lockSchema), nextCursor }).meta({ id: 'LockPage' });

const mode = z.enum(['read', 'write']).meta({
  description: 'the side: any number of readers hold the lock together, a writer holds it alone',
  examples: ['read'],
});

export const acquireSideBody = z
  .strictObject({ mode, leaseMs, waitMs, owner })
  .meta({ id: 'AcquireSideBody', examples: [{ mode: 'read', leaseMs: 10_000, waitMs: 5_000 }] });

const sideHolder = z
  .string()
  .regex(/^[A-Za-z0-9._~@:-]{1,254}\.[rw]$/, "must be the holder of a reader's or writer's lease")
  .meta({
    description: 'the lease from the answer of its acquisition',
    examples: ['q0-3zLcXb9dTt2Vw.1k.1000.r'],
  });

export const renewSideBody = z
  .strictObject({ ...renewBody.shape, holder: sideHolder })
  .meta({ id: 'RenewSideBody', examples: [{ holder: 'q0-3zLcXb9dTt2Vw.1k.1000.r', leaseMs: 10_000 }] });

export const releaseSideBody = z
  .strictObject({ holder: sideHolder })
  .meta({ id: 'ReleaseSideBody', examples: [{ holder: 'q0-3zLcXb9dTt2Vw.1k.1000.r' }] });

export const sideBody = z.strictObject({ mode }).meta({ id: 'SideBody', examples: [{ mode: 'read' }] });

export const readWriteLockSchema = z
  .object({
    name,
    writer: seenHolder.nullable().meta({ description: 'The writer. Null without a writer.' }),
    readers: count.meta({ description: 'the number of readers that hold the lock' }),
    firstReaders: z
      .array(seenHolder)
      .meta({ description: 'the first 100 readers, ordered by the ends of their leases' }),
    fencingToken: fencingToken
      .nullable()
      .meta({ description: 'The last fencing token. Null if none is known.' }),
    remainingMs: ms,
    queueLength: count,
    longestWaitMs,
  })
  .meta({ id: 'ReadWriteLock', description: 'The state of a read-write lock, at one instant.' });

const MAX_NAMES = 20;
const names = z
  .array(name)
  .min(1)
  .max(MAX_NAMES)
  .refine((all) => new Set(all).size === all.length, 'must not repeat a name')
  .meta({
    description: 'The names of the locks. Their order does not matter.',
    examples: [['item:1', 'item:2']],
  });

export const acquireManyBody = z.strictObject({ names, leaseMs, waitMs, owner }).meta({
  id: 'AcquireManyBody',
  examples: [{ names: ['item:1', 'item:2'], leaseMs: 10_000, waitMs: 5_000 }],
});

const LEASE_OF_MANY = { names: ['item:1', 'item:2'], holder: 'q0-3zLcXb9dTt2Vw.1k.1000' };

export const renewManyBody = z
  .strictObject({ names, holder, leaseMs })
  .meta({ id: 'RenewManyBody', examples: [{ ...LEASE_OF_MANY, leaseMs: 10_000 }] });

export const releaseManyBody = z
  .strictObject({ names, holder })
  .meta({ id: 'ReleaseManyBody', examples: [LEASE_OF_MANY] });

export const manyLeaseSchema = z
  .object({
    holder,
    locks: z
      .array(z.object({ name, fencingToken }))
      .meta({ description: 'the tokens, in the order of the request' }),
    expiresInMs: ms,
  })
  .meta({ id: 'LeaseOfMany', description: 'All of the locks are held now, as one lease.' });

const MAX_PERIOD_MS = 2_678_400_000;
const MAX_LIMIT = 10_000_000;
/** The package keeps the state of a limiter for a year. */
const MAX_BURST_MS = 366 * 86_400_000;

function burstOf(wish: { readonly limit: number; readonly burst?: number | undefined }): number {
  return wish.burst ?? wish.limit;
}

export const takeBody = z
  .strictObject({
    limit: z.int().min(1).max(MAX_LIMIT).meta({ description: 'Permits in a period. All users must agree.' }),
    periodMs: z.int().min(1).max(MAX_PERIOD_MS),
    burst: z
      .int()
      .min(1)
      .max(MAX_LIMIT)
      .optional()
      .meta({ description: 'Maximum of permits at once after a quiet time. Default: `limit`.' }),
    cost: z.int().min(0).max(MAX_LIMIT).default(1).meta({
      description: 'How many permits to take, all or none. With 0 the request only reads the state.',
    }),
  })
  .refine((wish) => wish.cost <= burstOf(wish), {
    path: ['cost'],
    error: 'must not be more than burst',
  })
  .refine((wish) => (burstOf(wish) / wish.limit) * wish.periodMs <= MAX_BURST_MS, {
    path: ['burst'],
    error: 'must be available within 366 days',
  })
  .meta({ id: 'TakeBody', examples: [{ limit: 100, periodMs: 60_000, cost: 1 }] });

export const takenSchema = z
  .object({
    isAllowed: z.boolean().meta({ description: 'Whether the permits were taken. A refusal takes none.' }),
    remaining: count.meta({ description: 'permits available now' }),
    retryAfterMs: ms.meta({ description: 'the time until the same take would be allowed; 0 if it was' }),
    resetAfterMs: ms.meta({ description: 'the time until the whole burst is available again' }),
  })
  .meta({ id: 'Taken' });

const term = z.int().min(1).nullable();

export const rateLimiterSchema = z
  .object({
    name,
    limit: term.meta({
      description: 'Permits in a period, by the last take that changed the limiter. Null if none is known.',
    }),
    periodMs: term,
    burst: term.meta({ description: 'maximum of permits at once' }),
    remaining: count
      .nullable()
      .meta({ description: 'Permits available now. Null if the limit is not known.' }),
    resetAfterMs: ms.meta({ description: 'the time until the whole burst is available again; 0 if it is' }),
  })
  .meta({ id: 'RateLimiter', description: 'The state of a rate limit, at one instant.' });

export const rateLimitersPage = z
  .object({ items: z.array(rateLimiterSchema), nextCursor })
  .meta({ id: 'RateLimiterPage' });
