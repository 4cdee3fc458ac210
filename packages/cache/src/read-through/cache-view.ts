import { ArgumentRangeError, ArgumentTypeError, Coalescer, requireName } from '@mortise/redis';
import type { Cell } from '../near/near-store.js';
import { CacheLoadError } from '../errors.js';
import type { Core } from './core.js';
import type { LoadRequest } from './in-flight-load.js';
import {
  loadedEntry,
  requireEntryOptions,
  requireKey,
  requireKeys,
  requireLoadOptions,
  requireTag,
  requireTags,
  requireTtl,
  RESERVED,
} from './options.js';
import type { EntryOptions, LoadedEntry, LoadMany, LoadOptions } from './options.js';
import { loadWithin } from '../load-within.js';

/**
 * Loads one value; null or undefined means that there is none. The signal is aborted after `loadTimeoutMs`. A loader may assign
 * to the entry, as in `entry.ttlMs = 5_000`, to decide how long the value lives. An error of the loader is passed unchanged to
 * every caller in this process that waits for the load.
 */
export type Loader<Value> = (
  signal: AbortSignal,
  entry: LoadedEntry,
) => Promise<Value | null | undefined> | Value | null | undefined;

/** The key prefix and the tags of a cache or a namespace. */
export interface CacheScope {
  readonly keyPrefix: string;
  readonly ownTags: readonly string[];
}

/** Keys in one call of `load`. */
const MAX_LOAD = 500;
const NO_OPTIONS: LoadOptions = {};
const RESERVED_CODE = RESERVED.charCodeAt(0);

/** A value of `load`, with its entry if the loader has asked for it. */
interface Loaded<Value> {
  readonly value: Value | null;
  readonly entry: LoadedEntry | undefined;
}

/** The calls that a cache and its namespaces share. */
export abstract class CacheView<Value> {
  readonly #core: Core<Value>;
  readonly #scope: CacheScope;
  readonly #loads: Coalescer<'loads', string, Loaded<Value>> | undefined;

  protected constructor(core: Core<Value>, scope: CacheScope, load: LoadMany<Value> | undefined) {
    this.#core = core;
    this.#scope = scope;
    if (load) {
      this.#loads = new Coalescer((_, keys) => loadMany(core, load, keys), { maxBatch: MAX_LOAD });
    }
  }

  /**
   * Returns the entry of the near tier, synchronously: the value, null for a known absence, or undefined if the near tier has
   * nothing. Each call returns the same object: don't change it. Throws TypeError or RangeError for an invalid key. O(1).
   */
  peek(key: string): Value | null | undefined {
    const cell = this.#peek(key);
    if (cell !== undefined) return cell.value;
    requireKey(key);
    return undefined;
  }

  /**
   * Returns the cached entry, fresh or stale: the value, null for a known absence, undefined if nothing is cached or Redis is
   * unavailable. Loads nothing. One round trip, shared with all reads of the tick, and one more for an entry with tags. A near
   * hit costs none. O(1).
   */
  get(key: string): Promise<Value | null | undefined> {
    const cell = this.#peek(key);
    // Hits are frequent, and an async function takes longer than the rest of one.
    return cell === undefined ? this.#get(key) : Promise.resolve(cell.value);
  }

  /** `get` for many keys; the Map contains the keys that the cache knows. */
  async getMany(keys: readonly string[]): Promise<Map<string, Value | null>> {
    requireKeys(keys);
    const values = await Promise.all(keys.map((key) => this.get(key)));
    const known = new Map<string, Value | null>();
    for (const [index, key] of keys.entries()) {
      const value = values[index];
      if (value !== undefined) known.set(key, value);
    }
    return known;
  }

  /**
   * Returns the value and loads it if the cache has none. One process loads while all others wait for it. A stale value is
   * returned at once and refreshed in the background. With `softTimeoutMs` the call first waits that long for the load. Null
   * means that there is no value. While Redis is unavailable, each process loads for itself.
   *
   * Rejects with the error of the loader, with CacheLoadError after `loadTimeoutMs`, and with the reason of an aborted signal.
   * An invalid key or option is a TypeError or RangeError. A failure of Redis never rejects the call. A hit costs as much as
   * `get`. A miss costs two more round trips, shared with other calls of the tick: one before the load and one after it. Other
   * callers may get the same object: don't change it.
   *
   * @param loader Default: the option `load`.
   */
  getOrLoad<Loaded extends Value>(
    key: string,
    loader: Loader<Loaded>,
    options?: LoadOptions<Value>,
  ): Promise<Loaded | null>;
  getOrLoad(key: string, options?: LoadOptions<Value>): Promise<Value | null>;
  getOrLoad(
    key: string,
    loader?: Loader<Value> | LoadOptions<Value>,
    options?: LoadOptions<Value>,
  ): Promise<Value | null> {
    const cell = this.#peek(key);
    if (cell === undefined) return this.#getOrLoad(key, loader, options);
    const isGiven = typeof loader === 'function';
    const isPlain = (isGiven ? options : loader) === undefined && (isGiven || this.#loads !== undefined);
    const isDue = cell.earlyFrom < cell.freshUntil && performance.now() >= cell.earlyFrom;
    // Hits are frequent: one without options to check and without a refresh to start ends here.
    if (isPlain && !isDue) return Promise.resolve(cell.value);
    return this.#getNear(cell, isDue, key, loader, options);
  }

  /** `getOrLoad` with the option `load` for many keys; the Map contains the keys that have a value. */
  async getOrLoadMany(keys: readonly string[], options?: LoadOptions<Value>): Promise<Map<string, Value>> {
    requireKeys(keys);
    if (options !== undefined) requireLoadOptions(options, 'getOrLoadMany');
    if (!this.#loads) throw new ArgumentTypeError('getOrLoadMany needs the option load of the cache');
    const values = await Promise.all(keys.map((key) => this.getOrLoad(key, options)));
    const found = new Map<string, Value>();
    for (const [index, key] of keys.entries()) {
      const value = values[index];
      if (value !== null && value !== undefined) found.set(key, value);
    }
    return found;
  }

  /**
   * Stores a value; null stores a known absence. A load that is under way will not overwrite it. Rejects with CacheValueError,
   * and with CacheUnavailableError, after which the value may or may not be stored. One round trip, shared with other calls of
   * the tick. Repeating the call is safe.
   */
  async set(key: string, value: Value | null, options: EntryOptions<Value> = {}): Promise<void> {
    const { keyPrefix, ownTags } = this.#scope;
    await this.#core.set(keyPrefix + requireKey(key), value, requireEntryOptions(options), ownTags);
  }

  /**
   * Removes an entry and returns whether it existed; an invalidated entry may count. The result of a load under way is not
   * stored. No `getOrLoad` that starts after this call has resolved returns that result, in any process. Rejects with
   * CacheUnavailableError, after which the entry may or may not be removed. One round trip, shared with other calls of the
   * tick. Repeating the call is safe; if ioredis resends it after a lost reply, the result is false.
   */
  async delete(key: string): Promise<boolean> {
    return this.#core.delete(this.#scope.keyPrefix + requireKey(key));
  }

  /** `delete` for many keys; returns how many existed. An invalid key is refused before any is removed. */
  async deleteMany(keys: readonly string[]): Promise<number> {
    requireKeys(keys);
    for (const key of keys) requireKey(key);
    const deleted = await Promise.all(keys.map((key) => this.delete(key)));
    return deleted.filter(Boolean).length;
  }

  /**
   * Makes an entry fresh for `ttlMs` from now on, without jitter; its `staleMs` begins after that. With 0 the entry is stale at
   * once, or removed if it has no `staleMs`. Returns whether there was an entry. The call neither ends a load under way nor
   * revives an invalidated entry. Rejects as `delete` does. Two round trips, shared with other calls of the tick. Repeating the
   * call is safe. If it has removed the entry, and ioredis resends it after a lost reply, the result is false.
   *
   * @param ttlMs 0 to 365 days.
   */
  async expire(key: string, ttlMs: number): Promise<boolean> {
    const { keyPrefix, ownTags } = this.#scope;
    return this.#core.expire(keyPrefix + requireKey(key), requireTtl(ttlMs), ownTags);
  }

  /**
   * Invalidates all entries that have the tag, in this cache and its namespaces, and the loads of such entries under way. One
   * round trip for each shard, O(1) for any number of entries. Repeating the call is safe.
   */
  async invalidateTag(tag: string): Promise<void> {
    await this.#core.invalidate([requireTag(tag)]);
  }

  /** Undefined for an invalid key, which may begin with NUL and so be the key of a namespace. */
  #peek(key: string): Cell<Value | null> | undefined {
    if (typeof key !== 'string' || key.charCodeAt(0) === RESERVED_CODE) return undefined;
    return this.#core.peek(this.#scope.keyPrefix + key);
  }

  async #get(key: string): Promise<Value | null | undefined> {
    const { found } = await this.#core.read(this.#scope.keyPrefix + requireKey(key), this.#scope.ownTags);
    return found?.value;
  }

  async #getNear(
    cell: Cell<Value | null>,
    isDue: boolean,
    key: string,
    loader: Loader<Value> | LoadOptions<Value> | undefined,
    options: LoadOptions<Value> | undefined,
  ): Promise<Value | null> {
    const request = this.#request(key, loader, options);
    this.#core.check(request.options);
    if (isDue) this.#core.refresh(request, cell.seen);
    return cell.value;
  }

  async #getOrLoad(
    key: string,
    loader: Loader<Value> | LoadOptions<Value> | undefined,
    options: LoadOptions<Value> | undefined,
  ): Promise<Value | null> {
    requireKey(key);
    return this.#core.getOrLoad(this.#request(key, loader, options));
  }

  #request(
    key: string,
    loader: Loader<Value> | LoadOptions<Value> | undefined,
    given: LoadOptions<Value> | undefined,
  ): Omit<LoadRequest<Value>, 'shard' | 'wakeups'> {
    const isGiven = typeof loader === 'function';
    const own = isGiven ? given : loader;
    const options = own === undefined ? NO_OPTIONS : requireLoadOptions(own);
    const { tags } = options;
    const { keyPrefix, ownTags } = this.#scope;
    const expectedTags =
      tags === undefined || typeof tags === 'function' ? ownTags : [...requireTags(tags), ...ownTags];
    const loads = this.#loads;
    if (!isGiven && !loads)
      throw new ArgumentTypeError('getOrLoad needs a loader, or the cache the option load');
    const loadOne: Loader<Value> = async (_, entry) => {
      const loaded = await loads!.submit('loads', key);
      Object.assign(entry, loaded.entry);
      return loaded.value;
    };
    const load = isGiven ? loader : loadOne;
    return { key: keyPrefix + key, load, isLimited: !isGiven, options, ownTags, expectedTags };
  }
}

/** Checks a name that becomes part of a key. */
export function requireNamespace(name: unknown): string {
  const checked = requireName('namespace', name);
  if (checked.includes('\0')) throw new ArgumentRangeError('namespace must not have a NUL character');
  return checked;
}

async function loadMany<Value>(
  { name, options }: Core<Value>,
  load: LoadMany<Value>,
  keys: readonly string[],
): Promise<Loaded<Value>[]> {
  const { loadTimeoutMs } = options;
  const unique = [...new Set(keys)];
  const failure = (code: CacheLoadError['code'], problem: string): CacheLoadError =>
    new CacheLoadError(code, name, unique, problem);
  const toError = (): Error => failure('ERR_CACHE_LOAD_TIMEOUT', `${loadTimeoutMs} ms`);
  const requested = new Set<unknown>(unique);
  const requireRequested = (key: unknown, what: string): void => {
    // A loader that returns numbers as keys would otherwise look like one that finds nothing.
    if (!requested.has(key))
      throw failure('ERR_CACHE_LOAD_RESULT', `${what} for ${JSON.stringify(key)}, which was not requested`);
  };
  const entries = new Map<string, LoadedEntry>();
  const entryOf = (key: string): LoadedEntry => {
    requireRequested(key, 'an entry');
    const entry = entries.get(key) ?? loadedEntry();
    entries.set(key, entry);
    return entry;
  };
  const loaded = await loadWithin(loadTimeoutMs, toError, (signal) => load(unique, signal, entryOf));
  if (!(loaded instanceof Map)) throw failure('ERR_CACHE_LOAD_RESULT', 'no Map of values by key');
  for (const key of loaded.keys() as IterableIterator<unknown>) requireRequested(key, 'a value');
  const values = loaded as ReadonlyMap<string, Value>;
  return keys.map((key) => ({ value: values.get(key) ?? null, entry: entries.get(key) }));
}
