import type { RedisClient } from '@mortise/redis';
import { requireClient } from '@mortise/redis';
import { CountDownLatch } from '../count-down-latch/count-down-latch.js';
import { MultiLock } from '../multi-lock/multi-lock.js';
import { Mutex } from '../mutex/mutex.js';
import type {
  CountDownLatchOptions,
  MutexOptions,
  RateLimiterOptions,
  ReadWriteLockOptions,
  SemaphoreOptions,
} from '../options.js';
import { requireOptions } from '../options.js';
import { RateLimiter } from '../rate-limiter/rate-limiter.js';
import { ReadWriteLock } from '../read-write-lock/read-write-lock.js';
import { Semaphore } from '../semaphore/semaphore.js';

/**
 * Makes locks on one client, with the defaults of its module; what a call gives wins over them. Each kind takes those that
 * it has: `prefix` all, `leaseMs`, `renew` and `maxHoldMs` what has leases, `fair` and `fencing` `mutex` and `multiLock`.
 *
 * What it makes is cheap and keeps nothing open: make a lock where it is needed, `locks.mutex(`invoice:${id}`)`. All
 * methods throw TypeError or RangeError for a name or option that cannot be used, and send nothing.
 */
export class Locks {
  readonly #redis: RedisClient;
  readonly #defaults: MutexOptions;

  /** Throws TypeError or RangeError for a client or a default that cannot be used. */
  constructor(redis: RedisClient, defaults: MutexOptions = {}) {
    this.#redis = requireClient(redis);
    this.#defaults = requireOptions(defaults);
    // Takes all of them, so it refuses what no lock can use.
    this.mutex('any');
  }

  /** A lock that one holder has at a time. */
  mutex(name: string, options: MutexOptions = {}): Mutex {
    return new Mutex(this.#redis, name, this.#with(options));
  }

  /** Several of these locks, all or none. */
  multiLock(names: readonly string[], options: MutexOptions = {}): MultiLock {
    return new MultiLock(this.#redis, names, this.#with(options));
  }

  /** A lock that many read or one writes. */
  readWriteLock(name: string, options: ReadWriteLockOptions = {}): ReadWriteLock {
    return new ReadWriteLock(this.#redis, name, this.#with(options));
  }

  /** At most so many permits at the same time. */
  semaphore(name: string, options: SemaphoreOptions): Semaphore {
    return new Semaphore(this.#redis, name, this.#with(options));
  }

  /** At most so many permits in a period. */
  rateLimiter(name: string, options: RateLimiterOptions): RateLimiter {
    return new RateLimiter(this.#redis, name, this.#with(options));
  }

  /** A gate that opens after so many count-downs. */
  countDownLatch(name: string, options: CountDownLatchOptions): CountDownLatch {
    return new CountDownLatch(this.#redis, name, this.#with(options));
  }

  /** An option that is undefined is not given, as everywhere in this package. */
  #with<Options extends object>(options: Options): Options {
    const given = Object.entries(requireOptions(options)).filter(([, value]) => value !== undefined);
    return { ...this.#defaults, ...Object.fromEntries(given) } as Options;
  }
}
