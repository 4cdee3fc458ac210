import type { RedisClient } from '@mortise/redis';
import { callRedis, perClient, WaiterHub } from '@mortise/redis';
import type {
  AcquireReply,
  AcquireRequest,
  Holder,
  QueueEntry,
  RecheckReply,
  ReleaseRequest,
  RenewReply,
  RenewRequest,
} from '../acquire/gate.js';
import { BatchedGate } from '../acquire/batched-gate.js';
import type { For, Locked, LockScripts } from '../acquire/script-batches.js';
import { ScriptBatches } from '../acquire/script-batches.js';
import type { ReadWriteLockKeys } from '../keys.js';
import {
  readWriteLockAcquire,
  readWriteLockDowngrade,
  readWriteLockInspect,
  readWriteLockRecheck,
  readWriteLockRelease,
  readWriteLockRenew,
} from '../scripts.gen.js';

/** Reader or writer: the last part of a member. */
export type Role = 'r' | 'w';

export interface DowngradeReply {
  /** The token of the reader that the writer has become; 0 if the writer did not hold the lock. */
  readonly fencingToken: number;
  readonly sentAt: number;
}

export interface InspectReply {
  readonly writer: string | null;
  readonly fencingToken: number;
  readonly remainingMs: number;
  readonly queueLength: number;
  /** The rank of the given waiter, from 0; null if it does not wait. */
  readonly rank: number | null;
  /** For how long the first waiter has waited; 0 without one. */
  readonly longestWaitMs: number;
  readonly readers: number;
  readonly firstReaders: readonly string[];
}

interface KeyedLock extends Locked {
  readonly keys: ReadWriteLockKeys;
  readonly leaseMs: number;
  readonly grantMore: (more: number) => Promise<void>;
}

const OUTCOMES = ['refused', 'held', 'queued'] as const;

class ReadWriteScripts implements LockScripts<KeyedLock> {
  constructor(
    readonly redis: RedisClient,
    readonly publish: string,
  ) {}

  readonly acquire = async (requests: readonly For<KeyedLock, AcquireRequest>[]): Promise<AcquireReply[]> => {
    const sentAt = performance.now();
    const reply = (await readWriteLockAcquire.run(this.redis, requests[0]!.lock.keys, {
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
  };

  readonly release = async (requests: readonly For<KeyedLock, ReleaseRequest>[]): Promise<boolean[]> => {
    const { keys, leaseMs, grantMore } = requests[0]!.lock;
    const [more, ...held] = (await readWriteLockRelease.run(this.redis, keys, {
      publish: this.publish,
      quarantineMs: leaseMs,
      releases: requests.flatMap(({ member, fencingToken }) => [member, fencingToken]),
    })) as number[];
    await grantMore(more!);
    return held.map((answer) => answer === 1);
  };

  readonly renew = async (requests: readonly For<KeyedLock, RenewRequest>[]): Promise<RenewReply[]> => {
    const sentAt = performance.now();
    const reply = (await readWriteLockRenew.run(
      this.redis,
      { locks: requests.flatMap(({ lock: { keys } }) => [keys.write, keys.readers, keys.token]) },
      { renewals: requests.flatMap(({ member, leaseMs, fencingToken }) => [member, leaseMs, fencingToken]) },
    )) as number[];
    return reply.map((held) => ({ isHeld: held === 1, sentAt }));
  };
}

const batchesOf = /* @__PURE__ */ perClient(
  (redis) =>
    new ScriptBatches(redis, new ReadWriteScripts(redis, WaiterHub.of(redis).publishCommand), {
      acquire: 'lock',
      release: 'lock',
      renew: 'slot',
    }),
);

/** One lock that readers share, or a writer holds alone. */
export class ReadWriteGate extends BatchedGate<KeyedLock> {
  /** @param leaseMs How long readers may still rely on the lock after Redis has forgotten them. */
  constructor(redis: RedisClient, keys: ReadWriteLockKeys, leaseMs: number) {
    const grantMore = (more: number): Promise<void> => this.grantMore(more);
    super(redis, { id: keys.write, slot: keys.slot, keys, leaseMs, grantMore }, batchesOf(redis));
  }

  /** Takes the lock away from the present holders of a side, and from no later ones, however often the client sends it. */
  async forceRelease(role: Role): Promise<boolean> {
    const { write, readers } = this.lock.keys;
    const found =
      role === 'w'
        ? callRedis(this.redis, 'get', [write])
        : callRedis(this.redis, 'zrange', [readers, '0', '-1']);
    const members = [(await found) as string | null | string[]].flat().filter((member) => member !== null);
    const released = members.map((member) => this.release({ member, fencingToken: 0 }));
    return (await Promise.all(released)).includes(true);
  }

  async recheck(waiters: readonly QueueEntry[], quarantineMs: number): Promise<RecheckReply> {
    const { more, ...reply } = await this.#recheck(waiters, quarantineMs);
    await this.grantMore(more);
    return reply;
  }

  /** Turns a writer into a reader. Safe to repeat. */
  async downgrade(writer: Holder, reader: string, leaseMs: number): Promise<DowngradeReply> {
    const sentAt = performance.now();
    const reply = await readWriteLockDowngrade.run(this.redis, this.lock.keys, {
      publish: this.publish,
      member: writer.member,
      reader,
      leaseMs,
      fencingToken: writer.fencingToken,
    });
    const [fencingToken, more] = reply as [number, number];
    await this.grantMore(more);
    return { fencingToken, sentAt };
  }

  /** Grants the lock to further waiters, since a script call grants it to a limited number. */
  async grantMore(more: number): Promise<void> {
    try {
      for (let left = more; left > 0;) left = (await this.#recheck([], 0)).more;
    } catch {
      // The caller's own request was executed. The waiters' re-checks continue.
    }
  }

  /** @param waiter The member to rank. */
  async inspect(maxReaders: number, waiter = ''): Promise<InspectReply> {
    const reply = await readWriteLockInspect.run(this.redis, this.lock.keys, { waiter, maxReaders });
    const [writer, fencingToken, remainingMs, queueLength, rank, longestWaitMs, readers, ...firstReaders] =
      reply as [string | null, number, number, number, number | null, number, number, ...string[]];
    return { writer, fencingToken, remainingMs, queueLength, rank, longestWaitMs, readers, firstReaders };
  }

  async #recheck(
    waiters: readonly QueueEntry[],
    quarantineMs: number,
  ): Promise<RecheckReply & { readonly more: number }> {
    const sentAt = performance.now();
    const reply = await readWriteLockRecheck.run(this.redis, this.lock.keys, {
      publish: this.publish,
      quarantineMs,
      waiters: waiters.flatMap(({ place, member }) => [place, member]),
    });
    const [serverUs, remainingMs, missing, more, ...granted] = reply as [
      number,
      number,
      number,
      number,
      ...number[],
    ];
    const grants = Array.from({ length: granted.length / 2 }, (_, index) => ({
      index: granted[2 * index]! - 1,
      fencingToken: granted[2 * index + 1]!,
    }));
    return { sentAt, serverUs, remainingMs, missing, more, grants };
  }
}
