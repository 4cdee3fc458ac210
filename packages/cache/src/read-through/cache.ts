/**
 * Values that are loaded when they are first read and then kept in Redis for all processes.
 *
 * An entry is a STRING that contains its own times. A reader that finds no entry requests a lease. One process gets it, loads
 * and stores; a message wakes the others. A load is stored only under its lease. So `delete`, `set`, and another process
 * after the death of this one discard an older load: they end its lease. Rejected: a lock around the load, which does not
 * notice an invalidation during the load.
 */
import { requireFunction, requireOptions } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { CacheView, requireNamespace } from './cache-view.js';
import { Core } from './core.js';
import type { CacheStats } from './core.js';
import { RESERVED } from './options.js';
import type { CacheOptions, LoadMany } from './options.js';

const NAMESPACE_OPTIONS: ReadonlySet<string> = new Set(['load']);

/** A read-through cache; `Value` is the type that its loaders return. */
export class Cache<Value = unknown> extends CacheView<Value> {
  readonly #core: Core<Value>;

  /**
   * Sends nothing. Throws TypeError or RangeError for invalid options.
   *
   * @param redis With null the entries are only in the memory of this process, within the bounds of `near`, and `stop` drops
   *   them.
   * @param name Names the entries in Redis. 1 to 1,024 bytes.
   */
  constructor(redis: RedisClient | null, name: string, options: CacheOptions<Value> = {}) {
    const core = new Core(redis, name, options);
    super(core, { keyPrefix: '', ownTags: [] }, core.options.load);
    this.#core = core;
  }

  /** The name given to the constructor. */
  get name(): string {
    return this.#core.name;
  }

  /**
   * Makes a part of the cache with its own keys, which `clear` invalidates as a whole. Sends nothing.
   *
   * @param name 1 to 1,024 bytes without NUL; it becomes part of each key. @param options `load`: the option of the cache, for
   *   the keys of this namespace.
   */
  namespace(
    name: string,
    options: { readonly load?: LoadMany<Value> | undefined } = {},
  ): CacheNamespace<Value> {
    const { load } = requireOptions('namespace', options, NAMESPACE_OPTIONS);
    return new CacheNamespace(this.#core, requireNamespace(name), load && requireFunction('load', load));
  }

  /** Counters of this object. */
  stats(): CacheStats {
    return this.#core.stats;
  }

  /**
   * Closes the subscriptions and the connections of the near tier; the next read opens them again. Loads under way go on.
   * Idempotent.
   */
  async stop(): Promise<void> {
    await this.#core.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** A part of a cache, from `Cache.namespace`. Each key is longer by the name and 2 bytes, and each read also reads one version. */
export class CacheNamespace<Value = unknown> extends CacheView<Value> {
  readonly #core: Core<Value>;
  readonly #tag: string;

  /** Called by `Cache.namespace`. */
  constructor(core: Core<Value>, name: string, load: LoadMany<Value> | undefined) {
    const tag = RESERVED + name;
    super(core, { keyPrefix: `${tag}${RESERVED}`, ownTags: [tag] }, load);
    this.#core = core;
    this.#tag = tag;
  }

  /** Invalidates all entries of the namespace, as `invalidateTag` does: O(1), one round trip for each shard. */
  async clear(): Promise<void> {
    await this.#core.invalidate([this.#tag]);
  }
}
