import type { RedisClient } from '@mortise/redis';
import { requireName } from '@mortise/redis';
import { LockTimeoutError, QuorumUnreachableError } from '../errors.js';
import { QuorumMutexKeys } from '../keys.js';
import { Lease } from '../lease.js';
import type { AcquireOptions, QuorumMutexOptions } from '../options.js';
import {
  requireHolder,
  requireLeaseMs,
  requireNodes,
  resolveAcquireOptions,
  resolveQuorumMutexOptions,
} from '../options.js';
import { runUnder } from '../using.js';
import { acquireBy } from '../waiting/acquire.js';
import { Contender } from '../waiting/contender.js';
import { count, majorityOf } from './ballot.js';
import { Candidacy, unreachable } from './candidacy.js';
import type { QuorumTerms } from './candidacy.js';
import { LocalLine } from './local-line.js';
import { QuorumNode } from './quorum-node.js';
import type { QuorumGrant } from './quorum-turn.js';
import { QuorumTurn, stand } from './quorum-turn.js';

/** What `inspect` sees. */
export interface QuorumMutexState {
  /** The `holder` of the lease that has a majority of the votes, or null. */
  readonly holder: string | null;
  /** What each node says, in the order of the clients; null for one that did not answer in time. */
  readonly votes: readonly ({ readonly holder: string | null; readonly remainingMs: number } | null)[];
}

/** Whoever has the vote, where a member is asked for. No member has this form. */
const ANY_HOLDER = '*';

/**
 * An exclusive lock that a majority of independent Redis servers grants (Redlock, by Salvatore Sanfilippo,
 * https://redis.io/docs/latest/develop/use/patterns/distributed-locks/). It outlives the failure of a minority of them.
 *
 * Its leases have no fencing tokens (`fencingToken` is 0), so nothing protects a resource from a holder that was paused for
 * longer than its lease. Use a Mutex on one primary with fencing unless you know that you need this. It is another lock
 * than a Mutex of the same name. Who waits is served in order within a process, and at random among processes.
 */
export class QuorumMutex {
  readonly name: string;
  readonly #redis: RedisClient;
  readonly #terms: QuorumTerms;

  /**
   * Throws TypeError or RangeError for clients, a name or options that cannot be used. Sends nothing.
   *
   * @param clients Of 3 to 15 servers, an odd number, that share nothing: no replicas of each other, no common host. All
   * users of a lock need the same servers.
   */
  constructor(clients: readonly RedisClient[], name: string, options: QuorumMutexOptions = {}) {
    this.name = requireName('name', name);
    const nodes = requireNodes(clients).map((client) => QuorumNode.of(client));
    this.#redis = clients[0]!;
    this.#terms = {
      ...resolveQuorumMutexOptions(options),
      name,
      nodes,
      keys: new QuorumMutexKeys(name, options.prefix),
    };
  }

  /**
   * Waits until a majority of the nodes has granted the lock. Rejects with LockTimeoutError after `waitMs`, with
   * QuorumUnreachableError if too few nodes answered lately, or if too few clients are open, and with the reason of `signal`
   * when that is aborted. Never rejects because a minority of the nodes fails, and doesn't wait for it. Votes for which it
   * is too late, or which are no majority, are given back.
   *
   * One command on each node when the lock is free, all at once. Whoever waits sends nothing but one command to each node in
   * a second, and asks anew when a lock is released, after a random pause of up to 8 ms.
   */
  async acquire(options: AcquireOptions = {}): Promise<Lease> {
    const resolved = resolveAcquireOptions(options);
    const { keys } = this.#terms;
    const contender = Contender.of(this.#redis);
    const begin = (): QuorumTurn => {
      return new QuorumTurn(contender, this.#terms, LocalLine.of(this.#redis, keys.vote));
    };
    try {
      return this.#lease(await acquireBy(begin, resolved));
    } catch (error) {
      const isUnreachable =
        error instanceof LockTimeoutError && error.cause instanceof QuorumUnreachableError;
      throw isUnreachable ? error.cause : error;
    }
  }

  /**
   * Resolves with the lock if a majority of the nodes grants it at once, else with null: also when others try at the same
   * time, and none of them gets a majority. Rejects with QuorumUnreachableError if too few nodes answered. One command on
   * each node.
   */
  async tryAcquire(): Promise<Lease | null> {
    const { grant, ballot } = await stand(Contender.of(this.#redis), this.#terms);
    if (!grant && !ballot.isWon && !ballot.isLost) throw unreachable(this.name, ballot);
    return grant && this.#lease(grant);
  }

  /**
   * Acquires the lock, runs `section` with it and releases it. The signal that the section gets is aborted when the
   * lease ends too early, and when `signal` is aborted. Rejects as `acquire` does, with what the section throws, and
   * with LeaseLostError when the lease was over before the section was: then it may not have been alone. A release
   * that fails does not hide the result: the lease ends by itself. The commands of `acquire`, and one on each node.
   */
  async using<Result>(
    section: (signal: AbortSignal, lease: Lease) => Promise<Result> | Result,
    options: AcquireOptions = {},
  ): Promise<Result> {
    return runUnder(this, section, options);
  }

  /**
   * What each node says, each at a moment of its own. Rejects with QuorumUnreachableError if too few answered. One command
   * on each node.
   */
  async inspect(): Promise<QuorumMutexState> {
    const { nodes, keys, nodeTimeoutMs } = this.#terms;
    const asks = nodes.map((node) => node.ask(() => node.inspect(keys), nodeTimeoutMs));
    const results = await Promise.allSettled(asks);
    const votes = results.map((result) => (result.status === 'fulfilled' ? result.value : null));
    if (votes.filter(Boolean).length < majorityOf(nodes.length)) {
      throw unreachable(this.name, await count(asks, () => true));
    }
    const holders = votes.map((vote) => vote?.holder ?? null);
    const isElected = (holder: string | null): boolean =>
      holder !== null && holders.filter((other) => other === holder).length >= majorityOf(nodes.length);
    return { holder: holders.find(isElected) ?? null, votes };
  }

  /**
   * Takes the votes of all nodes away from whoever has them, and wakes those who wait. Resolves to whether a majority had
   * been given. The former holder hears of it at its next renewal, and nothing protects what it does until then. Rejects with
   * QuorumUnreachableError if too few nodes answered. One command on each node.
   */
  forceRelease(): Promise<boolean> {
    return new Candidacy(this.#terms, ANY_HOLDER, false).release();
  }

  /**
   * Lengthens, to `leaseMs` from now, the lease of a holder that somebody else keeps, such as a client of a service that
   * takes locks for others. Resolves to false when that holder does not have a majority (any more). Throws TypeError for
   * what is no `holder` of a lease. Rejects with QuorumUnreachableError if too few nodes answered. Safe to repeat. One
   * command on each node.
   */
  async renewFor(holder: string, leaseMs: number = this.#terms.leaseMs): Promise<boolean> {
    const candidacy = new Candidacy(this.#terms, requireHolder(holder), false);
    const { isHeld, sentAt } = await candidacy.renew(undefined, requireLeaseMs(leaseMs));
    return isHeld && performance.now() < sentAt + leaseMs;
  }

  /**
   * Releases the lock for a holder that somebody else keeps. Resolves to false when that holder did not have a majority (any
   * more). Throws TypeError for what is no `holder` of a lease. Rejects with QuorumUnreachableError if too few nodes
   * answered. Safe to repeat, when `false` may also mean that the first call had been carried out. One command on each node.
   */
  async releaseFor(holder: string): Promise<boolean> {
    return new Candidacy(this.#terms, requireHolder(holder), false).release();
  }

  #lease({ candidacy, ...grant }: QuorumGrant): Lease {
    const gate = {
      renew: (holder: unknown, termMs: number) => candidacy.renew(holder, termMs),
      release: () => candidacy.release(),
    };
    return new Lease({ ...this.#terms, gate, isFair: true }, grant);
  }
}
