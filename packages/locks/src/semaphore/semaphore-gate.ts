import type { RedisClient } from '@mortise/redis';
import { perClient, WaiterHub } from '@mortise/redis';
import type {
  AcquireReply,
  AcquireRequest,
  QueueEntry,
  RecheckReply,
  ReleaseRequest,
  RenewReply,
  RenewRequest,
} from '../acquire/gate.js';
import { BatchedGate } from '../acquire/batched-gate.js';
import type { For, LockScripts } from '../acquire/script-batches.js';
import { ScriptBatches } from '../acquire/script-batches.js';
import { LockSettingsError } from '../errors.js';
import type { SemaphoreKeys } from '../keys.js';
import {
  semaphoreAcquire,
  semaphoreInspect,
  semaphoreRecheck,
  semaphoreRelease,
  semaphoreRenew,
  semaphoreSetPermits,
} from '../scripts.gen.js';

/** A semaphore with the limit of one of its users. */
export interface SemaphoreIdentity {
  readonly name: string;
  readonly keys: SemaphoreKeys;
  readonly limit: number;
  readonly leaseMs: number;
}

interface PermitHolderReply {
  readonly holder: string;
  readonly remainingMs: number;
}

export interface SemaphoreReply {
  readonly limit: number;
  readonly used: number;
  /** How long nothing is granted, because the state with the holders was lost. */
  readonly quarantineMs: number;
  readonly queueLength: number;
  /** The rank of the given waiter, from 0; null if it does not wait. */
  readonly rank: number | null;
  /** For how long the first waiter has waited; 0 without one. */
  readonly longestWaitMs: number;
  readonly holders: readonly PermitHolderReply[];
}

interface KeyedSemaphore extends SemaphoreIdentity {
  readonly id: string;
  readonly slot: number;
}

const OUTCOMES = ['refused', 'held', 'queued'] as const;
/** The outcome for a caller with another limit. */
const OTHER_LIMIT = 3;
/** The value of `remainingMs` if a call has reached its limit of work and there is more. */
const HAS_MORE = -1;

class SemaphoreScripts implements LockScripts<KeyedSemaphore> {
  constructor(
    readonly redis: RedisClient,
    readonly publish: string,
  ) {}

  readonly acquire = async (
    requests: readonly For<KeyedSemaphore, AcquireRequest>[],
  ): Promise<(AcquireReply | Error)[]> => {
    const { keys, limit: callerLimit } = requests[0]!.lock;
    const sentAt = performance.now();
    const reply = (await semaphoreAcquire.run(this.redis, keys, {
      publish: this.publish,
      callerLimit,
      requests: requests.flatMap(({ member, leaseMs, mode, lock }) => [member, leaseMs, mode, lock.limit]),
    })) as number[];
    const [serverUs = 0, remainingMs = 0] = reply;
    return requests.map(({ lock: { name, limit } }, index) => {
      const outcome = reply[2 + 2 * index]!;
      const value = reply[3 + 2 * index]!;
      if (outcome === OTHER_LIMIT) return new LockSettingsError('limit', name, limit, value);
      return { sentAt, serverUs, remainingMs, outcome: OUTCOMES[outcome]!, value };
    });
  };

  readonly release = async (requests: readonly For<KeyedSemaphore, ReleaseRequest>[]): Promise<boolean[]> => {
    const { lock } = requests[0]!;
    const [more, ...replies] = (await semaphoreRelease.run(this.redis, lock.keys, {
      publish: this.publish,
      releases: requests.flatMap(({ member, fencingToken, isForced, lock: { leaseMs } }) => [
        member,
        isForced ? '*' : fencingToken,
        leaseMs,
      ]),
    })) as number[];
    if (more === 1) await this.grantMore(lock);
    return replies.map((held) => held === 1);
  };

  readonly renew = async (requests: readonly For<KeyedSemaphore, RenewRequest>[]): Promise<RenewReply[]> => {
    const sentAt = performance.now();
    const reply = (await semaphoreRenew.run(this.redis, requests[0]!.lock.keys, {
      renewals: requests.flatMap(({ member, leaseMs, fencingToken }) => [member, leaseMs, fencingToken]),
    })) as number[];
    return reply.map((held) => ({ isHeld: held === 1, sentAt }));
  };

  async recheck(
    { keys, limit }: SemaphoreIdentity,
    waiters: readonly QueueEntry[],
    quarantineMs: number,
  ): Promise<number[]> {
    return (await semaphoreRecheck.run(this.redis, keys, {
      publish: this.publish,
      callerLimit: limit,
      quarantineMs,
      waiters: waiters.flatMap(({ place, member }) => [place, member]),
    })) as number[];
  }

  /** Grants further permits, since a script call grants a limited number. */
  async grantMore(semaphore: SemaphoreIdentity): Promise<void> {
    try {
      while ((await this.recheck(semaphore, [], 0))[1] === HAS_MORE);
    } catch {
      // The caller's own request was executed. The waiters' re-checks continue.
    }
  }
}

const scriptsOf = /* @__PURE__ */ perClient(
  (redis) => new SemaphoreScripts(redis, WaiterHub.of(redis).publishCommand),
);
const batchesOf = /* @__PURE__ */ perClient(
  (redis) => new ScriptBatches(redis, scriptsOf(redis), { acquire: 'lock', release: 'lock', renew: 'lock' }),
);

/** A semaphore with one limit. After `setPermits` its user has another gate with the same queue. */
export class SemaphoreGate extends BatchedGate<KeyedSemaphore> {
  readonly #scripts: SemaphoreScripts;

  constructor(redis: RedisClient, semaphore: SemaphoreIdentity) {
    const { permits, slot } = semaphore.keys;
    super(redis, { ...semaphore, id: permits, slot }, batchesOf(redis));
    this.#scripts = scriptsOf(redis);
  }

  get limit(): number {
    return this.lock.limit;
  }

  async recheck(waiters: readonly QueueEntry[], quarantineMs: number): Promise<RecheckReply> {
    const sentAt = performance.now();
    const reply = await this.#scripts.recheck(this.lock, waiters, quarantineMs);
    const [serverUs = 0, remainingMs = 0, limit = 0, missing = 0, ...ended] = reply;
    if (remainingMs === HAS_MORE) await this.#scripts.grantMore(this.lock);
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

  refusal(detail: string): Error {
    return new LockSettingsError('limit', this.lock.name, this.limit, Number(detail));
  }

  /** Sets the semaphore's limit to this gate's. */
  async setLimit(): Promise<void> {
    const { keys, limit: callerLimit } = this.lock;
    const more = await semaphoreSetPermits.run(this.redis, keys, { publish: this.publish, callerLimit });
    if (more === 1) await this.#scripts.grantMore(this.lock);
  }

  /** @param waiter The member to rank. */
  async inspect(maxHolders: number, waiter = ''): Promise<SemaphoreReply> {
    const { keys, limit: callerLimit } = this.lock;
    const reply = await semaphoreInspect.run(this.redis, keys, { callerLimit, maxHolders, waiter });
    const [limit, used, quarantineMs, queueLength, rank, longestWaitMs, ...rest] = reply as [
      number,
      number,
      number,
      number,
      number | null,
      number,
      ...(string | number)[],
    ];
    const holders: PermitHolderReply[] = [];
    for (let at = 0; at < rest.length; at += 2) {
      holders.push({ holder: rest[at] as string, remainingMs: rest[at + 1] as number });
    }
    return { limit, used, quarantineMs, queueLength, rank, longestWaitMs, holders };
  }
}
