/**
 * What the multi-locks of one client send. Locks that may travel together are taken by one script call, which takes none
 * of them past one that is not free; renewals and releases are those of the single locks, which travel together anyway.
 */
import type { RedisClient } from '@mortise/redis';
import { Coalescer } from '@mortise/redis';
import { MutexKeys } from '../keys.js';
import { MutexGate } from '../mutex/mutex-gate.js';
import { multiLockAcquire } from '../scripts.gen.js';
import type { AcquireMode, Moment, RenewReply } from '../waiting/gate.js';
import { MAX_BATCH } from '../waiting/gate.js';
import { Grouping, isOfOneKey, sendEach } from '../waiting/grouping.js';
import { perClient } from '../waiting/per-client.js';

/** One of the locks of a multi-lock: the same that a Mutex of this name is. */
export interface Part {
  readonly name: string;
  readonly keys: MutexKeys;
  readonly slot: number;
  readonly gate: MutexGate;
}

/** One holder of many locks. */
export interface PartsHolder {
  readonly member: string;
  /** One for each lock; none for a lease that is over in its holder's eyes, or that is not fenced. */
  readonly tokens: readonly number[] | undefined;
}

export interface TakeRequest {
  /** Of one group, in their order. */
  readonly parts: readonly Part[];
  readonly member: string;
  readonly leaseMs: number;
  readonly mode: AcquireMode;
  readonly isFenced: boolean;
  /** How many of the first ones the member has already. */
  readonly held: number;
}

export interface TakeReply extends Moment {
  /** `lost`: a lock that the member should have is gone, and nothing was done. */
  readonly outcome: 'held' | 'queued' | 'refused' | 'lost';
  /** How many of the first ones are free, or the member's. */
  readonly taken: number;
  /** The place of a waiter in the queue of the next one. */
  readonly place: number;
  /** When the next one may be given up by its holder at the latest; negative: it is free. */
  readonly remainingMs: number;
  /** Of all that the member has. */
  readonly tokens: readonly number[];
}

const OUTCOMES = ['refused', 'held', 'queued', 'lost'] as const;

/**
 * The parts in the order in which everybody takes them, so that nobody waits in a circle. Slots come first: whoever has to
 * take one slot after the other agrees with who can take all at once. Twice the same name is one part.
 */
export function partsOf(redis: RedisClient, names: readonly string[], prefix: string | undefined): Part[] {
  const parts = Array.from(new Set(names), (name) => {
    const keys = new MutexKeys(name, prefix);
    return { name, keys, slot: keys.slot, gate: new MutexGate(redis, keys) };
  });
  return parts.toSorted((a, b) => a.slot - b.slot || (a.keys.lease < b.keys.lease ? -1 : 1));
}

/** The open batches of one client. */
class Takes {
  static readonly of = perClient((client) => new Takes(client));
  readonly #redis: RedisClient;
  readonly #coalescer = new Coalescer<number, TakeRequest, TakeReply>((_, requests) => this.#send(requests), {
    maxBatch: MAX_BATCH,
    maxBytes: MAX_BATCH,
    bytesOf: ({ parts }) => parts.length,
  });

  private constructor(redis: RedisClient) {
    this.#redis = redis;
  }

  submit(group: number, request: TakeRequest): Promise<TakeReply> {
    return this.#coalescer.submit(group, request);
  }

  /** When one key is of a foreign type, each request is sent again by itself, so that only those fail that have to. */
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
        locks: requests.flatMap(({ parts }) =>
          parts.flatMap(({ keys: { lease, token, queue } }) => [lease, token, queue]),
        ),
      },
      {
        requests: requests.flatMap(({ member, leaseMs, mode, isFenced, parts, held }) => [
          member,
          leaseMs,
          mode,
          isFenced ? '1' : '0',
          parts.length,
          held,
        ]),
      },
    )) as [string, ...(string | number)[][]];
    return replies.map((reply) => {
      const [outcome, taken, place, remainingMs, ...tokens] = reply.map(Number) as [
        number,
        number,
        number,
        number,
      ];
      return {
        sentAt,
        serverUs: Number(now),
        outcome: OUTCOMES[outcome]!,
        taken,
        place,
        remainingMs,
        tokens,
      };
    });
  }
}

/** The locks of one multi-lock, in their order. */
export class MultiGate {
  readonly parts: readonly Part[];
  readonly #grouping: Grouping;
  readonly #takes: Takes;

  constructor(redis: RedisClient, parts: readonly Part[]) {
    this.parts = parts;
    this.#grouping = Grouping.of(redis);
    this.#takes = Takes.of(redis);
  }

  /** The parts from `start` on that can be taken by one call. */
  groupAt(start: number): readonly Part[] {
    const { parts } = this;
    const group = this.#grouping.groupOf(parts[start]!);
    let end = start + 1;
    while (end < parts.length && this.#grouping.groupOf(parts[end]!) === group) end += 1;
    return parts.slice(start, end);
  }

  /** Takes the parts of a group. Resolves to undefined when the group is too large for this server: ask for it again. */
  async take(request: TakeRequest): Promise<TakeReply | undefined> {
    const { parts } = request;
    try {
      return await this.#takes.submit(this.#grouping.groupOf(parts[0]!), request);
    } catch (error) {
      // Nothing was done yet. A group of one slot may have travelled with others that were not of it.
      if (this.#grouping.learn(error)) return undefined;
      throw error;
    }
  }

  /** Hands on, in reverse order, the first `count` parts, or leaves their queues. Resolves to whether all were held. */
  async release(holder: PartsHolder, isFair: boolean, count = this.parts.length): Promise<boolean> {
    const { member, tokens } = holder;
    const releases: Promise<boolean>[] = [];
    for (let index = count - 1; index >= 0; index -= 1) {
      const fencingToken = tokens?.[index] ?? 0;
      releases.push(this.parts[index]!.gate.release({ member, fencingToken }, isFair));
    }
    return (await Promise.all(releases)).every(Boolean);
  }

  /** Lengthens the leases of the first `count` parts. It is held if all of them are. */
  async renew(holder: PartsHolder, leaseMs: number, count = this.parts.length): Promise<RenewReply> {
    const { member, tokens } = holder;
    const renewals = this.parts.slice(0, count).map((part, index) => {
      return part.gate.renew({ member, fencingToken: tokens?.[index] ?? 0 }, leaseMs);
    });
    const replies = await Promise.all(renewals);
    return {
      isHeld: replies.every(({ isHeld }) => isHeld),
      sentAt: Math.min(...replies.map(({ sentAt }) => sentAt)),
    };
  }
}
