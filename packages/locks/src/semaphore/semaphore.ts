/**
 * A counting semaphore: a limited number of permits among all processes, each with its own lease.
 *
 * Every permit has its own end on the server's clock, in one sorted set. Every decision is one script that first frees
 * expired permits. Rejected: the clocks of clients (a host whose clock is 10 s ahead takes permits that are held), and one
 * expiry for the whole set (a dead holder's short lease ends the long leases of the others). Also rejected: granting a
 * light request before a heavy one that doesn't fit yet; under load, the heavy one would never fit.
 */
import type { RedisClient } from '@mortise/redis';
import { requireClient, requireInteger, requireName } from '@mortise/redis';
import { acquire, tryAcquire } from '../acquire/acquire.js';
import type { Grant } from '../acquire/acquisition.js';
import { LockClient } from '../acquire/lock-client.js';
import { SingleLockRequest } from '../acquire/single-lock-request.js';
import { SemaphoreKeys } from '../keys.js';
import { Lease } from '../lease/lease.js';
import { runUnder } from '../lease/using.js';
import type {
  AcquirePermitsOptions,
  ResolvedSemaphoreOptions,
  SemaphoreOptions,
  TryAcquirePermitsOptions,
} from '../options.js';
import {
  requireHolder,
  requireLeaseMs,
  requireLimit,
  resolveAcquireOptions,
  resolvePermits,
  resolveSemaphoreOptions,
  resolveTryAcquirePermits,
} from '../options.js';
import { LockTelemetry, measured } from '../telemetry/lock-telemetry.js';
import { SemaphoreGate } from './semaphore-gate.js';

/** A holder of permits. */
export interface PermitHolder {
  /** The `holder` of its lease. */
  readonly holder: string;
  readonly permits: number;
  /** Remaining time of its lease, ms. */
  readonly remainingMs: number;
}

/** The state of a semaphore, from `inspect`. */
export interface SemaphoreState {
  /** The limit in Redis; without one, that of this object. */
  readonly limit: number;
  /** Number of held permits. Above the limit only after `setPermits`. */
  readonly used: number;
  /** Up to 100 holders, by the ends of their leases. */
  readonly holders: readonly PermitHolder[];
  /** Number of waiters. */
  readonly queueLength: number;
  /** Position in the queue, from 1, of this client's first waiter. Null if none waits. */
  readonly position: number | null;
}

const MAX_HOLDERS = 100;

/**
 * A semaphore with leases, fencing tokens and one queue for all processes.
 *
 * The limit is stored in Redis: that of the first caller, until `setPermits`. It is forgotten after 7 days without a grant
 * or renewal. An object is cheap, has no connection of its own and needs no closing. Objects with the same name and prefix
 * are the same semaphore. A Mutex of that name is independent of it.
 */
export class Semaphore {
  readonly name: string;
  readonly #redis: RedisClient;
  readonly #client: LockClient;
  readonly #keys: SemaphoreKeys;
  readonly #options: ResolvedSemaphoreOptions;
  readonly #telemetry: LockTelemetry | undefined;
  #gate: SemaphoreGate;

  /** Throws TypeError or RangeError for a wrong client, name or option. Sends nothing. */
  constructor(redis: RedisClient, name: string, options: SemaphoreOptions) {
    this.name = requireName('name', name);
    this.#redis = requireClient(redis);
    this.#client = LockClient.of(redis);
    this.#options = resolveSemaphoreOptions(options);
    this.#telemetry = LockTelemetry.of(options.telemetry, 'semaphore');
    this.#keys = new SemaphoreKeys(name, options.prefix);
    this.#gate = this.#gateFor(this.#options.limit);
  }

  /**
   * Waits in the queue and resolves with all permits at once. First come, first served: a request that doesn't fit yet
   * blocks the requests after it, so lighter ones never overtake it. Rejects with LockTimeoutError after `waitMs`, with the
   * signal's reason when it is aborted, with SemaphoreLimitError if the semaphore has another limit (or gets a limit below
   * the requested permits), and with ERR_CLIENT_CLOSED when the client is closed during the wait; then it leaves the queue.
   * Errors of ioredis pass through, also for a client that was already closed. A reply after the end of its lease is given
   * back, and the wait goes on. One round trip if permits are free. Under contention one command for each acquisition, and
   * one for each process and second. O(log n) of holders and waiters.
   */
  async acquire(options: AcquirePermitsOptions = {}): Promise<Lease> {
    const resolved = resolveAcquireOptions(options, 'acquire of a semaphore');
    const gate = this.#gate;
    const permits = resolvePermits(options.permits, gate.limit);
    const waiting = acquire(this.#client, (waits) => this.#request(gate, permits, waits), resolved);
    return this.#lease(gate, await measured(this.#telemetry, waiting));
  }

  /**
   * Resolves with the permits if they are free and nobody waits, else with null. Rejects with SemaphoreLimitError if the
   * semaphore has another limit. Errors of ioredis pass through. One round trip.
   */
  async tryAcquire(options: TryAcquirePermitsOptions = {}): Promise<Lease | null> {
    const gate = this.#gate;
    const permits = resolveTryAcquirePermits(options, gate.limit);
    const grant = await measured(this.#telemetry, tryAcquire(this.#request(gate, permits, false)));
    return grant && this.#lease(gate, grant);
  }

  /**
   * Acquires permits, runs `section` and releases the permits. The section's signal is aborted when the lease ends too
   * early, and when `signal` is aborted. Rejects as `acquire` does, with the section's error, and with LeaseLostError if
   * the lease ended before the section: then there may have been too many holders. A failed release does not hide the
   * result, since the lease expires. Two commands.
   */
  async using<Result>(
    section: (signal: AbortSignal, lease: Lease) => Promise<Result> | Result,
    options: AcquirePermitsOptions = {},
  ): Promise<Result> {
    return runUnder(this, section, options);
  }

  /**
   * Number of free permits at this instant. `tryAcquire` may still fail, since waiters come first. 0 while nothing is
   * granted because the state of the semaphore was lost. One round trip.
   */
  async available(): Promise<number> {
    const { limit, used, quarantineMs } = await this.#gate.inspect(0);
    return quarantineMs > 0 ? 0 : Math.max(0, limit - used);
  }

  /**
   * The state of the semaphore at one instant, which may have changed when the reply arrives. One round trip, O(log n +
   * 100).
   */
  async inspect(): Promise<SemaphoreState> {
    const waiter = this.#client.firstWaiting(this.#gate);
    const { limit, used, queueLength, rank, holders } = await this.#gate.inspect(MAX_HOLDERS, waiter);
    return {
      limit,
      used,
      holders: holders.map(({ holder, remainingMs }) => ({
        holder,
        permits: Number(holder.slice(holder.lastIndexOf('.') + 1)),
        remainingMs,
      })),
      queueLength,
      position: rank === null ? null : rank + 1,
    };
  }

  /**
   * Changes the limit for all users. This object continues with it. Objects with another limit are refused with
   * SemaphoreLimitError from now on, but they keep and renew their permits, and get those that they wait for. Below the
   * number of used permits nobody loses any, and nothing is granted until permits are free. Waiters for more than the new
   * limit are refused by their next re-check, within about 1.6 s (of one process the first 100 of the queue, and the waiter
   * at its head). Safe to repeat. After an error of ioredis, repeat it: this object keeps the old limit until then. One
   * round trip, and one more for each 100 waiters that are granted permits.
   */
  async setPermits(permits: number): Promise<void> {
    const gate = this.#gateFor(requireLimit(permits));
    await gate.setLimit();
    this.#gate = gate;
    this.#client.openQueue(gate)?.use(gate);
  }

  /**
   * Extends the lease of a holder to `leaseMs` from now, for a service that acquires permits for its clients. With the
   * `fencingToken` of the lease, Redis restores the lease if the keys of the semaphore were lost; pass it only before the
   * end of the lease. Resolves to false if that holder has no permits. Throws TypeError for a value that is not the
   * `holder` of a lease. Safe to repeat. One round trip.
   */
  async renewFor(
    holder: string,
    leaseMs: number = this.#options.leaseMs,
    fencingToken = 0,
  ): Promise<boolean> {
    requireInteger('fencingToken', fencingToken, { min: 0 });
    const member = requireHolder(holder);
    const reply = await this.#gate.renew({ member, fencingToken }, requireLeaseMs(leaseMs));
    return reply.isHeld;
  }

  /**
   * Takes the permits of one holder away and grants them to the next waiters, for operators and for a service that acquires
   * permits for its clients. The holder learns of it at its next renewal: until then, only fencing tokens protect the
   * resource. Resolves to false if that holder has no permits. Throws TypeError for a value that is not the `holder` of a
   * lease. Safe to repeat: then `false` may also mean that the first call was executed. One round trip.
   */
  async releaseFor(holder: string): Promise<boolean> {
    return this.#gate.release({ member: requireHolder(holder), fencingToken: 0 });
  }

  #gateFor(limit: number): SemaphoreGate {
    const { leaseMs } = this.#options;
    return new SemaphoreGate(this.#redis, { name: this.name, keys: this.#keys, limit, leaseMs });
  }

  #request(gate: SemaphoreGate, role: string, waits: boolean): SingleLockRequest {
    const { leaseMs } = this.#options;
    const terms = { name: this.name, gate, role, leaseMs, isFair: true, isFenced: true };
    return new SingleLockRequest(this.#client, terms, waits);
  }

  #lease(gate: SemaphoreGate, grant: Grant): Lease {
    const { leaseMs, keepMs } = this.#options;
    const { name } = this;
    const telemetry = this.#telemetry;
    return new Lease({ name, gate, leaseMs, keepMs, isFair: true, telemetry }, grant);
  }
}
