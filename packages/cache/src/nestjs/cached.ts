import { Inject } from '@nestjs/common';
import type { Cache } from '../read-through/cache.js';
import type { EntryOptions } from '../read-through/options.js';
import { getCacheToken } from './tokens.js';

type Method<Args extends unknown[], Result> = (...args: Args) => Promise<Result>;

/** How the result of a method is cached. */
export interface CachedOptions<Args extends unknown[]> extends Pick<EntryOptions, 'ttlMs' | 'staleMs'> {
  /** The key, or a function of the arguments. It must contain everything the result depends on, such as the user. */
  readonly key: string | ((...args: Args) => string);
  readonly tags?: readonly string[] | ((...args: Args) => readonly string[]) | undefined;
}

/** The entries that a method makes obsolete. */
export interface EvictsOptions<Args extends unknown[]> {
  readonly keys?: readonly string[] | ((...args: Args) => readonly string[]) | undefined;
  readonly tags?: readonly string[] | ((...args: Args) => readonly string[]) | undefined;
}

/**
 * Caches the result of a method: `getOrLoad` with the method as the loader. Errors go to the caller and are not cached.
 * Null is cached; undefined is returned as null. The codec must preserve the result, and callers may share one object.
 * The boot fails if the module has no cache of that name.
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
 * Removes entries by key, by tag, or both after the method has succeeded. The caller gets the result of the method, or
 * CacheUnavailableError if the method succeeded but Redis is unavailable. The boot fails if the module has no cache
 * of that name.
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
    // Other decorators keep metadata on the method (a route, an interceptor, a schedule): copy it to the replacement.
    for (const key of Reflect.getOwnMetadataKeys(method)) {
      Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, method), wrapped);
    }
    descriptor.value = Object.defineProperty(wrapped, 'name', { value: method.name });
  };
}
