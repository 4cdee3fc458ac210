import type { RedisClient } from '@mortise/redis';
import { requireName } from '@mortise/redis';
import { acquireBy } from '../acquire/acquire.js';
import { LockClient } from '../acquire/lock-client.js';
import { LockTimeoutError, QuorumUnreachableError } from '../errors.js';
import { QuorumMutexKeys } from '../keys.js';
import { Lease } from '../lease/lease.js';
import { runUnder } from '../lease/using.js';
import type { AcquireOptions, NoOptions, ResolvedAcquireOptions } from '../options.js';
import { requireHolder, requireLeaseMs, requireNoOptions, resolveAcquireOptions } from '../options.js';
import { LockTelemetry, measured } from '../telemetry/lock-telemetry.js';
import type { QuorumTerms } from './candidate.js';
import { Candidate, unreachable } from './candidate.js';
import { countVotes, majorityOf } from './count-votes.js';
import { LocalQueue } from './local-queue.js';
import type { QuorumGrant } from './quorum-acquisition.js';
import { QuorumAcquisition, requestOnce } from './quorum-acquisition.js';
import { QuorumNode } from './quorum-node.js';
import type { QuorumMutexOptions } from './quorum-options.js';
import { requireNodes, resolveQuorumMutexOptions } from './quorum-options.js';

/** The state of the lock, from `inspect`. */
export interface QuorumMutexState {
  /** The `holder` of the lease that has a majority of the votes, or null. */
  readonly holder: string | null;
  /** Each node's reply, in the order of the clients; null if it did not reply in time. */
  readonly votes: readonly ({ readonly holder: string | null; readonly remainingMs: number } | null)[];
}

/**
 * An exclusive lock that a majority of independent Redis servers grants (Redlock, by Salvatore Sanfilippo,
 * https://redis.io/docs/latest/develop/use/patterns/distributed-locks/). The lock outlives the failure of a minority of the
 * servers.
 *
 * Its leases have no fencing tokens (`fencingToken` is 0), so nothing protects a resource from a holder that was paused for
 * longer than its lease. Prefer a Mutex on one primary with fencing, unless you know that you need this. A Mutex of the same
 * name is another lock. Waiters are served in order within a process, and at random among processes.
 */
export class QuorumMutex {
  readonly name: string;
  readonly #redis: RedisClient;
  readonly #terms: QuorumTerms;

  /**
   * Throws TypeError or RangeError for wrong clients, names or options. Sends nothing.
   *
   * @param clients Clients of 3 to 15 servers, an odd number, that share nothing: no replicas of each other, no common
   *   host. All users of a lock need the same servers.
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
      telemetry: LockTelemetry.of(options.telemetry, 'quorum-mutex'),
    };
  }

  /**
   * Waits until a majority of the nodes has granted the lock. Rejects with LockTimeoutError after `waitMs`, and with the
   * signal's reason when it is aborted. Rejects with QuorumUnreachableError if too few nodes replied to the last request or too
   * few clients are open. The failure of a minority of the nodes causes neither a rejection nor a wait. Votes that come too
   * late, or are not a majority, are given back.
   *
   * One command on each node if the lock is free, in parallel. A waiter sends one command a second to each node, and tries
   * again after a release and a random pause of up to 8 ms.
   */
  async acquire(options: AcquireOptions = {}): Promise<Lease> {
    const resolved = resolveAcquireOptions(options);
    return this.#lease(await measured(this.#terms.telemetry, this.#acquire(resolved)));
  }

  /**
   * Resolves with the lock if a majority of the nodes grants it at once, else with null. Callers that try at the same time
   * may all get null, because none has a majority. Rejects with QuorumUnreachableError if too few nodes replied. One command
   * on each node.
   */
  async tryAcquire(options: NoOptions = {}): Promise<Lease | null> {
    requireNoOptions('tryAcquire', options);
    const grant = await measured(this.#terms.telemetry, this.#tryAcquire());
    return grant && this.#lease(grant);
  }

  /**
   * Acquires the lock, runs `section` and releases the lock. The section's signal is aborted when the lease ends too early, and
   * when `signal` is aborted. Rejects as `acquire` does, with the section's error, and with LeaseLostError if the lease ended
   * before the section: then another holder may have the lock. A failed release does not hide the result, since the lease
   * expires. The call costs the commands of `acquire`, and one more on each node.
   */
  async using<Result>(
    section: (signal: AbortSignal, lease: Lease) => Promise<Result> | Result,
    options: AcquireOptions = {},
  ): Promise<Result> {
    return runUnder(this, section, options);
  }

  /**
   * The state on each node. Each node is read at its own instant. Rejects with QuorumUnreachableError if too few nodes replied.
   * One command on each node.
   */
  async inspect(): Promise<QuorumMutexState> {
    const { nodes, keys, nodeTimeoutMs } = this.#terms;
    const requests = nodes.map((node) => node.limit(() => node.inspect(keys), nodeTimeoutMs));
    const results = await Promise.allSettled(requests);
    const votes = results.map((result) => (result.status === 'fulfilled' ? result.value : null));
    if (votes.filter(Boolean).length < majorityOf(nodes.length)) {
      throw unreachable(this.name, await countVotes(requests, () => true));
    }
    const holders = votes.map((vote) => vote?.holder ?? null);
    const hasMajority = (holder: string | null): boolean =>
      holder !== null && holders.filter((other) => other === holder).length >= majorityOf(nodes.length);
    return { holder: holders.find(hasMajority) ?? null, votes };
  }

  /**
   * Takes all votes away from their holders and wakes the waiters. Resolves to whether a holder had a majority. The former
   * holder learns of the loss at its next renewal; until then nothing protects the resource. Rejects with
   * QuorumUnreachableError if too few nodes replied. Two commands on each node. If the client resends the command, no later
   * holder loses a vote; then `false` may also mean that the first command was executed.
   */
  async forceRelease(): Promise<boolean> {
    const { votes } = await this.inspect();
    const holders = new Set(votes.map((vote) => vote?.holder ?? '').filter(Boolean));
    const released = Array.from(holders, (holder) => new Candidate(this.#terms, holder, false).release());
    return (await Promise.all(released)).includes(true);
  }

  /**
   * Extends the lease of a holder to `leaseMs` from now, for a service that acquires locks for its clients. Resolves to
   * false if that holder has no majority. Throws TypeError for a value that is not the `holder` of a lease. Rejects with
   * QuorumUnreachableError if too few nodes replied. Safe to repeat. One command on each node.
   */
  async renewFor(holder: string, leaseMs: number = this.#terms.leaseMs): Promise<boolean> {
    const candidate = new Candidate(this.#terms, requireHolder(holder), false);
    const { isHeld, sentAt } = await candidate.renew(undefined, requireLeaseMs(leaseMs));
    return isHeld && performance.now() < sentAt + leaseMs;
  }

  /**
   * Releases the lock of a holder, for a service that acquires locks for its clients. Resolves to false if that holder had
   * no majority. Throws TypeError for a value that is not the `holder` of a lease. Rejects with QuorumUnreachableError if
   * too few nodes replied. Safe to repeat: then `false` may also mean that the first call was executed. One command on each
   * node.
   */
  async releaseFor(holder: string): Promise<boolean> {
    return new Candidate(this.#terms, requireHolder(holder), false).release();
  }

  async #acquire(options: ResolvedAcquireOptions): Promise<QuorumGrant> {
    const { waitMs, signal } = options;
    if (waitMs === 0) {
      signal?.throwIfAborted();
      const grant = await this.#tryAcquire();
      if (!grant) throw new LockTimeoutError(this.name, waitMs);
      return grant;
    }
    const queue = (): LocalQueue => LocalQueue.of(this.#redis, this.#terms.keys.vote);
    const client = LockClient.of(this.#redis);
    try {
      return await acquireBy(() => new QuorumAcquisition(client, this.#terms, queue()), options);
    } catch (error) {
      const isUnreachable =
        error instanceof LockTimeoutError && error.cause instanceof QuorumUnreachableError;
      throw isUnreachable ? error.cause : error;
    }
  }

  async #tryAcquire(): Promise<QuorumGrant | null> {
    const { grant, count } = await requestOnce(LockClient.of(this.#redis), this.#terms);
    if (!grant && !count.isWon && !count.isLost) throw unreachable(this.name, count);
    return grant;
  }

  #lease({ candidate, ...grant }: QuorumGrant): Lease {
    const gate = {
      renew: (holder: unknown, termMs: number) => candidate.renew(holder, termMs),
      release: () => candidate.release(),
    };
    return new Lease({ ...this.#terms, gate, isFair: true }, grant);
  }
}
