/** What the semaphores of one client send. Calls of the same tick for the same semaphore travel in one script call. */
import type { RedisClient } from '@mortise/redis';
import { Coalescer, WaiterHub } from '@mortise/redis';
import { SemaphoreLimitError } from '../errors.js';
import type { SemaphoreKeys } from '../keys.js';
import {
  semaphoreAcquire,
  semaphoreInspect,
  semaphoreRecheck,
  semaphoreRelease,
  semaphoreRenew,
  semaphoreSetPermits,
} from '../scripts.gen.js';
import type {
  AcquireReply,
  AcquireRequest,
  Gate,
  Holder,
  RecheckReply,
  RenewReply,
  Waiting,
} from '../waiting/gate.js';
import { MAX_BATCH } from '../waiting/gate.js';
import { perClient } from '../waiting/per-client.js';

/** One semaphore, as one of its users knows it. */
export interface SemaphoreIdentity {
  readonly name: string;
  readonly keys: SemaphoreKeys;
  readonly limit: number;
  readonly leaseMs: number;
}

export interface PermitHolderReply {
  readonly holder: string;
  readonly remainingMs: number;
}

export interface SemaphoreReply {
  readonly limit: number;
  readonly used: number;
  /** For how long nothing is granted, because what was known of the holders was lost. */
  readonly quarantineMs: number;
  readonly queueLength: number;
  /** Of the member asked for, from 0; null if it does not wait. */
  readonly rank: number | null;
  readonly holders: readonly PermitHolderReply[];
}

type Of<Request> = Request & { readonly semaphore: SemaphoreIdentity };

const OUTCOMES = ['refused', 'held', 'queued'] as const;
/** The outcome of a request by a caller with another limit. */
const OTHER_LIMIT = 3;
/** What `remainingMs` is when a call did all that one call may do, and there is more. */
const HAS_MORE = -1;

/** The open batches of one client. */
class Batches {
  static readonly of = perClient((client) => new Batches(client));
  readonly publish: string;
  readonly acquires = new Coalescer<string, Of<AcquireRequest>, AcquireReply>(
    (_, requests) => this.#sendAcquires(requests),
    { maxBatch: MAX_BATCH },
  );
  readonly releases = new Coalescer<string, Of<Holder>, boolean>(
    (_, requests) => this.#sendReleases(requests),
    { maxBatch: MAX_BATCH },
  );
  readonly renewals = new Coalescer<string, Of<Holder & { readonly termMs: number }>, RenewReply>(
    (_, requests) => this.#sendRenewals(requests),
    { maxBatch: MAX_BATCH },
  );
  readonly #redis: RedisClient;

  private constructor(redis: RedisClient) {
    this.#redis = redis;
    this.publish = WaiterHub.of(redis).publishCommand;
  }

  async #sendAcquires(requests: readonly Of<AcquireRequest>[]): Promise<(AcquireReply | Error)[]> {
    const { keys, limit: callerLimit } = requests[0]!.semaphore;
    const sentAt = performance.now();
    const reply = (await semaphoreAcquire.run(this.#redis, keys, {
      publish: this.publish,
      callerLimit,
      requests: requests.flatMap(({ member, leaseMs, mode, semaphore }) => [
        member,
        leaseMs,
        mode,
        semaphore.limit,
      ]),
    })) as number[];
    const [serverUs = 0, remainingMs = 0] = reply;
    return requests.map(({ semaphore: { name, limit } }, index) => {
      const outcome = reply[2 + 2 * index]!;
      const value = reply[3 + 2 * index]!;
      if (outcome === OTHER_LIMIT) return new SemaphoreLimitError(name, limit, value);
      return { sentAt, serverUs, remainingMs, outcome: OUTCOMES[outcome]!, value };
    });
  }

  async #sendReleases(requests: readonly Of<Holder>[]): Promise<boolean[]> {
    const { semaphore } = requests[0]!;
    const [more, ...replies] = (await semaphoreRelease.run(this.#redis, semaphore.keys, {
      publish: this.publish,
      leavers: requests.flatMap(({ member, fencingToken, semaphore: { leaseMs } }) => [
        member,
        fencingToken,
        leaseMs,
      ]),
    })) as number[];
    if (more === 1) await this.grantOn(semaphore);
    return replies.map((held) => held === 1);
  }

  async #sendRenewals(requests: readonly Of<Holder & { readonly termMs: number }>[]): Promise<RenewReply[]> {
    const { keys } = requests[0]!.semaphore;
    const sentAt = performance.now();
    const reply = (await semaphoreRenew.run(this.#redis, keys, {
      holders: requests.flatMap(({ member, termMs, fencingToken }) => [member, termMs, fencingToken]),
    })) as number[];
    return reply.map((held) => ({ isHeld: held === 1, sentAt }));
  }

  /** Grants what a call left over. What has been done stays done when this fails: the re-checks of others go on. */
  async grantOn(semaphore: SemaphoreIdentity): Promise<void> {
    try {
      while ((await this.recheck(semaphore, [], 0))[1] === HAS_MORE);
    } catch {
      // See above.
    }
  }

  async recheck(
    { keys, limit }: SemaphoreIdentity,
    waiters: readonly Waiting[],
    quarantineMs: number,
  ): Promise<number[]> {
    return (await semaphoreRecheck.run(this.#redis, keys, {
      publish: this.publish,
      callerLimit: limit,
      quarantineMs,
      waiters: waiters.flatMap(({ place, member }) => [place, member]),
    })) as number[];
  }
}

/** A semaphore with one limit: after `setPermits` its user has another gate, which leads to the same queue. */
export class SemaphoreGate implements Gate {
  readonly id: string;
  readonly channels: string;
  readonly #redis: RedisClient;
  readonly #semaphore: SemaphoreIdentity;
  readonly #batches: Batches;

  constructor(redis: RedisClient, semaphore: SemaphoreIdentity) {
    this.id = semaphore.keys.permits;
    this.channels = semaphore.keys.channels;
    this.#redis = redis;
    this.#semaphore = semaphore;
    this.#batches = Batches.of(redis);
  }

  get limit(): number {
    return this.#semaphore.limit;
  }

  acquire(request: AcquireRequest): Promise<AcquireReply> {
    return this.#batches.acquires.submit(this.id, { semaphore: this.#semaphore, ...request });
  }

  release({ member, fencingToken }: Holder): Promise<boolean> {
    return this.#batches.releases.submit(this.id, { semaphore: this.#semaphore, member, fencingToken });
  }

  renew({ member, fencingToken }: Holder, termMs: number): Promise<RenewReply> {
    const semaphore = this.#semaphore;
    return this.#batches.renewals.submit(this.id, { semaphore, member, fencingToken, termMs });
  }

  async recheck(waiters: readonly Waiting[], quarantineMs: number): Promise<RecheckReply> {
    const sentAt = performance.now();
    const reply = await this.#batches.recheck(this.#semaphore, waiters, quarantineMs);
    const [serverUs = 0, remainingMs = 0, limit = 0, missing = 0, ...ended] = reply;
    if (remainingMs === HAS_MORE) await this.#batches.grantOn(this.#semaphore);
    const grants: { index: number; fencingToken: number }[] = [];
    const refusals: { index: number; detail: string }[] = [];
    for (let at = 0; at < ended.length; at += 2) {
      const index = ended[at]! - 1;
      const fencingToken = ended[at + 1]!;
      if (fencingToken > 0) grants.push({ index, fencingToken });
      else refusals.push({ index, detail: String(limit) });
    }
    return { sentAt, serverUs, remainingMs, missing, grants, refusals };
  }

  async forget(members: readonly string[]): Promise<void> {
    await this.#redis.call('zrem', [this.#semaphore.keys.queue, ...members]);
  }

  refusal(detail: string): Error {
    return new SemaphoreLimitError(this.#semaphore.name, this.limit, Number(detail));
  }

  /** Makes this gate's limit that of the semaphore. */
  async setLimit(): Promise<void> {
    const { publish } = this.#batches;
    const { keys, limit: callerLimit } = this.#semaphore;
    const more = await semaphoreSetPermits.run(this.#redis, keys, { publish, callerLimit });
    if (more === 1) await this.#batches.grantOn(this.#semaphore);
  }

  /** @param waiter A member whose rank is wanted. */
  async inspect(maxHolders: number, waiter = ''): Promise<SemaphoreReply> {
    const { keys, limit: callerLimit } = this.#semaphore;
    const reply = await semaphoreInspect.run(this.#redis, keys, { callerLimit, maxHolders, waiter });
    const [limit, used, quarantineMs, queueLength, rank, ...rest] = reply as [
      number,
      number,
      number,
      number,
      number | null,
      ...(string | number)[],
    ];
    const holders: PermitHolderReply[] = [];
    for (let at = 0; at < rest.length; at += 2) {
      holders.push({ holder: rest[at] as string, remainingMs: rest[at + 1] as number });
    }
    return { limit, used, quarantineMs, queueLength, rank, holders };
  }
}
