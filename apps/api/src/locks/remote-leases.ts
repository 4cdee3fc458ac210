/**
 * Leases for programs that talk HTTP. The API keeps nothing of a lease: its holder, a string, is all that renews and
 * releases it, at any API process, also after a restart. Nothing renews it meanwhile; a client that dies loses it
 * at its end.
 *
 * An answer may be lost after the lock was granted. A client that is seen to have gone gets no lock; one that
 * comes again with the same Idempotency-Key gets the lease that it has, as long as it lasts; every other lease that
 * nobody knows of ends by itself.
 */
import { Inject, Injectable } from '@nestjs/common';
import type { AcquireOptions, Lease } from '@mortise/locks';
import { LeaseLostError, LockTimeoutError } from '@mortise/locks';
import { KeySpace } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import type { z } from 'zod';

import type { Config } from '../config.js';
import { RequestReusedError } from '../market/index.js';
import type { ProblemFields } from '../problems/problem.js';
import { Problem } from '../problems/problem.js';
import { isRedisUnavailable } from '../redis/is-redis-unavailable.js';
import { CONFIG, REDIS } from '../tokens.js';
import type { renewBody } from './schemas.js';

/** A lock, or a semaphore of which a number of permits is wanted. */
export interface Lendable {
  readonly kind: 'lock' | 'semaphore';
  readonly name: string;
  acquire(options: AcquireOptions): Promise<Lease>;
  tryAcquire(): Promise<Lease | null>;
  renewFor(holder: string, leaseMs: number, fencingToken: number): Promise<boolean>;
  releaseFor(holder: string): Promise<boolean>;
  /** What a client that did not get it may want to know. One round trip. */
  obstacle(): Promise<ProblemFields>;
}

export interface AcquireRequest {
  readonly leaseMs: number;
  /** 0: only if it is free. */
  readonly waitMs: number;
  /** What makes a request the same when its key comes again, besides its name and `leaseMs`. */
  readonly terms: string;
  readonly requestKey: string | undefined;
  /** Aborted when nobody waits for the answer. */
  readonly signal: AbortSignal;
}

export interface RemoteLease {
  readonly name: string;
  readonly holder: string;
  readonly fencingToken: number;
  readonly expiresInMs: number;
}

/** Who waited begins with a claim of a second, which this process has to confirm: before the client hears of it. */
const WHOLE = 0.9;
/** The least that a lease can be renewed by, which changes no other: to see whether it is there. */
const MIN_LEASE_MS = 10;

@Injectable()
export class RemoteLeases {
  readonly #redis: RedisClient;
  readonly #keys: KeySpace;

  constructor(@Inject(REDIS) redis: RedisClient, @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config) {
    this.#redis = redis;
    this.#keys = new KeySpace('api', prefix);
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
    const lease = await wait(lendable, request);
    try {
      if (lease.expiresAt - performance.now() < leaseMs * WHOLE) await lease.renew();
      await this.#remember(lendable, request, lease);
      signal.throwIfAborted();
    } catch (error) {
      await lease[Symbol.asyncDispose]();
      throw error instanceof LeaseLostError ? lost(lendable, lease.holder) : error;
    }
    const { holder, fencingToken, expiresAt } = lease;
    const expiresInMs = until(expiresAt);
    return { lease: { name: lendable.name, holder, fencingToken, expiresInMs }, isRepeated: false };
  }

  /** Gives how long the lease lasts at least. Throws the problem `lease-lost`. One round trip; safe to repeat. */
  async renew(lendable: Lendable, renewal: z.infer<typeof renewBody>): Promise<number> {
    const { holder, leaseMs, fencingToken } = renewal;
    const endsAt = performance.now() + leaseMs;
    const isHeld = await lendable.renewFor(holder, leaseMs, fencingToken).catch(refuseHolder);
    if (!isHeld) throw lost(lendable, holder);
    return until(endsAt);
  }

  /** Throws the problem `lease-lost`: also for one that was released before. One round trip. */
  async release(lendable: Lendable, holder: string): Promise<void> {
    const isHeld = await lendable.releaseFor(holder).catch(refuseHolder);
    if (!isHeld) throw lost(lendable, holder);
  }

  /** The lease that the request key led to, if it lasts. It begins anew, because its client does. */
  async #earlier(lendable: Lendable, request: AcquireRequest): Promise<RemoteLease | null> {
    const { leaseMs, terms, requestKey } = request;
    if (requestKey === undefined) return null;
    const key = this.#keyOf(lendable, requestKey);
    const record = (await this.#redis.call('get', [key])) as string | null;
    if (record === null) return null;
    const [holder = '', token, itsLeaseMs, itsTerms] = record.split(' ');
    const isSame = Number(itsLeaseMs) === leaseMs && itsTerms === terms;
    const endsAt = performance.now() + leaseMs;
    if (!(await lendable.renewFor(holder, isSame ? leaseMs : MIN_LEASE_MS, Number(token)))) return null;
    if (!isSame) throw new RequestReusedError(requestKey);
    await this.#redis.call('pexpire', [key, leaseMs]);
    return { name: lendable.name, holder, fencingToken: Number(token), expiresInMs: until(endsAt) };
  }

  async #remember(lendable: Lendable, request: AcquireRequest, lease: Lease): Promise<void> {
    const { leaseMs, terms, requestKey } = request;
    if (requestKey === undefined) return;
    const record = `${lease.holder} ${lease.fencingToken} ${leaseMs} ${terms}`;
    await this.#redis.call('set', [this.#keyOf(lendable, requestKey), record, 'PX', leaseMs]);
  }

  /** `<prefix>:api:{<kind>:<name>}:request:<key>`: STRING `holder fencingToken leaseMs terms`, for `leaseMs`. */
  #keyOf({ kind, name }: Lendable, requestKey: string): string {
    return this.#keys.entity(`${kind}:${name}`).key('request', requestKey);
  }
}

async function wait(lendable: Lendable, { waitMs, signal }: AcquireRequest): Promise<Lease> {
  const lease =
    waitMs === 0 ? await lendable.tryAcquire() : await acquireWithin(lendable, { waitMs, signal });
  if (lease) return lease;
  // Asked once more, so that the answer says why, and so that a silent Redis is not taken for a lock that is held.
  const obstacle = await lendable.obstacle();
  const detail = `${lendable.kind} "${lendable.name}" was not acquired within ${waitMs} ms`;
  throw new Problem('lock-timeout', detail, { ...nameOf(lendable), waitMs, ...obstacle });
}

async function acquireWithin(lendable: Lendable, options: AcquireOptions): Promise<Lease | null> {
  try {
    return await lendable.acquire(options);
  } catch (error) {
    if (error instanceof LockTimeoutError && !isRedisUnavailable(error.cause)) return null;
    throw error;
  }
}

function until(endsAt: number): number {
  return Math.max(0, Math.floor(endsAt - performance.now()));
}

function lost(lendable: Lendable, holder: string): Problem {
  const detail = `${lendable.kind} "${lendable.name}" is not held by this holder`;
  return new Problem('lease-lost', detail, { ...nameOf(lendable), holder });
}

function nameOf({ kind, name }: Lendable): ProblemFields {
  return { [`${kind}Name`]: name };
}

/** What the package says of a text that no lease has as its holder. */
function refuseHolder(error: unknown): never {
  if (!(error instanceof TypeError)) throw error;
  const errors = [{ pointer: '/holder', message: 'must be the holder of a lease' }];
  throw new Problem('invalid-body', undefined, { errors }, { cause: error });
}
