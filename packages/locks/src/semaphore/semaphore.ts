/**
 * A counting semaphore: a limited number of permits among all processes, each with its own lease.
 *
 * Every permit has its own end on the server's clock, in one sorted set. Every decision is one script that first frees
 * expired permits. Rejected: the clocks of clients; a host whose clock is 10 s ahead takes permits that are held. One expiry
 * for the whole set; a dead holder's short lease ends the long leases of the others. Granting a light request before a heavy
 * one that doesn't fit yet; under load, the heavy one would never fit.
 */
import type { RedisClient } from '@mortise/redis';
import { requireClient, requireName } from '@mortise/redis';
import { LockClient } from '../acquire/lock-client.js';
import { LockTimeoutError } from '../errors.js';
import { SemaphoreKeys } from '../keys.js';
import { Lease } from '../lease/lease.js';
import type { SingleLockTerms } from '../lease/single-lock.js';
import { SingleLock } from '../lease/single-lock.js';
import type { AcquirePermitsOptions, SemaphoreOptions, TryAcquirePermitsOptions } from '../options.js';
import {
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
  /** The limit in Redis, or that of this object while Redis has none. */
  readonly limit: number;
  /** Number of held permits. Above the limit only after `setPermits`. */
  readonly used: number;
  /** Up to 100 holders, ordered by the ends of their leases. */
  readonly holders: readonly PermitHolder[];
  /** Number of waiters. */
  readonly queueLength: number;
  /** For how long the first waiter has waited, in whole ms; 0 without waiters. */
  readonly longestWaitMs: number;
  /**
   * Position in the queue, from 1, of this client's first waiter. Null without a waiter, and until the reply to a waiter has
   * arrived.
   */
  readonly position: number | null;
}

interface SemaphoreTerms extends SingleLockTerms {
  readonly gate: SemaphoreGate;
}

const MAX_HOLDERS = 100;

/**
 * A semaphore with leases, fencing tokens and one queue for all processes.
 *
 * Redis stores the limit of the first caller, until `setPermits` changes it. The limit is forgotten after 7 days without a
 * grant or renewal. An object is cheap, has no connection of its own and needs no closing. Objects with the same name and
 * prefix are the same semaphore. A Mutex of that name is independent of it.
 */
export class Semaphore extends SingleLock<SemaphoreTerms> {
  readonly name: string;
  readonly #gateFor: (limit: number) => SemaphoreGate;

  /** Throws TypeError or RangeError for a wrong client, name or option. Sends nothing. */
  constructor(redis: RedisClient, name: string, options: SemaphoreOptions) {
    const { limit: permits, ...resolved } = resolveSemaphoreOptions(options);
    const keys = new SemaphoreKeys(requireName('name', name), options.prefix);
    const client = requireClient(redis);
    const gateFor = (limit: number): SemaphoreGate =>
      new SemaphoreGate(client, { name, keys, limit, leaseMs: resolved.leaseMs });
    const telemetry = LockTelemetry.of(options.telemetry, 'semaphore');
    const terms = { name, gate: gateFor(permits), isFair: true, isFenced: true, telemetry, ...resolved };
    super(LockClient.of(redis), terms, (held, grant) => new Lease(held, grant));
    this.name = name;
    this.#gateFor = gateFor;
  }

  /**
   * Waits in the queue and resolves with all permits at once. First come, first served: a request that doesn't fit yet blocks
   * the requests after it, so lighter ones never overtake it. Rejects with LockTimeoutError after `waitMs`, and with the
   * signal's reason when it is aborted. Rejects with LockSettingsError if the semaphore has another limit, or gets a limit
   * below the requested permits. Rejects with ERR_CLIENT_CLOSED when the client is closed during the wait. After a rejection
   * the caller is no longer in the queue. Errors of ioredis pass through, also for a client that was already closed. A grant
   * that arrives after the end of its lease is given back, and the wait goes on. One round trip if permits are free. Under
   * contention each acquisition costs one command, and each waiting process one command a second. O(log n) in the number of
   * holders and waiters.
   */
  override async acquire(options: AcquirePermitsOptions = {}): Promise<Lease> {
    const resolved = resolveAcquireOptions(options, 'acquire of a semaphore');
    const { gate, telemetry } = this.terms;
    const terms = { ...this.terms, role: resolvePermits(options.permits, gate.limit) };
    return this.hold(terms, await measured(telemetry, this.wait(terms, resolved).catch(nameSemaphore)));
  }

  /**
   * Resolves with the permits if they are free and nobody waits, else with null. Rejects with LockSettingsError if the
   * semaphore has another limit. Errors of ioredis pass through. One round trip.
   */
  override async tryAcquire(options: TryAcquirePermitsOptions = {}): Promise<Lease | null> {
    const { gate, telemetry } = this.terms;
    const terms = { ...this.terms, role: resolveTryAcquirePermits(options, gate.limit) };
    const grant = await measured(telemetry, this.try(terms));
    return grant && this.hold(terms, grant);
  }

  /** Works as `using` of the other locks, with permits. If the lease is lost, other holders may already have its permits. */
  override using<Result>(
    section: (signal: AbortSignal, lease: Lease) => Promise<Result> | Result,
    options: AcquirePermitsOptions = {},
  ): Promise<Result> {
    return super.using(section, options);
  }

  /**
   * Number of free permits at this instant. `tryAcquire` may still fail, since waiters come first. The result is 0 while
   * nothing is granted because the state of the semaphore was lost. One round trip.
   */
  async available(): Promise<number> {
    const { limit, used, quarantineMs } = await this.terms.gate.inspect(0);
    return quarantineMs > 0 ? 0 : Math.max(0, limit - used);
  }

  /**
   * The state of the semaphore at one instant, which may have changed when the reply arrives. One round trip, O(log n +
   * 100).
   */
  async inspect(): Promise<SemaphoreState> {
    const { gate } = this.terms;
    const waiter = this.client.firstWaiting(gate);
    const { limit, used, queueLength, rank, longestWaitMs, holders } = await gate.inspect(
      MAX_HOLDERS,
      waiter,
    );
    return {
      limit,
      used,
      holders: holders.map(({ holder, remainingMs }) => ({
        holder,
        permits: Number(holder.slice(holder.lastIndexOf('.') + 1)),
        remainingMs,
      })),
      queueLength,
      longestWaitMs,
      position: rank === null ? null : rank + 1,
    };
  }

  /**
   * Takes the permits away from one holder, all of its lease, and grants them to the next waiters. `inspect` has the `holder`
   * of each. Resolves to whether it held permits; a waiter keeps its place. The former holder is not asked: its next renewal
   * fails, which aborts its `signal`, and its `release` resolves to false. Until then, only fencing tokens protect the
   * resource. Within one lease after Redis has lost the keys of the semaphore, a renewal of the holder may restore its permits:
   * then call again. Throws TypeError for a value that is not the `holder` of a lease. Safe to repeat, since each lease has
   * another holder; then `false` may also mean that the first call was executed. Atomic. One round trip, and one more for each
   * 100 waiters that are granted permits. O(log n) in the number of holders and waiters.
   */
  async forceRelease(holder: string): Promise<boolean> {
    const member = this.requireHolder(holder);
    return this.terms.gate.release({ member, fencingToken: 0 }, true, true);
  }

  /**
   * Changes the limit for all users. This object continues with it. Objects with another limit are refused with
   * LockSettingsError from now on, but they keep and renew their permits, and get those that they wait for. If the new limit is
   * below the number of used permits, nobody loses any. Nothing is granted until permits are free. A waiter for more than the
   * new limit is refused at its next recheck, within about 1.6 s. One recheck refuses the waiter at the head, and the first 100
   * waiters of one process. Safe to repeat. After an error of ioredis, repeat the call: until then this object keeps the old
   * limit. One round trip, and one more for each 100 waiters that are granted permits.
   */
  async setPermits(permits: number): Promise<void> {
    const gate = this.#gateFor(requireLimit(permits));
    await gate.setLimit();
    this.terms = { ...this.terms, gate };
    this.client.openQueue(gate)?.use(gate);
  }
}

/** Waits are the same for all locks; this one's error says semaphore. */
function nameSemaphore(error: unknown): never {
  if (!(error instanceof LockTimeoutError)) throw error;
  const { lockName, waitMs, cause } = error;
  throw new LockTimeoutError(lockName, waitMs, cause === undefined ? undefined : { cause }, 'semaphore');
}
