import { inspect } from 'node:util';
import type { MatcherContext, MatcherResult } from '@mortise/redis/testing';

/** A Cache. */
interface Cached {
  get(key: string): Promise<unknown>;
}

/** For `expect.extend(cacheMatchers)` of jest and vitest. Await the assertion: it reads the cache. */
export const cacheMatchers = {
  /** Whether the cache has a value under this key. If a value is given, the cached value must equal it. */
  async toHaveCached(
    this: MatcherContext,
    cache: Cached,
    key: string,
    ...value: [] | [unknown]
  ): Promise<MatcherResult> {
    const found = await cache.get(key);
    const pass = found !== undefined && (value.length === 0 || this.equals(found, value[0]));
    const wanted = value.length === 0 ? 'a value' : inspect(value[0]);
    const what = `the cache ${pass ? 'not ' : ''}to have ${wanted} under ${inspect(key)}`;
    return { pass, message: () => `expected ${what}, it has ${inspect(found)}` };
  },
};

/** The types of `cacheMatchers`, to merge into those of `expect`. */
export interface CacheMatchers<Returned = Promise<void>> {
  toHaveCached(key: string, value?: unknown): Returned;
}
