/**
 * What the multi-locks of one client send. On a single node all locks travel in one script call; on Cluster, and on a
 * node that enforces its slots, those of one slot do. Which of the two a node is, is known from its first refusal.
 */
import type { RedisClient } from '@mortise/redis';
import { Coalescer, keySlot, WaiterHub } from '@mortise/redis';
import { MutexKeys } from '../keys.js';
import { MutexGate } from '../mutex/mutex-gate.js';
import { multiLockAcquire, mutexRelease, mutexRenew } from '../scripts.gen.js';
import type { AcquireMode, Moment, RenewReply } from '../waiting/gate.js';
import { MAX_BATCH } from '../waiting/gate.js';
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

interface Lengthening {
  readonly part: Part;
  readonly member: string;
  readonly leaseMs: number;
  readonly fencingToken: number;
}

interface Leaving {
  readonly part: Part;
  readonly member: string;
  readonly isFair: boolean;
  readonly fencingToken: number;
}

const OUTCOMES = ['refused', 'held', 'queued', 'lost'] as const;
/** The group of all locks where slots do not count. */
const ANY_SLOT = -1;

/**
 * The parts in the order in which everybody takes them, so that nobody waits in a circle. Slots come first: whoever has to
 * take one slot after the other agrees with who can take all at once. Twice the same name is one part.
 */
export function partsOf(redis: RedisClient, names: readonly string[], prefix: string | undefined): Part[] {
  const parts = Array.from(new Set(names), (name) => {
    const keys = new MutexKeys(name, prefix);
    return { name, keys, slot: keySlot(keys.lease), gate: new MutexGate(redis, keys) };
  });
  return parts.toSorted((a, b) => a.slot - b.slot || (a.keys.lease < b.keys.lease ? -1 : 1));
}

/** The open batches of one client. */
class Batches {
  static readonly of = perClient((client) => new Batches(client));
  /** Whether only locks of one slot may travel together. */
  isSplit: boolean;
  readonly takes = new Coalescer<number, TakeRequest, TakeReply>((_, requests) => this.#sendTakes(requests), {
    maxBatch: MAX_BATCH,
    maxBytes: MAX_BATCH,
    bytesOf: ({ parts }) => parts.length,
  });
  readonly releases = new Coalescer<number, Leaving, boolean>((_, requests) => this.#sendReleases(requests), {
    maxBatch: MAX_BATCH,
  });
  readonly renewals = new Coalescer<number, Lengthening, RenewReply>(
    (_, requests) => this.#sendRenewals(requests),
    { maxBatch: MAX_BATCH },
  );
  readonly #redis: RedisClient;
  readonly #publish: string;

  private constructor(redis: RedisClient) {
    this.#redis = redis;
    this.#publish = WaiterHub.of(redis).publishCommand;
    this.isSplit = redis.isCluster;
  }

  groupOf({ slot }: Part): number {
    return this.isSplit ? slot : ANY_SLOT;
  }

  async #sendTakes(requests: readonly TakeRequest[]): Promise<TakeReply[]> {
    const sentAt = performance.now();
    const [serverUs, ...replies] = (await multiLockAcquire.run(
      this.#redis,
      { locks: requests.flatMap(({ parts }) => parts.flatMap(keysOf)) },
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
    )) as [number, ...[number, number, number, number, ...number[]][]];
    return replies.map(([outcome, taken, place, remainingMs, ...tokens]) => ({
      sentAt,
      serverUs,
      outcome: OUTCOMES[outcome]!,
      taken,
      place,
      remainingMs,
      tokens,
    }));
  }

  async #sendReleases(requests: readonly Leaving[]): Promise<boolean[]> {
    const reply = (await mutexRelease.run(
      this.#redis,
      { locks: requests.flatMap(({ part }) => keysOf(part)) },
      {
        publish: this.#publish,
        leavers: requests.flatMap(({ member, isFair, fencingToken }) => [
          member,
          isFair ? fencingToken : `-${fencingToken}`,
        ]),
      },
    )) as number | number[];
    return [reply].flat().map((held) => held === 1);
  }

  async #sendRenewals(requests: readonly Lengthening[]): Promise<RenewReply[]> {
    const sentAt = performance.now();
    const reply = (await mutexRenew.run(
      this.#redis,
      { leases: requests.flatMap(({ part: { keys } }) => [keys.lease, keys.token]) },
      { terms: requests.flatMap(({ member, leaseMs, fencingToken }) => [member, leaseMs, fencingToken]) },
    )) as number[];
    return reply.map((held) => ({ isHeld: held === 1, sentAt }));
  }
}

/** The locks of one multi-lock, in their order. */
export class MultiGate {
  readonly parts: readonly Part[];
  readonly #batches: Batches;

  constructor(redis: RedisClient, parts: readonly Part[]) {
    this.parts = parts;
    this.#batches = Batches.of(redis);
  }

  /** The parts from `start` on that can be taken by one call. */
  groupAt(start: number): readonly Part[] {
    const { parts } = this;
    const group = this.#batches.groupOf(parts[start]!);
    let end = start + 1;
    while (end < parts.length && this.#batches.groupOf(parts[end]!) === group) end += 1;
    return parts.slice(start, end);
  }

  /** Takes the parts of a group. Resolves to undefined when the group is too large for this server: ask for it again. */
  take(request: TakeRequest): Promise<TakeReply | undefined> {
    return this.#ask(
      () => this.#batches.takes.submit(this.#batches.groupOf(request.parts[0]!), request),
      () => Promise.resolve(undefined),
    );
  }

  /** Hands on, in reverse order, the first `count` parts, or leaves their queues. Resolves to whether all were held. */
  async release(holder: PartsHolder, isFair: boolean, count = this.parts.length): Promise<boolean> {
    const { member, tokens } = holder;
    const send = (): Promise<boolean[]> => {
      const leavings = this.parts.slice(0, count).map((part, index) => {
        return { part, member, isFair, fencingToken: tokens?.[index] ?? 0 };
      });
      return Promise.all(
        leavings.toReversed().map((leaving) => {
          return this.#batches.releases.submit(this.#batches.groupOf(leaving.part), leaving);
        }),
      );
    };
    return (await this.#ask(send, send)).every(Boolean);
  }

  /** Lengthens the leases of the first `count` parts. It is held if all of them are. */
  async renew(holder: PartsHolder, leaseMs: number, count = this.parts.length): Promise<RenewReply> {
    const { member, tokens } = holder;
    const send = (): Promise<RenewReply[]> =>
      Promise.all(
        this.parts.slice(0, count).map((part, index) => {
          const request = { part, member, leaseMs, fencingToken: tokens?.[index] ?? 0 };
          return this.#batches.renewals.submit(this.#batches.groupOf(part), request);
        }),
      );
    const replies = await this.#ask(send, send);
    return {
      isHeld: replies.every(({ isHeld }) => isHeld),
      sentAt: Math.min(...replies.map(({ sentAt }) => sentAt)),
    };
  }

  /** A refusal to mix slots comes before anything was done. It is learned from, once for each client. */
  async #ask<First, Second>(
    send: () => Promise<First>,
    again: () => Promise<Second>,
  ): Promise<First | Second> {
    const wasSplit = this.#batches.isSplit;
    try {
      return await send();
    } catch (error) {
      if (wasSplit || !(error instanceof Error) || !error.message.startsWith('CROSSSLOT')) throw error;
      this.#batches.isSplit = true;
      return again();
    }
  }
}

function keysOf({ keys: { lease, token, queue } }: Part): string[] {
  return [lease, token, queue];
}
