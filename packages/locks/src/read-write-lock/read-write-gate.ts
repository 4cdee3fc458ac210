/** What the read-write locks of one client send. Calls of the same tick for the same lock travel in one script call. */
import type { RedisClient } from '@mortise/redis';
import { Coalescer, WaiterHub } from '@mortise/redis';
import type { ReadWriteLockKeys } from '../keys.js';
import {
  readWriteLockAcquire,
  readWriteLockDowngrade,
  readWriteLockInspect,
  readWriteLockRecheck,
  readWriteLockRelease,
  readWriteLockRenew,
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

/** What a member of a read-write lock wants of it. */
export type Role = 'r' | 'w';

export interface DowngradeReply {
  /** Of the reader that the writer has become; 0 if the writer did not hold the lock. */
  readonly fencingToken: number;
  readonly sentAt: number;
}

export interface InspectReply {
  readonly writer: string | null;
  readonly fencingToken: number;
  readonly remainingMs: number;
  readonly queueLength: number;
  /** Of the member asked for, from 0; null if it does not wait. */
  readonly rank: number | null;
  readonly readers: number;
  readonly firstReaders: readonly string[];
}

interface Place {
  readonly gate: ReadWriteGate;
  readonly keys: ReadWriteLockKeys;
}

type Placed<Request> = Request & Place;

const OUTCOMES = ['refused', 'held', 'queued'] as const;

/** The open batches of one client. */
class Batches {
  static readonly of = perClient((client) => new Batches(client));
  readonly acquires = new Coalescer<string, Placed<AcquireRequest>, AcquireReply>(
    (_, requests) => this.#sendAcquires(requests),
    { maxBatch: MAX_BATCH },
  );
  readonly releases = new Coalescer<string, Placed<Holder>, boolean>(
    (_, requests) => this.#sendReleases(requests),
    { maxBatch: MAX_BATCH },
  );
  /** Leases of one slot travel together. */
  readonly renewals = new Coalescer<number, Placed<Holder & { readonly leaseMs: number }>, RenewReply>(
    (_, requests) => this.#sendRenewals(requests),
    { maxBatch: MAX_BATCH },
  );
  readonly #redis: RedisClient;

  private constructor(redis: RedisClient) {
    this.#redis = redis;
  }

  async #sendAcquires(requests: readonly Placed<AcquireRequest>[]): Promise<AcquireReply[]> {
    const sentAt = performance.now();
    const reply = (await readWriteLockAcquire.run(this.#redis, requests[0]!.keys, {
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

  async #sendReleases(requests: readonly Placed<Holder>[]): Promise<boolean[]> {
    const [{ gate, keys }] = requests as [Placed<Holder>];
    const [more, ...held] = (await readWriteLockRelease.run(this.#redis, keys, {
      publish: gate.publish,
      quarantineMs: gate.leaseMs,
      leavers: requests.flatMap(({ member, fencingToken }) => [member, fencingToken]),
    })) as number[];
    await gate.letInMore(more!);
    return held.map((answer) => answer === 1);
  }

  async #sendRenewals(
    requests: readonly Placed<Holder & { readonly leaseMs: number }>[],
  ): Promise<RenewReply[]> {
    const sentAt = performance.now();
    const reply = (await readWriteLockRenew.run(
      this.#redis,
      { locks: requests.flatMap(({ keys }) => [keys.write, keys.readers, keys.token]) },
      { terms: requests.flatMap(({ member, leaseMs, fencingToken }) => [member, leaseMs, fencingToken]) },
    )) as number[];
    return reply.map((held) => ({ isHeld: held === 1, sentAt }));
  }
}

/** One lock that readers share and a writer has alone. */
export class ReadWriteGate implements Gate {
  readonly id: string;
  readonly channels: string;
  readonly publish: string;
  readonly #redis: RedisClient;
  readonly #keys: ReadWriteLockKeys;
  readonly #batches: Batches;

  /** @param leaseMs How long readers may still be there that Redis has forgotten. */
  constructor(
    redis: RedisClient,
    keys: ReadWriteLockKeys,
    readonly leaseMs: number,
  ) {
    this.id = keys.write;
    this.channels = keys.channels;
    this.publish = WaiterHub.of(redis).publishCommand;
    this.#redis = redis;
    this.#keys = keys;
    this.#batches = Batches.of(redis);
  }

  acquire(request: AcquireRequest): Promise<AcquireReply> {
    return this.#batches.acquires.submit(this.id, { gate: this, keys: this.#keys, ...request });
  }

  release(holder: Holder): Promise<boolean> {
    return this.#batches.releases.submit(this.id, { gate: this, keys: this.#keys, ...holder });
  }

  renew(holder: Holder, leaseMs: number): Promise<RenewReply> {
    return this.#batches.renewals.submit(this.#keys.slot, {
      gate: this,
      keys: this.#keys,
      ...holder,
      leaseMs,
    });
  }

  async recheck(waiters: readonly Waiting[], quarantineMs: number): Promise<RecheckReply> {
    const { more, ...reply } = await this.#recheck(waiters, quarantineMs);
    await this.letInMore(more);
    return reply;
  }

  async forget(members: readonly string[]): Promise<void> {
    await this.#redis.call('zrem', [this.#keys.queue, ...members]);
  }

  /** Makes a reader of a writer. Safe to repeat. */
  async downgrade(writer: Holder, reader: string, leaseMs: number): Promise<DowngradeReply> {
    const sentAt = performance.now();
    const reply = await readWriteLockDowngrade.run(this.#redis, this.#keys, {
      publish: this.publish,
      member: writer.member,
      reader,
      leaseMs,
      fencingToken: writer.fencingToken,
    });
    const [fencingToken, more] = reply as [number, number];
    await this.letInMore(more);
    return { fencingToken, sentAt };
  }

  /** One script call lets in so many only; what it left is let in by the next. */
  async letInMore(more: number): Promise<void> {
    try {
      for (let left = more; left > 0;) left = (await this.#recheck([], 0)).more;
    } catch {
      // What was asked for has been done. Those who wait re-check for themselves.
    }
  }

  /** @param waiter A member whose rank is wanted. */
  async inspect(maxReaders: number, waiter = ''): Promise<InspectReply> {
    const reply = await readWriteLockInspect.run(this.#redis, this.#keys, { waiter, maxReaders });
    const [writer, fencingToken, remainingMs, queueLength, rank, readers, ...firstReaders] = reply as [
      string | null,
      number,
      number,
      number,
      number | null,
      number,
      ...string[],
    ];
    return { writer, fencingToken, remainingMs, queueLength, rank, readers, firstReaders };
  }

  async #recheck(
    waiters: readonly Waiting[],
    quarantineMs: number,
  ): Promise<RecheckReply & { readonly more: number }> {
    const sentAt = performance.now();
    const reply = await readWriteLockRecheck.run(this.#redis, this.#keys, {
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
