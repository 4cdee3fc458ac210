import { ArgumentRangeError, ArgumentTypeError, Coalescer, requireName } from '@mortise/redis';
import type { Cell } from '../near/near-store.js';
import { CacheLoadResultError, CacheLoadTimeoutError } from '../errors.js';
import type { Core } from './core.js';
import type { Wanted } from './flights.js';
import { requireKey, requireKeys, requireOptions, requireTag, requireTags, RESERVED } from './options.js';
import type { EntryOptions, LoadMany, LoadOptions } from './options.js';
import { within } from './within.js';

/**
 * Loads one value; null or undefined: there is none. The signal is aborted after `loadTimeoutMs`. What it throws goes, as
 * it is, to everybody in the process who waits for this load.
 */
export type Loader<Value> = (
  signal: AbortSignal,
) => Promise<Value | null | undefined> | Value | null | undefined;

/** Where the keys of a cache or a namespace lie. */
export interface CacheScope {
  readonly stem: string;
  readonly ownTags: readonly string[];
}

/** Keys in one call of `load`. */
const MAX_LOAD = 500;
const NO_OPTIONS: LoadOptions = {};
const RESERVED_CODE = RESERVED.charCodeAt(0);

/** What a cache and a namespace of it have in common. */
export abstract class CacheView<Value> {
  readonly #core: Core<Value>;
  readonly #scope: CacheScope;
  readonly #loads: Coalescer<'loads', string, Value | null> | undefined;

  protected constructor(core: Core<Value>, scope: CacheScope, load: LoadMany<Value> | undefined) {
    this.#core = core;
    this.#scope = scope;
    if (load) {
      this.#loads = new Coalescer((_, keys) => loadMany(core, load, keys), { maxBatch: MAX_LOAD });
    }
  }

  /**
   * What the near tier holds, without asking anybody: the value, null if it is known that there is none, undefined if nothing is
   * known here. The same object each time: don't change it. Throws TypeError or RangeError for a key that cannot be used. O(1).
   */
  peek(key: string): Value | null | undefined {
    const cell = this.#peek(key);
    if (cell !== undefined) return cell.value;
    requireKey(key);
    return undefined;
  }

  /**
   * What the cache holds, fresh or stale: the value, null if it is known that there is none, undefined if it has nothing or
   * Redis is away. Loads nothing. One round trip, which all reads of a tick share, and one more for an entry with tags;
   * none for what the near tier holds. O(1).
   */
  async get(key: string): Promise<Value | null | undefined> {
    const cell = this.#core.peek(this.#scope.stem + requireKey(key));
    if (cell !== undefined) return cell.value;
    const { found } = await this.#core.read(this.#scope.stem + key, this.#scope.ownTags);
    return found?.value;
  }

  /** As `get` for each of many keys; the Map has those that the cache knows. */
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
   * The value, loaded if the cache has none: by one process, while all others wait for it. A stale value is given at once and
   * loaded in the background. Null: there is none. While Redis is away each process loads for itself.
   *
   * Rejects with what the loader throws, with CacheLoadTimeoutError after `loadTimeoutMs`, with the reason of an aborted
   * signal, and with TypeError or RangeError for a key or an option that cannot be used; never because of Redis. A hit is as
   * `get`; a miss has two more round trips, before the load and behind it, shared with others of the tick. What is
   * returned may be an object that others get as well: don't change it.
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
    // Hits are many: what has nothing to be checked, and nothing to be done, takes no second function.
    if (isPlain && !isDue) return Promise.resolve(cell.value);
    return this.#getNear(cell, isDue, key, loader, options);
  }

  /** As `getOrLoad` with the option `load` for each of many keys; the Map has those that have a value. */
  async getOrLoadMany(keys: readonly string[], options?: LoadOptions<Value>): Promise<Map<string, Value>> {
    requireKeys(keys);
    const values = await Promise.all(keys.map((key) => this.getOrLoad(key, options)));
    const found = new Map<string, Value>();
    for (const [index, key] of keys.entries()) {
      const value = values[index];
      if (value !== null && value !== undefined) found.set(key, value);
    }
    return found;
  }

  /**
   * Stores a value; null: there is none. A load that is under way is not stored over it. Rejects with CacheValueError,
   * CacheValueTooLargeError, and CacheUnavailableError: then it may or may not be stored. One round trip, shared with others of
   * the tick. Repeating it is safe.
   */
  async set(key: string, value: Value | null, options: EntryOptions<Value> = {}): Promise<void> {
    await this.#core.set(this.#scope.stem + requireKey(key), value, options, this.#scope.ownTags);
  }

  /**
   * Removes an entry, and returns whether it was there. A load that is under way is not stored, and who calls `getOrLoad`
   * after this has resolved doesn't get its value, in any process. Rejects with CacheUnavailableError: then
   * it may or may not be removed. One round trip, shared with others of the tick. Repeating it is safe.
   */
  async delete(key: string): Promise<boolean> {
    return this.#core.delete(this.#scope.stem + requireKey(key));
  }

  /**
   * Invalidates all entries that have the tag, in this cache and its namespaces, and loads of such that are under way; as
   * `delete` for each of them. One round trip for each shard, O(1) however many they are.
   */
  async invalidateTag(tag: string): Promise<void> {
    await this.#core.invalidate([requireTag(tag)]);
  }

  /** Of a key that cannot be used nothing is there: one with a NUL in front could be that of a namespace. */
  #peek(key: string): Cell<Value | null> | undefined {
    if (typeof key !== 'string' || key.charCodeAt(0) === RESERVED_CODE) return undefined;
    return this.#core.peek(this.#scope.stem + key);
  }

  async #getNear(
    cell: Cell<Value | null>,
    isDue: boolean,
    key: string,
    loader: Loader<Value> | LoadOptions<Value> | undefined,
    options: LoadOptions<Value> | undefined,
  ): Promise<Value | null> {
    const wanted = this.#wanted(key, loader, options);
    this.#core.check(wanted.options);
    if (isDue) this.#core.refresh(wanted, cell.seen);
    return cell.value;
  }

  async #getOrLoad(
    key: string,
    loader: Loader<Value> | LoadOptions<Value> | undefined,
    options: LoadOptions<Value> | undefined,
  ): Promise<Value | null> {
    requireKey(key);
    return this.#core.getOrLoad(this.#wanted(key, loader, options));
  }

  #wanted(
    key: string,
    loader: Loader<Value> | LoadOptions<Value> | undefined,
    given: LoadOptions<Value> | undefined,
  ): Omit<Wanted<Value>, 'shard' | 'wakeups'> {
    const isGiven = typeof loader === 'function';
    const own = isGiven ? given : loader;
    const options = own === undefined ? NO_OPTIONS : requireOptions(own);
    const { tags } = options;
    const { stem, ownTags } = this.#scope;
    const expectedTags =
      tags === undefined || typeof tags === 'function' ? ownTags : [...requireTags(tags), ...ownTags];
    const loads = this.#loads;
    if (!isGiven && !loads)
      throw new ArgumentTypeError('getOrLoad needs a loader, or the cache the option load');
    const load = isGiven ? loader : () => loads!.submit('loads', key);
    return { key: stem + key, load, isLimited: !isGiven, options, ownTags, expectedTags };
  }
}

/** A name that is part of a key. */
export function requireNamespace(name: unknown): string {
  const checked = requireName('namespace', name);
  if (checked.includes('\0')) throw new ArgumentRangeError('namespace must not have a NUL character');
  return checked;
}

async function loadMany<Value>(
  { name, options }: Core<Value>,
  load: LoadMany<Value>,
  keys: readonly string[],
): Promise<(Value | null)[]> {
  const { loadTimeoutMs } = options;
  const unique = [...new Set(keys)];
  const toError = (): Error => new CacheLoadTimeoutError(name, unique, loadTimeoutMs);
  const loaded = await within(loadTimeoutMs, toError, (signal) => load(unique, signal));
  if (!(loaded instanceof Map)) throw new CacheLoadResultError(name, 'no Map of values by key');
  const asked = new Set<unknown>(unique);
  for (const key of loaded.keys() as IterableIterator<unknown>) {
    // Numbers for keys, say, would otherwise look as if nothing were there.
    if (!asked.has(key))
      throw new CacheLoadResultError(name, `a value for ${JSON.stringify(key)}, which it was not asked for`);
  }
  return keys.map((key) => (loaded as ReadonlyMap<string, Value>).get(key) ?? null);
}
