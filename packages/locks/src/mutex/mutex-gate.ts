import type { RedisClient } from '@mortise/redis';
import { callRedis, perClient, WaiterHub } from '@mortise/redis';
import type {
  AcquireReply,
  AcquireRequest,
  QueueEntry,
  RecheckReply,
  RecheckRequest,
  ReleaseRequest,
  RenewReply,
  RenewRequest,
} from '../acquire/gate.js';
import { MAX_BATCH } from '../acquire/gate.js';
import { BatchedGate } from '../acquire/batched-gate.js';
import type { For, Locked, LockScripts } from '../acquire/script-batches.js';
import { batched, ScriptBatches } from '../acquire/script-batches.js';
import { SlotGroups } from '../acquire/slot-groups.js';
import type { MutexKeys } from '../keys.js';
import { mutexAcquire, mutexInspect, mutexRecheck, mutexRelease, mutexRenew } from '../scripts.gen.js';

export interface InspectReply {
  readonly holder: string | null;
  readonly fencingToken: number;
  readonly remainingMs: number;
  readonly queueLength: number;
  /** The rank of the given waiter, from 0; null if it does not wait. */
  readonly rank: number | null;
  /** For how long the first waiter has waited; 0 without one. */
  readonly longestWaitMs: number;
}

interface KeyedLock extends Locked {
  readonly keys: MutexKeys;
}

const OUTCOMES = ['refused', 'held', 'queued'] as const;
/** Of the reply for one lock. */
const RECHECK_FIELDS = 4;
const MODES = { wait: 'w', try: 't', barge: 'b', grab: 'g' } as const;
const FENCED_MODES = { wait: 'W', try: 'T', barge: 'B', grab: 'G' } as const;
/** The order of a call with one request, which most calls are where slots count. */
const SOLE: readonly number[] = [0];

class MutexScripts implements LockScripts<KeyedLock> {
  constructor(
    readonly redis: RedisClient,
    readonly publish: string,
  ) {}

  readonly acquire = async (requests: readonly For<KeyedLock, AcquireRequest>[]): Promise<AcquireReply[]> => {
    const order = requests.length === 1 ? SOLE : byLock(requests);
    const locks: string[] = [];
    const operands: (string | number)[] = [];
    let id: string | undefined;
    let sizeAt = 0;
    for (const index of order) {
      const { lock, member, leaseMs, mode, isFenced } = requests[index]!;
      if (lock.id !== id) {
        ({ id } = lock);
        locks.push(...keysOf(lock.keys));
        sizeAt = operands.push(0) - 1;
      }
      operands[sizeAt] = Number(operands[sizeAt]) + 1;
      operands.push(member, leaseMs, (isFenced ? FENCED_MODES : MODES)[mode]);
    }
    const sentAt = performance.now();
    const reply = (await mutexAcquire.run(this.redis, { locks }, { requests: operands })) as
      | string
      | number
      | (number | string)[];
    if (!Array.isArray(reply)) {
      return [{ sentAt, serverUs: 0, outcome: 'held', value: Number(reply), remainingMs: 0 }];
    }
    const replies: AcquireReply[] = [];
    const serverUs = Number(reply[0]);
    let at = 1;
    for (const index of order) {
      const [outcome, value, remainingMs] = reply.slice(at, at + 3).map(Number) as [number, number, number];
      replies[index] = { sentAt, serverUs, outcome: OUTCOMES[outcome]!, value, remainingMs };
      at += 3;
    }
    return replies;
  };

  readonly release = async (
    requests: readonly For<KeyedLock, ReleaseRequest>[],
  ): Promise<(boolean | Error)[]> => {
    const locks: string[] = [];
    const releases: (string | number)[] = [];
    for (const { lock, member, isFair, isForced, fencingToken } of requests) {
      locks.push(...keysOf(lock.keys));
      releases.push(member, isForced ? '*' : isFair ? fencingToken : `-${fencingToken}`);
    }
    const operands = { publish: this.publish, releases };
    const reply = (await mutexRelease.run(this.redis, { locks }, operands)) as number | (number | Error)[];
    if (!Array.isArray(reply)) return [reply === 1];
    return reply.map((held) => (held instanceof Error ? held : held === 1));
  };

  readonly renew = async (requests: readonly For<KeyedLock, RenewRequest>[]): Promise<RenewReply[]> => {
    const sentAt = performance.now();
    const reply = (await mutexRenew.run(
      this.redis,
      { leases: requests.flatMap(({ lock: { keys } }) => [keys.lease, keys.token]) },
      { renewals: requests.flatMap(({ member, leaseMs, fencingToken }) => [member, leaseMs, fencingToken]) },
    )) as number[];
    return reply.map((held) => ({ isHeld: held === 1, sentAt }));
  };

  /** A call has few waiters, so that the server is busy with it for about 0.2 ms. */
  readonly recheck = async (requests: readonly For<KeyedLock, RecheckRequest>[]): Promise<RecheckReply[]> => {
    const calls: For<KeyedLock, RecheckRequest>[][] = [];
    let size = Infinity;
    for (const request of requests) {
      const own = Math.max(1, request.waiters.length);
      if (size + own > MAX_BATCH) {
        calls.push([]);
        size = 0;
      }
      calls.at(-1)!.push(request);
      size += own;
    }
    return (await Promise.all(calls.map((call) => this.#recheck(call)))).flat();
  };

  async #recheck(requests: readonly For<KeyedLock, RecheckRequest>[]): Promise<RecheckReply[]> {
    const sentAt = performance.now();
    const reply = await mutexRecheck.run(
      this.redis,
      { locks: requests.flatMap(({ lock }) => keysOf(lock.keys)) },
      {
        publish: this.publish,
        rechecks: requests.flatMap(({ quarantineMs, waiters }) => [
          quarantineMs,
          waiters.length,
          ...waiters.flatMap(({ place, member }) => [place, member]),
        ]),
      },
    );
    const [serverUs = 0, ...results] = (reply as (number | string)[]).map(Number);
    return requests.map((_, lock) => {
      const [remainingMs, missing, granted, fencingToken] = results.slice(
        RECHECK_FIELDS * lock,
        RECHECK_FIELDS * (lock + 1),
      ) as [number, number, number, number];
      const grants = granted > 0 ? [{ index: granted - 1, fencingToken }] : [];
      return { sentAt, serverUs, remainingMs, missing, grants };
    });
  }
}

const scriptsOf = /* @__PURE__ */ perClient(
  (redis) => new MutexScripts(redis, WaiterHub.of(redis).publishCommand),
);
const rechecksOf = /* @__PURE__ */ perClient((redis) =>
  batched(SlotGroups.of(redis), scriptsOf(redis).recheck, 'slot'),
);
const batchesOf = /* @__PURE__ */ perClient(
  (redis) => new ScriptBatches(redis, scriptsOf(redis), { acquire: 'slot', release: 'slot', renew: 'slot' }),
);

function keysOf({ lease, token, queue }: MutexKeys): [string, string, string] {
  return [lease, token, queue];
}

/** The indexes of the requests, those of a lock one after the other. */
function byLock(requests: readonly For<KeyedLock, AcquireRequest>[]): readonly number[] {
  const indexes = new Map<string, number[]>();
  for (const [index, { lock }] of requests.entries()) {
    const known = indexes.get(lock.id);
    if (known) known.push(index);
    else indexes.set(lock.id, [index]);
  }
  return [...indexes.values()].flat();
}

/** One exclusive lock. */
export class MutexGate extends BatchedGate<KeyedLock> {
  constructor(redis: RedisClient, keys: MutexKeys) {
    super(redis, { id: keys.lease, slot: keys.slot, keys }, batchesOf(redis));
  }

  /** Takes the lock away from its present holder, and from no later one, however often the client sends the release. */
  async forceRelease(): Promise<boolean> {
    const member = (await callRedis(this.redis, 'get', [this.lock.keys.lease])) as string | null;
    return member !== null && this.release({ member, fencingToken: 0 }, true, true);
  }

  recheck(waiters: readonly QueueEntry[], quarantineMs: number): Promise<RecheckReply> {
    return rechecksOf(this.redis)({ waiters, quarantineMs, lock: this.lock });
  }

  /** @param waiter The member to rank. */
  async inspect(waiter = ''): Promise<InspectReply> {
    const reply = await mutexInspect.run(this.redis, this.lock.keys, { waiter });
    const [holder, fencingToken, remainingMs, queueLength, rank, longestWaitMs] = reply as [
      string | null,
      number,
      number,
      number,
      number | null,
      number,
    ];
    return { holder, fencingToken, remainingMs, queueLength, rank, longestWaitMs };
  }
}
