import { injectingDecorator } from '@mortise/redis/nestjs';
import type { AcquireOptions, MutexOptions } from '../options.js';
import { known } from '../options.js';
import { getLocksToken } from './tokens.js';

/** Options of @Locked. */
export interface LockedOptions extends MutexOptions, Pick<AcquireOptions, 'waitMs'> {
  /** The name of the `LocksModule` whose client and defaults are used. Default: the one without a name. */
  readonly module?: string | undefined;
}

/**
 * Runs a method of a provider or a controller under a Mutex. The name of the Mutex is fixed, or made from the arguments. Calls
 * of all processes wait for each other, as with `Mutex.using`. The method rejects with LockTimeoutError after `waitMs`, and
 * with LeaseLostError if the lease ended before the method did. A method that must learn of the loss earlier, or that needs the
 * fencing token, takes the lock itself: `locks.mutex(name).using(…)`.
 *
 * An unknown option throws TypeError. The boot fails without a `LocksModule`. The lock is not reentrant: a method that calls
 * another one under the same name waits for itself. A call costs two commands, as `using` does.
 */
export function Locked<Args extends unknown[] = []>(
  name: string | ((...args: Args) => string),
  lockedOptions: LockedOptions = {},
): ReturnType<typeof injectingDecorator<unknown, Args>> {
  const { module, waitMs, ...options } = known('@Locked', lockedOptions);
  return injectingDecorator(
    `locks of @Locked, ${module ?? 'default'}`,
    getLocksToken(module),
    async (locks, args: Args, run) => {
      const lockName = typeof name === 'string' ? name : name(...args);
      return locks.mutex(lockName, options).using(run, { waitMs });
    },
  );
}
