import type { RedisClient } from '@mortise/redis';
import { callRedis, WaiterHub } from '@mortise/redis';
import type {
  AcquireReply,
  AcquireRequest,
  Gate,
  Holder,
  QueueEntry,
  RecheckReply,
  RenewReply,
} from './gate.js';
import type { Locked, ScriptBatches } from './script-batches.js';

/** One lock of a kind. Its requests travel with those of other locks of the client. */
export abstract class BatchedGate<Lock extends Locked> implements Gate {
  readonly id: string;
  readonly channels: string;
  protected readonly redis: RedisClient;
  protected readonly lock: Lock;
  readonly #batches: ScriptBatches<Lock>;

  constructor(redis: RedisClient, lock: Lock, batches: ScriptBatches<Lock>) {
    this.id = lock.id;
    this.channels = lock.keys.channels;
    this.redis = redis;
    this.lock = lock;
    this.#batches = batches;
  }

  /** PUBLISH, or SPUBLISH on Cluster. */
  get publish(): string {
    return WaiterHub.of(this.redis).publishCommand;
  }

  abstract recheck(waiters: readonly QueueEntry[], quarantineMs: number): Promise<RecheckReply>;

  acquire(request: AcquireRequest): Promise<AcquireReply> {
    return this.#batches.acquire({ ...request, lock: this.lock });
  }

  release(holder: Holder, isFair = true, isForced = false): Promise<boolean> {
    return this.#batches.release({ ...holder, isFair, isForced, lock: this.lock });
  }

  renew(holder: Holder, leaseMs: number): Promise<RenewReply> {
    return this.#batches.renew({ ...holder, leaseMs, lock: this.lock });
  }

  async forget(members: readonly string[]): Promise<void> {
    await callRedis(this.redis, 'zrem', [this.lock.keys.queue, ...members]);
  }
}
