import { Inject } from '@nestjs/common';
import type { Cache } from '../read-through/cache.js';
import type { EntryOptions } from '../read-through/options.js';
import { getCacheToken } from './tokens.js';

type Method<Args extends unknown[], Result> = (...args: Args) => Promise<Result>;

/** Where the result of a method goes. */
export interface CachedOptions<Args extends unknown[]> extends Pick<EntryOptions, 'ttlMs' | 'staleMs'> {
  /** The key, of the arguments: whatever the result depends on has to be in it, also who asks. */
  readonly key: string | ((...args: Args) => string);
  readonly tags?: readonly string[] | ((...args: Args) => readonly string[]) | undefined;
}

/** What is not true any more when a method has run. */
export interface EvictsOptions<Args extends unknown[]> {
  readonly keys?: readonly string[] | ((...args: Args) => readonly string[]) | undefined;
  readonly tags?: readonly string[] | ((...args: Args) => readonly string[]) | undefined;
}

/**
 * Runs a method of a provider only if the cache doesn't have its result: `getOrLoad` with the method as the loader. What
 * it throws goes to the caller, and is not cached; null is, and undefined comes back as null. Results
 * have to be what the codec of the cache keeps, and may be shared by callers. The boot fails if `CachesModule` names
 * no such cache.
 */
export function Cached<Args extends unknown[] = []>(
  cache: string,
  { key, tags, ...life }: CachedOptions<Args>,
) {
  return wrapping<Args>(cache, async (target, args, run) =>
    target.getOrLoad(of(key, args), run, {
      ...life,
      tags: tags === undefined ? undefined : of(tags, args),
    }),
  );
}

/**
 * Removes entries when a method has run, and has not thrown: by key, by tag, or both. The caller gets its result, or
 * CacheUnavailableError when it is done but Redis could not be told. The boot fails if `CachesModule` names no such
 * cache.
 */
export function Evicts<Args extends unknown[] = []>(
  cache: string,
  { keys = [], tags = [] }: EvictsOptions<Args>,
) {
  return wrapping<Args>(cache, async (target, args, run) => {
    const result = await run();
    await Promise.all([
      ...of(keys, args).map((key) => target.delete(key)),
      ...of(tags, args).map((tag) => target.invalidateTag(tag)),
    ]);
    return result;
  });
}

function of<Args extends unknown[], Result>(made: Result | ((...args: Args) => Result), args: Args): Result {
  return typeof made === 'function' ? (made as (...args: Args) => Result)(...args) : made;
}

function wrapping<Args extends unknown[]>(
  name: string,
  around: (target: Cache, args: Args, run: () => Promise<unknown>) => Promise<unknown>,
) {
  const property = Symbol(`cache ${name} of a decorator`);
  return <Rest extends unknown[], Result>(
    prototype: object,
    _key: string | symbol,
    descriptor: TypedPropertyDescriptor<Method<[...Args, ...Rest], Result>>,
  ): void => {
    const method = descriptor.value!;
    Inject(getCacheToken(name))(prototype, property);
    const wrapped = function (
      this: { readonly [property]: Cache },
      ...args: [...Args, ...Rest]
    ): Promise<Result> {
      const run = (): Promise<unknown> => method.apply(this, args);
      return around(this[property], args as unknown as Args, run) as Promise<Result>;
    };
    // What the decorators below have left on the method (a route, a guard, a schedule) is looked for on what replaces it.
    for (const key of Reflect.getOwnMetadataKeys(method)) {
      Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, method), wrapped);
    }
    descriptor.value = Object.defineProperty(wrapped, 'name', { value: method.name });
  };
}
