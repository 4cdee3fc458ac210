import type { RedisClient } from '@mortise/redis';
import { requireClient } from '@mortise/redis';
import { acquire, tryAcquire } from '../acquire/acquire.js';
import { LockClient } from '../acquire/lock-client.js';
import { runUnder } from '../lease/using.js';
import type { MutexState } from '../mutex/mutex.js';
import { Mutex } from '../mutex/mutex.js';
import type { AcquireOptions, MultiLockOptions, NoOptions } from '../options.js';
import {
  requireHolder,
  requireLeaseMs,
  requireNames,
  requireNoOptions,
  resolveAcquireOptions,
  resolveMutexOptions,
} from '../options.js';
import { LockTelemetry, measured } from '../telemetry/lock-telemetry.js';
import { locksOf, MultiGate } from './multi-gate.js';
import { MultiLease } from './multi-lease.js';
import type { MultiLockTerms } from './multi-lock-request.js';
import { MultiLockRequest } from './multi-lock-request.js';

/**
 * Acquires several locks together: all or none. A Mutex of the same name and prefix is the same lock, so the two exclude each
 * other and wait in one queue.
 *
 * Every MultiLock takes its names in the same order, whatever the caller's order, so MultiLocks cannot deadlock. A section that
 * holds a MultiLock and acquires one more lock can deadlock. A MultiLock is not reentrant. An object is cheap, has no
 * connection of its own and needs no closing.
 */
export class MultiLock {
  /** Each name once, in the order of acquisition: by Cluster slot, then by name. */
  readonly names: readonly string[];
  readonly #redis: RedisClient;
  readonly #options: MultiLockOptions;
  readonly #client: LockClient;
  readonly #terms: MultiLockTerms;

  /**
   * Throws TypeError or RangeError for a wrong client, name or option. Sends nothing.
   *
   * @param names 1 to 100 different names. Repeated names count once.
   */
  constructor(redis: RedisClient, names: readonly string[], options: MultiLockOptions = {}) {
    const resolved = resolveMutexOptions('MultiLock', options);
    const locks = locksOf(requireClient(redis), requireNames(names), options.prefix);
    this.names = locks.map(({ name }) => name);
    this.#redis = redis;
    this.#options = options;
    this.#client = LockClient.of(redis);
    this.#terms = {
      name: inShort(this.names),
      gate: new MultiGate(redis, locks),
      telemetry: LockTelemetry.of(options.telemetry, 'multi-lock'),
      ...resolved,
    };
  }

  /**
   * Waits until it holds all locks. Rejects with LockTimeoutError after `waitMs`, which names the blocking lock, and with the
   * signal's reason when it is aborted. Rejects with ERR_CLIENT_CLOSED when the client is closed during the wait. After a
   * rejection the acquired locks are released. Errors of ioredis pass through, also for a client that was already closed. While
   * the call waits for one lock, it holds the earlier locks and renews them in the background.
   *
   * One round trip if all locks are free; on Cluster one for each slot, one after another. Each lock that is not free costs one
   * more command, and one more a second for each waiting process. O(names · log waiters).
   */
  async acquire(options: AcquireOptions = {}): Promise<MultiLease> {
    const resolved = resolveAcquireOptions(options);
    const waiting = acquire(this.#client, (waits) => this.#request(waits), resolved);
    const grant = await measured(this.#terms.telemetry, waiting);
    return new MultiLease(this.#terms, grant);
  }

  /**
   * Resolves with all locks if all are free and nobody waits for any of them. Otherwise resolves with null, and holds no lock.
   * Errors of ioredis pass through. One round trip; on Cluster one for each slot, and one to release acquired locks. Two more
   * for each lock whose holder died unnoticed by its waiters.
   */
  async tryAcquire(options: NoOptions = {}): Promise<MultiLease | null> {
    requireNoOptions('tryAcquire', options);
    const grant = await measured(this.#terms.telemetry, tryAcquire(this.#request(false)));
    return grant && new MultiLease(this.#terms, grant);
  }

  /**
   * Acquires all locks, runs `section` and releases the locks. The section's signal is aborted when one of the leases ends too
   * early, and when `signal` is aborted. Rejects as `acquire` does, with the section's error, and with LeaseLostError if a
   * lease ended before the section: then another holder may have that lock. A failed release does not hide the result, since
   * the leases expire. The call costs the commands of `acquire` and `release`.
   */
  async using<Result>(
    section: (signal: AbortSignal, lease: MultiLease) => Promise<Result> | Result,
    options: AcquireOptions = {},
  ): Promise<Result> {
    return runUnder(this, section, options);
  }

  /**
   * The state of each lock, by its name. Each lock is read at its own instant. One command for each name, in parallel. The
   * locks may have different holders. To take a lock away from its holder, use `forceRelease` of its Mutex.
   */
  async inspect(): Promise<ReadonlyMap<string, MutexState>> {
    const states = this.names.map(
      async (name) => [name, await new Mutex(this.#redis, name, this.#options).inspect()] as const,
    );
    return new Map(await Promise.all(states));
  }

  /**
   * Extends the leases of a holder to `leaseMs` from now, for a service that acquires locks for its clients. Resolves to
   * false if that holder does not hold all of the locks. Throws TypeError for a value that is not the `holder` of a lease.
   * Safe to repeat. One round trip.
   */
  async renewFor(holder: string, leaseMs: number = this.#terms.leaseMs): Promise<boolean> {
    const member = requireHolder(holder);
    const reply = await this.#terms.gate.renew({ member, tokens: undefined }, requireLeaseMs(leaseMs));
    return reply.isHeld;
  }

  /**
   * Releases all locks of a holder, for a service that acquires locks for its clients. Resolves to false if that holder
   * does not hold all of them; the held ones are still released. Throws TypeError for a value that is not the `holder` of a
   * lease. Safe to repeat: then `false` may also mean that the first call was executed. One round trip.
   */
  async releaseFor(holder: string): Promise<boolean> {
    const { gate, isFair } = this.#terms;
    return gate.release({ member: requireHolder(holder), tokens: undefined }, isFair);
  }

  #request(waits: boolean): MultiLockRequest {
    return new MultiLockRequest(this.#client, this.#terms, waits);
  }
}

/** The names, shortened for an error message. */
function inShort(names: readonly string[]): string {
  const MAX_SHOWN = 3;
  const shown = names.slice(0, MAX_SHOWN).join(', ');
  return names.length > MAX_SHOWN ? `${shown} and ${names.length - MAX_SHOWN} more` : shown;
}
