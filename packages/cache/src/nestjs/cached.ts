import { requireOptions } from '@mortise/redis';
import { injectingDecorator } from '@mortise/redis/nestjs';
import type { Cache } from '../read-through/cache.js';
import type { EntryOptions } from '../read-through/options.js';
import { getCacheToken } from './tokens.js';

/** Options of `@Cached`. */
export interface CachedOptions<Args extends unknown[]> extends Pick<EntryOptions, 'ttlMs' | 'staleMs'> {
  /** The key, or a function of the arguments. The key must contain everything that the result depends on, such as the user. */
  readonly key: string | ((...args: Args) => string);
  /** The tags of the result, or a function of the arguments that returns them. Default: none. */
  readonly tags?: readonly string[] | ((...args: Args) => readonly string[]) | undefined;
}

/** The entries to remove after the method has succeeded. */
export interface EvictsOptions<Args extends unknown[]> {
  /** The keys of the entries, or a function of the arguments that returns them. Default: none. */
  readonly keys?: readonly string[] | ((...args: Args) => readonly string[]) | undefined;
  /** The tags whose entries are removed, or a function of the arguments that returns them. Default: none. */
  readonly tags?: readonly string[] | ((...args: Args) => readonly string[]) | undefined;
}

const CACHED: ReadonlySet<string> = new Set<keyof CachedOptions<[]>>(['key', 'tags', 'ttlMs', 'staleMs']);
const EVICTS: ReadonlySet<string> = new Set<keyof EvictsOptions<[]>>(['keys', 'tags']);

/**
 * Caches the result of a method: `getOrLoad` with the method as the loader. Errors go to the caller and are not cached.
 * Null is cached; undefined is returned as null. The codec must preserve the result, and callers may share one object.
 * Throws TypeError for an unknown option. The boot fails if the module of the provider has no cache of that name.
 *
 * @param module The name given to `CachesModule.forRoot`.
 */
export function Cached<Args extends unknown[] = []>(
  cache: string,
  options: CachedOptions<Args>,
  module?: string,
) {
  const { key, tags, ...lifetime } = requireOptions('@Cached', options, CACHED);
  return injectingDecorator<Cache, Args>(
    `cache ${cache}`,
    getCacheToken(cache, module),
    async (target, args, run) =>
      target.getOrLoad(of(key, args), run, {
        ...lifetime,
        tags: tags === undefined ? undefined : of(tags, args),
      }),
  );
}

/**
 * Removes entries by key, by tag, or both after the method has succeeded. The caller gets the result of the method, or
 * CacheUnavailableError if the method succeeded but Redis is unavailable. Throws TypeError for an unknown option. The boot
 * fails if the module of the provider has no cache of that name.
 *
 * @param module The name given to `CachesModule.forRoot`.
 */
export function Evicts<Args extends unknown[] = []>(
  cache: string,
  options: EvictsOptions<Args>,
  module?: string,
) {
  const { keys = [], tags = [] } = requireOptions('@Evicts', options, EVICTS);
  return injectingDecorator<Cache, Args>(
    `cache ${cache}`,
    getCacheToken(cache, module),
    async (target, args, run) => {
      const result = await run();
      await Promise.all([
        ...of(keys, args).map((key) => target.delete(key)),
        ...of(tags, args).map((tag) => target.invalidateTag(tag)),
      ]);
      return result;
    },
  );
}

function of<Args extends unknown[], Result>(made: Result | ((...args: Args) => Result), args: Args): Result {
  return typeof made === 'function' ? (made as (...args: Args) => Result)(...args) : made;
}
