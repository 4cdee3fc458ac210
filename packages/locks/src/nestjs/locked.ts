import { Inject } from '@nestjs/common';
import type { AcquireOptions, MutexOptions } from '../options.js';
import type { Locks } from './locks.js';
import { getLocksToken } from './tokens.js';

/** How the lock of a method is held, and how long a call waits for it. */
export interface LockedOptions extends MutexOptions, Pick<AcquireOptions, 'waitMs'> {
  /** The name of the `LocksModule` whose client and defaults are used. Default: the one without a name. */
  readonly module?: string | undefined;
}

type Method<Args extends unknown[], Result> = (...args: Args) => Promise<Result>;

/**
 * Runs a method of a provider or a controller under a Mutex, of a fixed name or of one that is made of the arguments. Calls
 * wait for each other, among all processes, as with `using` of Mutex: rejects with LockTimeoutError after `waitMs`, and
 * with LeaseLostError when the lease was over before the method was. A method that has to know of that earlier, or to
 * write the fencing token, takes the lock itself: `locks.mutex(name).using(…)`.
 *
 * The boot fails if there is no `LocksModule`. Not reentrant: a method that calls another one under the same name
 * waits for itself. Two commands, as `using`.
 */
export function Locked<Args extends unknown[] = []>(
  name: string | ((...args: Args) => string),
  { module, waitMs, ...options }: LockedOptions = {},
) {
  const property = Symbol(`locks of @Locked, ${module ?? 'default'}`);
  return <Rest extends unknown[], Result>(
    prototype: object,
    _key: string | symbol,
    descriptor: TypedPropertyDescriptor<Method<[...Args, ...Rest], Result>>,
  ): void => {
    const method = descriptor.value!;
    Inject(getLocksToken(module))(prototype, property);
    const locked = async function (
      this: { readonly [property]: Locks },
      ...args: [...Args, ...Rest]
    ): Promise<Result> {
      const lockName = typeof name === 'string' ? name : name(...(args as unknown as Args));
      const mutex = this[property].mutex(lockName, options);
      return mutex.using(() => method.apply(this, args), { waitMs });
    };
    // What the decorators below have left on the method (a route, a guard, a schedule) is looked for on what replaces it.
    for (const key of Reflect.getOwnMetadataKeys(method)) {
      Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, method), locked);
    }
    descriptor.value = Object.defineProperty(locked, 'name', { value: method.name });
  };
}
