import type { RedisClient } from '@mortise/redis';
import { requireClient } from '@mortise/redis';
import type { MutexState } from '../mutex/mutex.js';
import { Mutex } from '../mutex/mutex.js';
import type { AcquireOptions, MutexOptions } from '../options.js';
import {
  requireHolder,
  requireLeaseMs,
  requireNames,
  resolveAcquireOptions,
  resolveMutexOptions,
} from '../options.js';
import { requireNoReplicas } from '../replication/replication-options.js';
import { runUnder } from '../using.js';
import { acquireBy } from '../waiting/acquire.js';
import { Contender } from '../waiting/contender.js';
import { MultiGate, partsOf } from './multi-gate.js';
import { MultiLease } from './multi-lease.js';
import type { MultiTerms } from './multi-turn.js';
import { MultiTurn } from './multi-turn.js';
import { tryAll } from './try-all.js';

/**
 * Several locks that are taken together: all or none. Each of them is the lock that a Mutex of the same name and prefix
 * is, so the two exclude each other and wait in one queue.
 *
 * Everybody takes the names in one order, whatever order they were given in, so multi-locks never wait for each other in a
 * circle; a section that holds one and acquires another lock can. Not reentrant. An object is cheap, has no connection
 * of its own and needs no closing.
 */
export class MultiLock {
  /** Without repetitions, in the order in which they are taken: by Cluster slot, then by name. */
  readonly names: readonly string[];
  readonly #redis: RedisClient;
  readonly #options: MutexOptions;
  readonly #contender: Contender;
  readonly #terms: MultiTerms;

  /**
   * Throws TypeError or RangeError for a client, name or option that cannot be used. Sends nothing.
   *
   * @param names 1 to 100 different names; repetitions do not count.
   */
  constructor(redis: RedisClient, names: readonly string[], options: MutexOptions = {}) {
    const resolved = resolveMutexOptions(options);
    requireNoReplicas(options);
    const parts = partsOf(requireClient(redis), requireNames(names), options.prefix);
    this.names = parts.map(({ name }) => name);
    this.#redis = redis;
    this.#options = options;
    this.#contender = Contender.of(redis);
    this.#terms = {
      name: inShort(this.names),
      gate: new MultiGate(redis, parts),
      ...resolved,
    };
  }

  /**
   * Waits until it has all locks. Rejects with LockTimeoutError after `waitMs`, which names the lock that was waited for, with
   * the reason of `signal` when that is aborted, and with ERR_CLIENT_CLOSED when the client is closed meanwhile; what was
   * taken is given back then. Errors of ioredis pass through, also that of a client which was closed before. Locks that
   * are held while others are waited for keep those that want them waiting, and are renewed in the background.
   *
   * One round trip when all are free; on Cluster one for each slot, one after the other. Each lock that is not free costs
   * one more command, besides one for each process and second. O(names · log waiters).
   */
  async acquire(options: AcquireOptions = {}): Promise<MultiLease> {
    const resolved = resolveAcquireOptions(options);
    return new MultiLease(
      this.#terms,
      await acquireBy(() => new MultiTurn(this.#contender, this.#terms), resolved),
    );
  }

  /**
   * Resolves with all locks if all are free and nobody waits for any of them, else with null: then nothing is kept. Errors of
   * ioredis pass through. One round trip; on Cluster one for each slot, and one to give back what was taken. Two more for
   * each lock whose holder died, if those who wait for it have not noticed yet.
   */
  async tryAcquire(): Promise<MultiLease | null> {
    const grant = await tryAll(this.#contender, this.#terms);
    return grant && new MultiLease(this.#terms, grant);
  }

  /**
   * Acquires all locks, runs `section` with them and releases them. The signal that the section gets is aborted when the
   * lease of any of them ends too early, and when `signal` is aborted. Rejects as `acquire` does, with what the section
   * throws, and with LeaseLostError when a lease was over before the section was: then it may not have been alone. A
   * release that fails does not hide the result: the leases end by themselves. The commands of `acquire` and of `release`.
   */
  async using<Result>(
    section: (signal: AbortSignal, lease: MultiLease) => Promise<Result> | Result,
    options: AcquireOptions = {},
  ): Promise<Result> {
    return runUnder(this, section, options);
  }

  /**
   * The state of each lock, by its name, each at a moment of its own. One command for each name, all at once. To take one
   * of them away from whoever holds it, use `forceRelease` of its Mutex: they may have different holders.
   */
  async inspect(): Promise<ReadonlyMap<string, MutexState>> {
    const states = this.names.map(
      async (name) => [name, await new Mutex(this.#redis, name, this.#options).inspect()] as const,
    );
    return new Map(await Promise.all(states));
  }

  /**
   * Lengthens, to `leaseMs` from now, the leases of a holder that somebody else keeps, such as a client of a service that
   * takes locks for others. Resolves to false when that holder does not have all of the locks (any more). Throws TypeError
   * for what is no `holder` of a lease. Safe to repeat. One round trip.
   */
  async renewFor(holder: string, leaseMs: number = this.#terms.leaseMs): Promise<boolean> {
    const member = requireHolder(holder);
    const reply = await this.#terms.gate.renew({ member, tokens: undefined }, requireLeaseMs(leaseMs));
    return reply.isHeld;
  }

  /**
   * Releases all locks for a holder that somebody else keeps. Resolves to false when that holder does not have all of them
   * (any more): those that it has are released all the same. Throws TypeError for what is no `holder` of a lease. Safe to
   * repeat, when `false` may also mean that the first call had been carried out. One round trip.
   */
  async releaseFor(holder: string): Promise<boolean> {
    const { gate, isFair } = this.#terms;
    return gate.release({ member: requireHolder(holder), tokens: undefined }, isFair);
  }
}

/** What errors say of many names. */
function inShort(names: readonly string[]): string {
  const MAX_SHOWN = 3;
  const shown = names.slice(0, MAX_SHOWN).join(', ');
  return names.length > MAX_SHOWN ? `${shown} and ${names.length - MAX_SHOWN} more` : shown;
}
