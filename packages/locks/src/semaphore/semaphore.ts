/**
 * A counting semaphore: at most so many permits at once, among all processes, each with its own lease.
 *
 * Every permit has its own end on the server's clock, in one sorted set, and every decision is one script that first
 * frees what has expired. Rejected: the clocks of clients (a host that is 10 s ahead takes permits that are held), and
 * one expiry for the whole set (the short lease of one who died ends the long leases of all others). Rejected as well:
 * letting light requests past a heavy one that doesn't fit yet; under load the heavy one would never fit.
 */
import type { RedisClient } from '@mortise/redis';
import { requireClient, requireInteger, requireName } from '@mortise/redis';
import { SemaphoreKeys } from '../keys.js';
import { Lease } from '../lease.js';
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
} from '../options.js';
import { runUnder } from '../using.js';
import type { AcquireTerms } from '../waiting/acquire.js';
import { acquire, tryAcquire } from '../waiting/acquire.js';
import { Contender } from '../waiting/contender.js';
import { SemaphoreGate } from './semaphore-gate.js';

/** One that holds permits. */
export interface PermitHolder {
  /** The `holder` of its lease. */
  readonly holder: string;
  readonly permits: number;
  /** What is left of its lease, ms. */
  readonly remainingMs: number;
}

/** What `inspect` sees. */
export interface SemaphoreState {
  /** The limit in Redis; that of this object if there is none. */
  readonly limit: number;
  /** How many permits are held: more than the limit only after `setPermits`. */
  readonly used: number;
  /** The first 100 of those who hold permits, by the ends of their leases. */
  readonly holders: readonly PermitHolder[];
  /** How many wait. */
  readonly queueLength: number;
  /** Where the first of those that wait with this client stands in the queue, from 1. Null if none of them waits. */
  readonly position: number | null;
}

const MAX_HOLDERS = 100;

/**
 * A semaphore with leases, fencing tokens and one queue for all processes.
 *
 * The limit lies in Redis: that of whoever acquires first, until `setPermits`. It is forgotten when nothing was
 * granted or renewed for 7 days. An object is cheap, has no connection of its own and needs no closing; objects with
 * the same name and prefix are the same semaphore. A semaphore and a Mutex of the same name have nothing to do with
 * each other.
 */
export class Semaphore {
  readonly name: string;
  readonly #redis: RedisClient;
  readonly #contender: Contender;
  readonly #keys: SemaphoreKeys;
  readonly #options: ResolvedSemaphoreOptions;
  #gate: SemaphoreGate;

  /** Throws TypeError or RangeError for a client, name or option that cannot be used. Sends nothing. */
  constructor(redis: RedisClient, name: string, options: SemaphoreOptions) {
    this.name = requireName('name', name);
    this.#redis = requireClient(redis);
    this.#contender = Contender.of(redis);
    this.#options = resolveSemaphoreOptions(options);
    this.#keys = new SemaphoreKeys(name, options.prefix);
    this.#gate = this.#gateFor(this.#options.limit);
  }

  /**
   * Waits for its turn and resolves with permits, all that were asked for at once. First come, first served: a
   * request that doesn't fit yet holds up those behind it, so it is never overtaken by lighter ones. Rejects with
   * LockTimeoutError after `waitMs`, with the reason of `signal` when that is aborted, with SemaphoreLimitError when
   * the semaphore has another limit (or gets one that is less than what it waits for), and with ERR_CLIENT_CLOSED
   * when the client is closed meanwhile; it leaves the queue then. Errors of ioredis pass through, also that of a client
   * which was closed before. A reply that comes after the end of its lease is given back, and the wait goes on. One
   * round trip when permits are free; while there is contention one command for each acquisition, besides one for each
   * process and second. O(log n) of holders and waiters.
   */
  async acquire(options: AcquirePermitsOptions = {}): Promise<Lease> {
    const terms = this.#terms(options);
    return this.#lease(terms, await acquire(this.#contender, terms, resolveAcquireOptions(options)));
  }

  /**
   * Resolves with permits if they are free and nobody waits, else with null. Rejects with SemaphoreLimitError when the
   * semaphore has another limit; errors of ioredis pass through. One round trip.
   */
  async tryAcquire(options: TryAcquirePermitsOptions = {}): Promise<Lease | null> {
    const terms = this.#terms(options);
    const grant = await tryAcquire(this.#contender, terms);
    return grant && this.#lease(terms, grant);
  }

  /**
   * Acquires permits, runs `section` with them and releases them. The signal that the section gets is aborted when the
   * lease ends too early, and when `signal` is aborted. Rejects as `acquire` does, with what the section throws, and
   * with LeaseLostError when the lease was over before the section was: then there may have been too many. A
   * release that fails does not hide the result: the lease ends by itself. Two commands.
   */
  async using<Result>(
    section: (signal: AbortSignal, lease: Lease) => Promise<Result> | Result,
    options: AcquirePermitsOptions = {},
  ): Promise<Result> {
    return runUnder(this, section, options);
  }

  /**
   * How many permits are free at this moment. `tryAcquire` may fail all the same: those who wait come first. 0 while
   * nothing is granted because the state of the semaphore was lost. One round trip.
   */
  async available(): Promise<number> {
    const { limit, used, quarantineMs } = await this.#gate.inspect(0);
    return quarantineMs > 0 ? 0 : Math.max(0, limit - used);
  }

  /** The state of the semaphore at one moment. It may have changed when it arrives. One round trip, O(log n + 100). */
  async inspect(): Promise<SemaphoreState> {
    const waiter = this.#contender.firstWaiting(this.#gate);
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
   * Changes the limit, for all. This object goes on with it; others that were made with another limit are refused
   * with SemaphoreLimitError from now on, but what they hold they keep and may renew, and what they wait for they
   * get. Below the number of used permits nobody loses any, and nothing is granted until it fits. Waiters for more
   * than the new limit are refused by their next re-check, within about 1.6 s (of one process the first 100 of the
   * queue, and whoever comes to its head). Safe to repeat; after an error of ioredis, repeat it: this object goes on
   * with the old limit until then. One round trip, and one more for each 100 waiters that are granted permits.
   */
  async setPermits(permits: number): Promise<void> {
    const gate = this.#gateFor(requireLimit(permits));
    await gate.setLimit();
    this.#gate = gate;
    this.#contender.openLine(gate)?.use(gate);
  }

  /**
   * Lengthens, to `leaseMs` from now, the lease of a holder that somebody else keeps, such as a client of a service
   * that takes permits for others. With the `fencingToken` of the lease it comes back when the semaphore's keys were
   * lost; give it only while the lease isn't over. Resolves to false when that holder has no permits (any more). Throws
   * TypeError for what is no `holder` of a lease. Safe to repeat. One round trip.
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
   * Takes the permits of one holder away and grants them to those who wait: for a service that keeps permits for
   * others, and for operators. A holder that was not asked hears of it at its next renewal: only fencing tokens
   * protect what it does until then. Resolves to false when that holder has no permits (any more). Throws TypeError
   * for what is no `holder` of a lease. Safe to repeat, when `false` may also mean that the first call had been
   * carried out. One round trip.
   */
  async releaseFor(holder: string): Promise<boolean> {
    return this.#gate.release({ member: requireHolder(holder), fencingToken: 0 });
  }

  #gateFor(limit: number): SemaphoreGate {
    const { leaseMs } = this.#options;
    return new SemaphoreGate(this.#redis, { name: this.name, keys: this.#keys, limit, leaseMs });
  }

  #terms(options: TryAcquirePermitsOptions): AcquireTerms {
    const gate = this.#gate;
    const role = resolvePermits(options, gate.limit);
    return { name: this.name, gate, role, leaseMs: this.#options.leaseMs, isFair: true, isFenced: true };
  }

  #lease(terms: AcquireTerms, grant: Awaited<ReturnType<typeof acquire>>): Lease {
    return new Lease({ ...terms, keepMs: this.#options.keepMs }, grant);
  }
}
