import type { RedisClient } from '@mortise/redis';
import { requireClient, requireObject } from '@mortise/redis';
import { withDefaults } from '@mortise/redis/nestjs';
import { CountDownLatch } from '../count-down-latch/count-down-latch.js';
import { MultiLock } from '../multi-lock/multi-lock.js';
import { Mutex } from '../mutex/mutex.js';
import type {
  CountDownLatchOptions,
  MultiLockOptions,
  MutexOptions,
  RateLimiterOptions,
  ReadWriteLockOptions,
  SemaphoreOptions,
} from '../options.js';
import { defaultsOf } from '../options.js';
import { QuorumMutex } from '../quorum/quorum-mutex.js';
import type { QuorumMutexOptions } from '../quorum/quorum-options.js';
import { RateLimiter } from '../rate-limiter/rate-limiter.js';
import { ReadWriteLock } from '../read-write-lock/read-write-lock.js';
import { Semaphore } from '../semaphore/semaphore.js';

/**
 * Makes locks on one client, with the defaults of its module. The options of a call override them. The defaults `prefix` and
 * `telemetry` apply to all kinds. `leaseMs`, `renew` and `maxHoldMs` apply to kinds with leases, `fair` and `fencing` to
 * `mutex` and `multiLock`.
 *
 * A lock is cheap and keeps nothing open: make it where you need it, `locks.mutex(`invoice:${id}`)`. All methods throw
 * TypeError or RangeError for a name or option that cannot be used, and send nothing.
 */
export class Locks {
  readonly #redis: RedisClient;
  readonly #defaults: MutexOptions;

  /** Throws TypeError or RangeError for a client or a default that cannot be used. */
  constructor(redis: RedisClient, defaults: MutexOptions = {}) {
    this.#redis = requireClient(redis);
    this.#defaults = requireObject('options', defaults);
    // A Mutex has all defaults, so it refuses wrong ones.
    this.mutex('any', defaults);
  }

  /** A lock with one holder at a time. */
  mutex(name: string, options: MutexOptions = {}): Mutex {
    return new Mutex(this.#redis, name, this.#with('Mutex', options));
  }

  /** Several of these locks, all or none. */
  multiLock(names: readonly string[], options: MultiLockOptions = {}): MultiLock {
    return new MultiLock(this.#redis, names, this.#with('MultiLock', options));
  }

  /** A lock with many readers or one writer. */
  readWriteLock(name: string, options: ReadWriteLockOptions = {}): ReadWriteLock {
    return new ReadWriteLock(this.#redis, name, this.#with('ReadWriteLock', options));
  }

  /** A limited number of permits at the same time. */
  semaphore(name: string, options: SemaphoreOptions): Semaphore {
    return new Semaphore(this.#redis, name, this.#with('Semaphore', options));
  }

  /** A limited number of permits in a period. */
  rateLimiter(name: string, options: RateLimiterOptions): RateLimiter {
    return new RateLimiter(this.#redis, name, this.#with('RateLimiter', options));
  }

  /** A latch that opens after a number of count-downs. */
  countDownLatch(name: string, options: CountDownLatchOptions): CountDownLatch {
    return new CountDownLatch(this.#redis, name, this.#with('CountDownLatch', options));
  }

  /** A lock that a majority of independent servers grants. It does not use the client of the module. */
  quorumMutex(clients: readonly RedisClient[], name: string, options: QuorumMutexOptions = {}): QuorumMutex {
    return new QuorumMutex(clients, name, this.#with('QuorumMutex', options));
  }

  #with<Options extends object>(kind: Parameters<typeof defaultsOf>[0], options: Options): Options {
    return withDefaults<Options>(defaultsOf(kind, this.#defaults), requireObject('options', options));
  }
}
