import type { RedisClient } from '@mortise/redis';
import { requireName } from '@mortise/redis';
import { Contender } from './contender.js';
import { LockTimeoutError } from './errors.js';
import { MutexKeys } from './keys.js';
import { Lease } from './lease.js';
import type { LeaseTerms } from './lease.js';
import type { AcquireReply } from './mutex-commands.js';
import { ANY_HOLDER } from './mutex-commands.js';
import type { AcquireOptions, MutexOptions } from './options.js';
import { resolveAcquireOptions, resolveMutexOptions } from './options.js';
import { memberOf, Turn } from './turn.js';
import { TIMED_OUT, within } from './within.js';

/** What `inspect` sees. */
export interface MutexState {
  /** The `holder` of the lease that holds the lock, or null. */
  readonly holder: string | null;
  /** The last fencing token that was given: the holder's, if there is one. Null if none is known. */
  readonly fencingToken: number | null;
  /** What is left of the holder's lease, ms; 0 if nobody holds the lock. */
  readonly remainingMs: number;
  /** How many wait. */
  readonly queueLength: number;
}

/**
 * An exclusive lock with a lease, a fencing token and, unless `fair` is false, one queue for all processes.
 *
 * Not reentrant: who holds it and acquires it again waits for itself. An object is cheap, has no connection of its
 * own and needs no closing; objects with the same name and prefix are the same lock.
 */
export class Mutex {
  readonly name: string;
  readonly #contender: Contender;
  readonly #terms: LeaseTerms;

  /** Throws TypeError or RangeError for a client, name or option that cannot be used. Sends nothing. */
  constructor(redis: RedisClient, name: string, options: MutexOptions = {}) {
    const { prefix } = options;
    this.name = requireName('name', name);
    this.#contender = Contender.of(redis);
    this.#terms = {
      name,
      keys: new MutexKeys(name, prefix),
      commands: this.#contender.commands,
      ...resolveMutexOptions(options),
    };
  }

  /**
   * Waits for its turn and resolves with the lock. Rejects with LockTimeoutError after `waitMs`, with the reason of
   * `signal` when that is aborted, and with ERR_CLIENT_CLOSED when the client is closed; it leaves the queue
   * then. Errors of ioredis pass through. A reply that comes after the end of its lease is not an acquired lock: it
   * is given back, and the wait goes on. One round trip when the lock is free; while there is contention one command
   * for each acquisition, besides one for each process and second. O(log waiters).
   */
  async acquire(options: AcquireOptions = {}): Promise<Lease> {
    const { waitMs, signal } = resolveAcquireOptions(options);
    const deadlineAt = performance.now() + waitMs;
    for (;;) {
      signal?.throwIfAborted();
      const turn = new Turn(this.#contender, this.#terms);
      try {
        const grant = await within(turn.granted, deadlineAt - performance.now(), signal);
        if (grant === TIMED_OUT) throw this.#timeout(waitMs, turn.failure);
        if (grant && isInTime(grant)) return new Lease(this.#terms, grant);
      } catch (error) {
        turn.leave();
        throw error;
      }
      turn.leave();
      if (performance.now() >= deadlineAt) throw this.#timeout(waitMs, turn.failure);
    }
  }

  /**
   * Resolves with the lock if it is free and nobody waits for it, else with null. Errors of ioredis pass through. One
   * round trip; three when a holder died and those who wait for it have not noticed yet.
   */
  async tryAcquire(): Promise<Lease | null> {
    const { keys, commands, leaseMs, isFair } = this.#terms;
    const member = memberOf(this.#contender, this.#contender.nextTurn(), leaseMs);
    const ask = (): Promise<AcquireReply> =>
      commands.acquire({ keys, member, leaseMs, mode: isFair ? 'try' : 'grab' });
    let reply = await ask();
    if (reply.outcome !== 'held' && reply.remainingMs < 0) {
      // Those who wait may be dead; then nobody but us can take them out of the queue.
      await commands.recheck(keys, []);
      reply = await ask();
    }
    if (reply.outcome !== 'held') return null;
    const grant = { member, fencingToken: reply.value, startsAt: reply.sentAt, termMs: leaseMs };
    if (isInTime(grant)) return new Lease(this.#terms, grant);
    await commands.release(keys, member, isFair);
    return null;
  }

  /**
   * Acquires the lock, runs `section` with it and releases it. The signal that the section gets is aborted when the
   * lease ends too early, and when `signal` is aborted. Rejects as `acquire` does, with what the section throws, and
   * with LeaseLostError when the lease was over before the section was: then it may not have been alone. A release
   * that fails does not hide the result: the lease ends by itself.
   */
  async using<Result>(
    section: (signal: AbortSignal, lease: Lease) => Promise<Result> | Result,
    options: AcquireOptions = {},
  ): Promise<Result> {
    await using lease = await this.acquire(options);
    const signals = options.signal ? [lease.signal, options.signal] : [lease.signal];
    const result = await section(AbortSignal.any(signals), lease);
    lease.signal.throwIfAborted();
    return result;
  }

  /** The state of the lock at one moment. It may have changed when it arrives. One round trip, O(1). */
  async inspect(): Promise<MutexState> {
    const { holder, fencingToken, remainingMs, queueLength } = await this.#terms.commands.inspect(
      this.#terms.keys,
    );
    return {
      holder,
      fencingToken: fencingToken > 0 ? fencingToken : null,
      remainingMs: Math.max(0, remainingMs),
      queueLength,
    };
  }

  /**
   * Takes the lock away from whoever holds it and gives it to the first waiter. Resolves to whether somebody held it.
   * The former holder is not asked, and hears of it at its next renewal: only fencing tokens protect what it does
   * until then. One round trip.
   */
  forceRelease(): Promise<boolean> {
    const { commands, keys } = this.#terms;
    return commands.release(keys, ANY_HOLDER, true);
  }

  #timeout(waitMs: number, cause: unknown): LockTimeoutError {
    return new LockTimeoutError(this.name, waitMs, cause === undefined ? undefined : { cause });
  }
}

function isInTime({ startsAt, termMs }: { readonly startsAt: number; readonly termMs: number }): boolean {
  return performance.now() < startsAt + termMs;
}
