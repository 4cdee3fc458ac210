/**
 * Leases for HTTP clients. The API keeps no state of a lease: a client renews and releases it by its holder, a string, at
 * any API process, also after a restart. Nobody else renews it, so the lease of a client that dies expires.
 *
 * An answer may be lost after the lock was granted. A client that has disconnected gets no lock. A client that repeats its
 * Idempotency-Key gets the same lease, as long as it lasts. Every other unknown lease expires.
 */
import { createHash } from 'node:crypto';

import { Inject, Injectable } from '@nestjs/common';
import type { AcquireOptions, Lease } from '@mortise/locks';
import { LeaseLostError, LockSettingsError, LockTimeoutError } from '@mortise/locks';
import { KeySpace, MAX_NAME_BYTES, withoutLink } from '@mortise/redis';
import type { EntityKeys, RedisClient } from '@mortise/redis';
import type { z } from 'zod';

import type { Config } from '../config.js';
import { RequestReusedError } from '../market/index.js';
import type { ProblemFields } from '../problems/problem.js';
import { Problem } from '../problems/problem.js';
import { isRedisUnavailable } from '../redis/is-redis-unavailable.js';
import { PerTenant } from '../tenants/per-tenant.js';
import { CONFIG, REDIS } from '../tokens.js';
import type { leaseSchema, renewBody } from './schemas.js';

/** A lock, a side of a read-write lock, several locks, or a semaphore with the number of wanted permits. */
export interface Lendable {
  /** As details of refusals call it: `lock "a"`. */
  readonly shown: string;
  /** The members of refusals that name it. */
  readonly fields: ProblemFields;
  /** Its part of the keys of the API. */
  readonly entity: string;
  acquire(options: AcquireOptions): Promise<Lent>;
  tryAcquire(): Promise<Lent | null>;
  renewFor(holder: string, leaseMs: number, tokens: readonly number[]): Promise<boolean>;
  releaseFor(holder: string): Promise<boolean>;
  /** Details for a client that did not get it. One round trip. */
  obstacle(): Promise<ProblemFields>;
}

/** The options of a lease. */
export interface LeaseTerms {
  readonly leaseMs?: number;
  readonly owner?: string | undefined;
}

/** A lease with its fencing tokens; several locks have one each. */
export interface Lent {
  readonly lease: Pick<Lease, 'holder' | 'expiresAt' | 'renew'> & AsyncDisposable;
  readonly tokens: readonly number[];
}

export function lent(lease: Lease): Lent {
  return { lease, tokens: [lease.fencingToken] };
}

export interface AcquireRequest {
  readonly leaseMs: number;
  /** 0: only if it is free. */
  readonly waitMs: number;
  /** The terms that a request with a repeated key must share, besides name and `leaseMs`. */
  readonly terms: string;
  readonly requestKey: string | undefined;
  /** Aborted when the answer is no longer needed. */
  readonly signal: AbortSignal;
}

export interface RemoteLease {
  readonly holder: string;
  readonly tokens: readonly number[];
  readonly expiresInMs: number;
}

/** As routes of one name answer. */
export function leaseOf(
  name: string,
  { holder, tokens, expiresInMs }: RemoteLease,
): z.infer<typeof leaseSchema> {
  return { name, holder, fencingToken: tokens[0]!, expiresInMs };
}

/** A granted waiter holds its lease for a second at first; this process confirms it before it answers. */
const WHOLE = 0.9;
/** How long a repeated release is recognised. */
const RELEASED_MS = 60_000;
/** The smallest renewal, which shortens no lease: it tests whether the lease exists. */
const MIN_LEASE_MS = 10;

@Injectable()
export class RemoteLeases {
  readonly #redis: RedisClient;
  readonly #keys: PerTenant<KeySpace>;

  constructor(@Inject(REDIS) redis: RedisClient, @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config) {
    this.#redis = redis;
    this.#keys = new PerTenant(prefix, (its) => new KeySpace('api', its));
  }

  /**
   * One round trip, one more after a wait, two more with a request key. Throws the problems `lock-timeout`
   * and `lease-lost` (it was over before the answer), ERR_REQUEST_REUSED when the key came with other terms, and the reason
   * of the signal.
   */
  async acquire(
    lendable: Lendable,
    request: AcquireRequest,
  ): Promise<{ lease: RemoteLease; isRepeated: boolean }> {
    const earlier = await this.#earlier(lendable, request);
    if (earlier) return { lease: earlier, isRepeated: true };
    const { leaseMs, signal } = request;
    const { lease, tokens } = await wait(lendable, request);
    try {
      if (lease.expiresAt - performance.now() < leaseMs * WHOLE) await lease.renew();
      await this.#remember(lendable, request, lease.holder, tokens);
      signal.throwIfAborted();
    } catch (error) {
      await lease[Symbol.asyncDispose]();
      throw error instanceof LeaseLostError ? lost(lendable, lease.holder) : error;
    }
    const { holder, expiresAt } = lease;
    return { lease: { holder, tokens, expiresInMs: until(expiresAt) }, isRepeated: false };
  }

  /** Returns how long the lease lasts at least. Throws the problem `lease-lost`. One round trip; safe to repeat. */
  async renew(lendable: Lendable, renewal: z.infer<typeof renewBody>): Promise<number> {
    const { holder, leaseMs, fencingToken } = renewal;
    const endsAt = performance.now() + leaseMs;
    const isHeld = await lendable.renewFor(holder, leaseMs, [fencingToken]).catch(refuseHolder);
    if (!isHeld) throw lost(lendable, holder);
    return until(endsAt);
  }

  /**
   * Throws the problem `lease-lost`, but not within a minute after a first release, whose answer may be lost. Three round
   * trips.
   */
  async release(lendable: Lendable, holder: string): Promise<void> {
    const mark = this.#entityOf(lendable).key('released', holder);
    const [isHeld, wasReleased] = await Promise.all([
      lendable.renewFor(holder, MIN_LEASE_MS, [0]).catch(refuseHolder),
      this.#redis.call('exists', [mark]),
    ]);
    if (isHeld) {
      // Written first: without it, a repeated request would be refused.
      await this.#redis.call('set', [mark, '', 'PX', RELEASED_MS]);
      await lendable.releaseFor(holder);
    } else if (wasReleased === 0) throw lost(lendable, holder);
  }

  /** The lease of an earlier request with this key, if it lasts. It is renewed, because its client starts again. */
  async #earlier(lendable: Lendable, request: AcquireRequest): Promise<RemoteLease | null> {
    const { leaseMs, terms, requestKey } = request;
    if (requestKey === undefined) return null;
    const key = this.#keyOf(lendable, requestKey);
    const record = (await this.#redis.call('get', [key])) as string | null;
    if (record === null) return null;
    const [holder = '', list = '', itsLeaseMs, itsTerms] = record.split(' ');
    const tokens = list.split(',').map(Number);
    const isSame = Number(itsLeaseMs) === leaseMs && itsTerms === terms;
    const endsAt = performance.now() + leaseMs;
    if (!(await lendable.renewFor(holder, isSame ? leaseMs : MIN_LEASE_MS, tokens))) return null;
    if (!isSame) throw new RequestReusedError(requestKey);
    await this.#redis.call('pexpire', [key, leaseMs]);
    return { holder, tokens, expiresInMs: until(endsAt) };
  }

  async #remember(
    lendable: Lendable,
    request: AcquireRequest,
    holder: string,
    tokens: readonly number[],
  ): Promise<void> {
    const { leaseMs, terms, requestKey } = request;
    if (requestKey === undefined) return;
    const record = `${holder} ${tokens.join(',')} ${leaseMs} ${terms}`;
    await this.#redis.call('set', [this.#keyOf(lendable, requestKey), record, 'PX', leaseMs]);
  }

  /** `<prefix>:api:{<entity>}:request:<key>`: STRING `holder tokens leaseMs terms`, for `leaseMs`; tokens by commas. */
  #keyOf(lendable: Lendable, requestKey: string): string {
    return this.#entityOf(lendable).key('request', requestKey);
  }

  /** A name may be as long as an entity, and its kind comes before it. */
  #entityOf({ entity }: Lendable): EntityKeys {
    const isLong = Buffer.byteLength(entity) > MAX_NAME_BYTES;
    const hash = (): string => createHash('sha256').update(entity).digest('base64url');
    return this.#keys.current.entity(isLong ? `long:${hash()}` : entity);
  }
}

async function wait(lendable: Lendable, { waitMs, signal }: AcquireRequest): Promise<Lent> {
  const attempt = waitMs === 0 ? lendable.tryAcquire() : acquireWithin(lendable, { waitMs, signal });
  const lease = await attempt.catch((error: unknown) => refuseLimit(lendable, error));
  if (lease) return lease;
  // This second request explains the refusal, and tells a silent Redis from a held lock.
  const obstacle = await lendable.obstacle();
  const detail = `${lendable.shown} was not acquired within ${waitMs} ms`;
  throw new Problem('lock-timeout', detail, { ...lendable.fields, waitMs, ...obstacle });
}

async function acquireWithin(lendable: Lendable, options: AcquireOptions): Promise<Lent | null> {
  try {
    return await lendable.acquire(options);
  } catch (error) {
    if (error instanceof LockTimeoutError && !isRedisUnavailable(error.cause)) return null;
    throw error;
  }
}

/** The problem of a semaphore with another limit. */
function refuseLimit(lendable: Lendable, error: unknown): never {
  if (!(error instanceof LockSettingsError)) throw error;
  const limits = { limit: error.value, knownLimit: error.knownValue };
  throw new Problem(
    'semaphore-limit',
    withoutLink(error.message),
    { ...lendable.fields, ...limits },
    { cause: error },
  );
}

function until(endsAt: number): number {
  return Math.max(0, Math.floor(endsAt - performance.now()));
}

function lost(lendable: Lendable, holder: string): Problem {
  const detail = `${lendable.shown} is not held by this holder`;
  return new Problem('lease-lost', detail, { ...lendable.fields, holder });
}

/** The error of the package for a text that cannot be a holder. */
export function refuseHolder(error: unknown): never {
  if (!(error instanceof TypeError)) throw error;
  const errors = [{ pointer: '/holder', message: 'must be the holder of a lease' }];
  throw new Problem('invalid-body', undefined, { errors }, { cause: error });
}
