/** What the mutexes of one client send. Calls of the same tick travel in one script call, on Cluster one for each slot. */
import type { RedisClient } from '@mortise/redis';
import { Coalescer, WaiterHub } from '@mortise/redis';
import type { MutexKeys } from '../keys.js';
import { mutexAcquire, mutexInspect, mutexRecheck, mutexRelease, mutexRenew } from '../scripts.gen.js';
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
import { Grouping } from '../waiting/grouping.js';
import { perClient } from '../waiting/per-client.js';

export interface InspectReply {
  readonly holder: string | null;
  readonly fencingToken: number;
  readonly remainingMs: number;
  readonly queueLength: number;
  /** Of the member asked for, from 0; null if it does not wait. */
  readonly rank: number | null;
}

interface Keyed {
  readonly keys: MutexKeys;
  readonly slot: number;
}
type Acquisition = AcquireRequest & Keyed;
type Leaving = Holder & Keyed & { readonly isFair: boolean };
type Lengthening = Holder & Keyed & { readonly leaseMs: number };

/** Whoever holds the lock, where a member is asked for. No member has this form. */
export const ANY_HOLDER = '*';

const OUTCOMES = ['refused', 'held', 'queued'] as const;
const MODES = { wait: 'w', try: 't', barge: 'b', grab: 'g' } as const;

/** The open batches of one client. */
class Batches {
  static readonly of = perClient((client) => new Batches(client));
  readonly publish: string;
  readonly #redis: RedisClient;
  readonly #grouping: Grouping;
  readonly #acquisitions = new Coalescer<number, Acquisition, AcquireReply>(
    (_, requests) => this.#grouping.send(requests, lockOf, (group) => this.#sendAcquisitions(group)),
    { maxBatch: MAX_BATCH },
  );
  readonly #leavings = new Coalescer<number, Leaving, boolean>(
    (_, requests) => this.#grouping.send(requests, lockOf, (group) => this.#sendLeavings(group)),
    { maxBatch: MAX_BATCH },
  );
  readonly #lengthenings = new Coalescer<number, Lengthening, RenewReply>(
    (_, requests) => this.#grouping.send(requests, lockOf, (group) => this.#sendLengthenings(group)),
    { maxBatch: MAX_BATCH },
  );

  private constructor(redis: RedisClient) {
    this.#redis = redis;
    this.#grouping = Grouping.of(redis);
    this.publish = WaiterHub.of(redis).publishCommand;
  }

  acquire(request: Acquisition): Promise<AcquireReply> {
    return this.#acquisitions.submit(this.#grouping.groupOf(request), request);
  }

  release(request: Leaving): Promise<boolean> {
    return this.#leavings.submit(this.#grouping.groupOf(request), request);
  }

  renew(request: Lengthening): Promise<RenewReply> {
    return this.#lengthenings.submit(this.#grouping.groupOf(request), request);
  }

  async #sendAcquisitions(requests: readonly Acquisition[]): Promise<AcquireReply[]> {
    const locks = new Map<string, { readonly keys: MutexKeys; readonly indexes: number[] }>();
    for (const [index, { keys }] of requests.entries()) {
      const lock = locks.get(keys.lease);
      if (lock) lock.indexes.push(index);
      else locks.set(keys.lease, { keys, indexes: [index] });
    }
    const all = [...locks.values()];
    const sentAt = performance.now();
    const reply = (await mutexAcquire.run(
      this.#redis,
      { locks: all.flatMap(({ keys }) => keysOf(keys)) },
      {
        requests: all.flatMap(({ indexes }) => [
          indexes.length,
          ...indexes.flatMap((index) => {
            const { member, leaseMs, mode, isFenced } = requests[index]!;
            return [member, leaseMs, isFenced ? MODES[mode].toUpperCase() : MODES[mode]];
          }),
        ]),
      },
    )) as string | number | (number | string)[];
    if (!Array.isArray(reply)) {
      return [{ sentAt, serverUs: 0, outcome: 'held', value: Number(reply), remainingMs: 0 }];
    }
    const replies: AcquireReply[] = [];
    const serverUs = Number(reply[0]);
    let at = 1;
    for (const index of all.flatMap(({ indexes }) => indexes)) {
      const [outcome, value, remainingMs] = reply.slice(at, at + 3).map(Number) as [number, number, number];
      replies[index] = { sentAt, serverUs, outcome: OUTCOMES[outcome]!, value, remainingMs };
      at += 3;
    }
    return replies;
  }

  async #sendLeavings(requests: readonly Leaving[]): Promise<(boolean | Error)[]> {
    const reply = (await mutexRelease.run(
      this.#redis,
      { locks: requests.flatMap(({ keys }) => keysOf(keys)) },
      {
        publish: this.publish,
        leavers: requests.flatMap(({ member, isFair, fencingToken }) => [
          member,
          isFair ? fencingToken : `-${fencingToken}`,
        ]),
      },
    )) as number | (number | Error)[];
    return [reply].flat().map((held) => (held instanceof Error ? held : held === 1));
  }

  async #sendLengthenings(requests: readonly Lengthening[]): Promise<RenewReply[]> {
    const sentAt = performance.now();
    const reply = (await mutexRenew.run(
      this.#redis,
      { leases: requests.flatMap(({ keys }) => [keys.lease, keys.token]) },
      { terms: requests.flatMap(({ member, leaseMs, fencingToken }) => [member, leaseMs, fencingToken]) },
    )) as number[];
    return reply.map((held) => ({ isHeld: held === 1, sentAt }));
  }
}

function lockOf({ keys }: Keyed): string {
  return keys.lease;
}

function keysOf({ lease, token, queue }: MutexKeys): string[] {
  return [lease, token, queue];
}

/** One exclusive lock. */
export class MutexGate implements Gate {
  readonly id: string;
  readonly channels: string;
  readonly #redis: RedisClient;
  readonly #lock: Keyed;
  readonly #batches: Batches;

  constructor(redis: RedisClient, keys: MutexKeys) {
    this.id = keys.lease;
    this.channels = keys.channels;
    this.#redis = redis;
    this.#lock = { keys, slot: keys.slot };
    this.#batches = Batches.of(redis);
  }

  acquire(request: AcquireRequest): Promise<AcquireReply> {
    return this.#batches.acquire({ ...this.#lock, ...request });
  }

  release(holder: Holder, isFair: boolean): Promise<boolean> {
    return this.#batches.release({ ...this.#lock, ...holder, isFair });
  }

  renew(holder: Holder, leaseMs: number): Promise<RenewReply> {
    return this.#batches.renew({ ...this.#lock, ...holder, leaseMs });
  }

  async recheck(waiters: readonly Waiting[], quarantineMs: number): Promise<RecheckReply> {
    const sentAt = performance.now();
    const reply = await mutexRecheck.run(this.#redis, this.#lock.keys, {
      publish: this.#batches.publish,
      quarantineMs,
      waiters: waiters.flatMap(({ place, member }) => [place, member]),
    });
    const [serverUs, remainingMs, missing, granted, fencingToken] = (reply as (number | string)[]).map(
      Number,
    ) as [number, number, number, number, number];
    const grants = granted > 0 ? [{ index: granted - 1, fencingToken }] : [];
    return { sentAt, serverUs, remainingMs, missing, grants };
  }

  async forget(members: readonly string[]): Promise<void> {
    await this.#redis.call('zrem', [this.#lock.keys.queue, ...members]);
  }

  /** @param waiter A member whose rank is wanted. */
  async inspect(waiter = ''): Promise<InspectReply> {
    const reply = await mutexInspect.run(this.#redis, this.#lock.keys, { waiter });
    const [holder, fencingToken, remainingMs, queueLength, rank] = reply as [
      string | null,
      number,
      number,
      number,
      number | null,
    ];
    return { holder, fencingToken, remainingMs, queueLength, rank };
  }
}
