/** What the mutexes of one client send. Calls of the same tick for the same lock travel in one script call. */
import type { RedisClient } from '@mortise/redis';
import { Coalescer } from '@mortise/redis';
import type { MutexKeys } from './keys.js';
import { mutexAcquire, mutexInspect, mutexRecheck, mutexRelease, mutexRenew } from './scripts.gen.js';

/** `wait` queues, `try` does not. `barge` and `grab` do the same, but take a free lock past those who queue. */
export type AcquireMode = 'wait' | 'try' | 'barge' | 'grab';

export interface AcquireRequest {
  readonly keys: MutexKeys;
  readonly member: string;
  readonly leaseMs: number;
  readonly mode: AcquireMode;
}

/** A moment that both clocks know: the server's clock showed `serverUs` at `sentAt` or later. */
export interface Moment {
  /** On the clock of `performance.now()`. */
  readonly sentAt: number;
  readonly serverUs: number;
}

export interface AcquireReply extends Moment {
  readonly outcome: 'held' | 'queued' | 'refused';
  /** The fencing token of a holder, the place of a waiter. */
  readonly value: number;
  /** What is left of the holder's lease, if the outcome is not `held`; negative: the lock is free. */
  readonly remainingMs: number;
}

export interface RecheckReply extends Moment {
  readonly remainingMs: number;
  /** How many waiters had to be put back into the queue. */
  readonly missing: number;
  /** The number, from 1, of the waiter that holds the lock; 0 if none does. */
  readonly granted: number;
  readonly fencingToken: number;
}

export interface RenewReply {
  readonly isHeld: boolean;
  readonly sentAt: number;
}

export interface InspectReply {
  readonly holder: string | null;
  readonly fencingToken: number;
  readonly remainingMs: number;
  readonly queueLength: number;
}

interface ReleaseRequest {
  readonly keys: MutexKeys;
  readonly member: string;
  readonly isFair: boolean;
}

interface RenewRequest {
  readonly keys: MutexKeys;
  readonly member: string;
  readonly leaseMs: number;
}

/** Whoever holds the lock, where a member is asked for. No member has this form. */
export const ANY_HOLDER = '*';

/** The most requests, leavers, waiters or leases in one script call: about 0.2 ms of the server's time. */
export const MAX_BATCH = 100;

const OUTCOMES = ['refused', 'held', 'queued'] as const;

export class MutexCommands {
  readonly #redis: RedisClient;
  readonly #publish: string;
  readonly #acquires = new Coalescer<string, AcquireRequest, AcquireReply>(
    (_, requests) => this.#sendAcquires(requests),
    { maxBatch: MAX_BATCH },
  );
  readonly #releases = new Coalescer<string, ReleaseRequest, boolean>(
    (_, requests) => this.#sendReleases(requests),
    { maxBatch: MAX_BATCH },
  );
  readonly #renewals = new Coalescer<number, RenewRequest, RenewReply>(
    (_, requests) => this.#sendRenewals(requests),
    { maxBatch: MAX_BATCH },
  );

  constructor(redis: RedisClient, publish: string) {
    this.#redis = redis;
    this.#publish = publish;
  }

  /** Takes the lock, or joins its queue. Safe to repeat with the same member. */
  acquire(request: AcquireRequest): Promise<AcquireReply> {
    return this.#acquires.submit(request.keys.lease, request);
  }

  /** Hands the lock on, or leaves its queue. Resolves to whether the member held the lock. Safe to repeat. */
  release(keys: MutexKeys, member: string, isFair: boolean): Promise<boolean> {
    return this.#releases.submit(keys.lease, { keys, member, isFair });
  }

  /** Lengthens the lease to `leaseMs` from now, if the member holds the lock. Leases of one slot travel together. */
  renew(keys: MutexKeys, member: string, leaseMs: number): Promise<RenewReply> {
    return this.#renewals.submit(keys.slot, { keys, member, leaseMs });
  }

  /** Repairs the queue of a lock; see `mutex.recheck.lua`. At most MAX_BATCH waiters. */
  async recheck(
    keys: MutexKeys,
    waiters: readonly { readonly place: number; readonly member: string }[],
  ): Promise<RecheckReply> {
    const sentAt = performance.now();
    const reply = await mutexRecheck.run(this.#redis, keys, {
      publish: this.#publish,
      waiters: waiters.flatMap(({ place, member }) => [place, member]),
    });
    const [serverUs, remainingMs, missing, granted, fencingToken] = reply as [
      number,
      number,
      number,
      number,
      number,
    ];
    return { sentAt, serverUs, remainingMs, missing, granted, fencingToken };
  }

  /** Takes members out of the queue and nothing else: those that hold the lock go on holding it. */
  async forget(keys: MutexKeys, members: readonly string[]): Promise<void> {
    await this.#redis.call('zrem', [keys.queue, ...members]);
  }

  async inspect(keys: MutexKeys): Promise<InspectReply> {
    const reply = await mutexInspect.run(this.#redis, keys, {});
    const [holder, fencingToken, remainingMs, queueLength] = reply as [string | null, number, number, number];
    return { holder, fencingToken, remainingMs, queueLength };
  }

  async #sendAcquires(requests: readonly AcquireRequest[]): Promise<AcquireReply[]> {
    const sentAt = performance.now();
    const reply = (await mutexAcquire.run(this.#redis, requests[0]!.keys, {
      requests: requests.flatMap(({ member, leaseMs, mode }) => [member, leaseMs, mode]),
    })) as number[];
    const [serverUs = 0, remainingMs = 0] = reply;
    return requests.map((_, index) => ({
      sentAt,
      serverUs,
      remainingMs,
      outcome: OUTCOMES[reply[2 + 2 * index]!]!,
      value: reply[3 + 2 * index]!,
    }));
  }

  async #sendReleases(requests: readonly ReleaseRequest[]): Promise<boolean[]> {
    const { keys } = requests[0]!;
    const reply = (await mutexRelease.run(this.#redis, keys, {
      publish: this.#publish,
      leavers: requests.flatMap(({ member, isFair }) => [member, isFair ? '1' : '0']),
    })) as number[];
    return reply.map((held) => held === 1);
  }

  async #sendRenewals(requests: readonly RenewRequest[]): Promise<RenewReply[]> {
    const sentAt = performance.now();
    const reply = (await mutexRenew.run(
      this.#redis,
      { leases: requests.map(({ keys }) => keys.lease) },
      { terms: requests.flatMap(({ member, leaseMs }) => [member, leaseMs]) },
    )) as number[];
    return reply.map((held) => ({ isHeld: held === 1, sentAt }));
  }
}
