/**
 * The requests of all MultiLocks of one client. One script call takes the locks that may share one, up to the first lock
 * that is not free. Renewals and releases are those of the single locks, which share calls anyway.
 */
import type { RedisClient } from '@mortise/redis';
import { Coalescer, perClient } from '@mortise/redis';
import type { AcquireMode, Moment, RenewReply } from '../acquire/gate.js';
import { MAX_BATCH } from '../acquire/gate.js';
import { isOfOneKey, sendEach, SlotGroups } from '../acquire/slot-groups.js';
import { MutexKeys } from '../keys.js';
import { MutexGate } from '../mutex/mutex-gate.js';
import { multiLockAcquire } from '../scripts.gen.js';

/** One of the locks of a MultiLock. A Mutex of this name is the same lock. */
export interface NamedLock {
  readonly name: string;
  readonly keys: MutexKeys;
  readonly gate: MutexGate;
}

/** A holder of many locks. */
export interface MultiHolder {
  readonly member: string;
  /** One for each lock. Undefined for a lease without tokens, and for one that has ended locally. */
  readonly tokens: readonly number[] | undefined;
}

export interface TakeRequest {
  /** Locks of one group, in their order. */
  readonly locks: readonly NamedLock[];
  readonly member: string;
  readonly leaseMs: number;
  readonly mode: AcquireMode;
  readonly isFenced: boolean;
  /** Number of locks, from the first, that the member already holds. */
  readonly held: number;
}

export interface TakeReply extends Moment {
  /** `lost`: the member has lost a lock that it should hold; nothing was done. */
  readonly outcome: 'held' | 'queued' | 'refused' | 'lost';
  /** Number of locks, from the first, that are free or held by the member. */
  readonly taken: number;
  /** The place in the queue of the next lock. */
  readonly place: number;
  /** When the lease of the next lock ends; negative if it is free. */
  readonly remainingMs: number;
  /** The tokens of all locks that the member holds. */
  readonly tokens: readonly number[];
}

const OUTCOMES = ['refused', 'held', 'queued', 'lost'] as const;

/**
 * The locks in the order in which every MultiLock takes them, which prevents deadlocks: by slot, then by name. So a caller
 * who takes one slot after another agrees with a caller who takes all at once. A repeated name counts once.
 */
export function locksOf(
  redis: RedisClient,
  names: readonly string[],
  prefix: string | undefined,
): NamedLock[] {
  const locks = Array.from(new Set(names), (name) => {
    const keys = new MutexKeys(name, prefix);
    return { name, keys, gate: new MutexGate(redis, keys) };
  });
  return locks.toSorted((a, b) => a.keys.slot - b.keys.slot || (a.keys.lease < b.keys.lease ? -1 : 1));
}

/** The batches of one client. */
class Takes {
  static readonly of = /* @__PURE__ */ perClient((client) => new Takes(client));
  readonly #redis: RedisClient;
  readonly #coalescer = new Coalescer<number, TakeRequest, TakeReply>((_, requests) => this.#send(requests), {
    maxBatch: MAX_BATCH,
    maxBytes: MAX_BATCH,
    bytesOf: ({ locks }) => locks.length,
  });

  private constructor(redis: RedisClient) {
    this.#redis = redis;
  }

  submit(group: number, request: TakeRequest): Promise<TakeReply> {
    return this.#coalescer.submit(group, request);
  }

  /** If one key has a foreign type, each request gets its own call, so only the requests for that key fail. */
  async #send(requests: readonly TakeRequest[]): Promise<readonly (TakeReply | Error)[]> {
    try {
      return await this.#sendTogether(requests);
    } catch (error) {
      if (!isOfOneKey(error) || requests.length === 1) throw error;
      return await sendEach(
        requests,
        (request) => request,
        (alone) => this.#sendTogether(alone),
      );
    }
  }

  async #sendTogether(requests: readonly TakeRequest[]): Promise<TakeReply[]> {
    const sentAt = performance.now();
    const [now, ...replies] = (await multiLockAcquire.run(
      this.#redis,
      {
        locks: requests.flatMap(({ locks }) =>
          locks.flatMap(({ keys: { lease, token, queue } }) => [lease, token, queue]),
        ),
      },
      {
        requests: requests.flatMap(({ member, leaseMs, mode, isFenced, locks, held }) => [
          member,
          leaseMs,
          mode,
          isFenced ? '1' : '0',
          locks.length,
          held,
        ]),
      },
    )) as [string, ...(string | number)[][]];
    const serverUs = Number(now);
    return replies.map((reply) => {
      const [code, taken, place, remainingMs, ...tokens] = reply.map(Number) as [
        number,
        number,
        number,
        number,
        ...number[],
      ];
      return { sentAt, serverUs, outcome: OUTCOMES[code]!, taken, place, remainingMs, tokens };
    });
  }
}

/** The locks of one MultiLock, in their order. */
export class MultiGate {
  readonly locks: readonly NamedLock[];
  readonly #groups: SlotGroups;
  readonly #takes: Takes;

  constructor(redis: RedisClient, locks: readonly NamedLock[]) {
    this.locks = locks;
    this.#groups = SlotGroups.of(redis);
    this.#takes = Takes.of(redis);
  }

  /** The locks from `start` on that one call can take. */
  groupAt(start: number): readonly NamedLock[] {
    const groupOf = ({ keys }: NamedLock): number => this.#groups.groupOf(keys.slot);
    const group = groupOf(this.locks[start]!);
    let end = start + 1;
    while (end < this.locks.length && groupOf(this.locks[end]!) === group) end += 1;
    return this.locks.slice(start, end);
  }

  /**
   * Takes the locks of a group. Resolves to undefined if the group is too large for this server: then get its group again.
   */
  async take(request: TakeRequest): Promise<TakeReply | undefined> {
    try {
      return await this.#takes.submit(this.#groups.groupOf(request.locks[0]!.keys.slot), request);
    } catch (error) {
      // The server did nothing. The call may also have failed because of other requests in it.
      if (this.#groups.learn(error)) return undefined;
      throw error;
    }
  }

  /** Releases the first `count` locks in reverse order, or leaves their queues. Resolves to whether all were held. */
  async release(holder: MultiHolder, isFair: boolean, count = this.locks.length): Promise<boolean> {
    const { member, tokens } = holder;
    const releases: Promise<boolean>[] = [];
    for (let index = count - 1; index >= 0; index -= 1) {
      const fencingToken = tokens?.[index] ?? 0;
      releases.push(this.locks[index]!.gate.release({ member, fencingToken }, isFair));
    }
    return (await Promise.all(releases)).every(Boolean);
  }

  /** Extends the leases of the first `count` locks. */
  async renew(holder: MultiHolder, leaseMs: number, count = this.locks.length): Promise<RenewReply> {
    const { member, tokens } = holder;
    const renewals = this.locks.slice(0, count).map(({ gate }, index) => {
      return gate.renew({ member, fencingToken: tokens?.[index] ?? 0 }, leaseMs);
    });
    const replies = await Promise.all(renewals);
    return {
      isHeld: replies.every(({ isHeld }) => isHeld),
      sentAt: Math.min(...replies.map(({ sentAt }) => sentAt)),
    };
  }
}
