/**
 * Values that are loaded when they are first asked for, and then kept in Redis, for all processes.
 *
 * The entry is a STRING with its own times in it. Who finds none asks for a lease; one process gets it, loads and
 * stores; all others are woken by a message. The lease is also the proof by which a load is stored: whatever ends it (a
 * `delete`, a `set`, another process after the death of this one) makes an older load worthless. Rejected: a lock around
 * the load, which says nothing of a value that was invalidated meanwhile.
 */
import type { RedisClient } from '@mortise/redis';
import { CacheView, requireNamespace } from './cache-view.js';
import { Core } from './core.js';
import type { CacheStats } from './core.js';
import { RESERVED } from './options.js';
import type { CacheOptions, LoadMany } from './options.js';

/** A read-through cache; `Value` is what its loaders give. */
export class Cache<Value = unknown> extends CacheView<Value> {
  readonly #core: Core<Value>;

  /**
   * Sends nothing. Throws TypeError or RangeError for options that are out of range.
   *
   * @param name Names the entries in Redis. 1 to 1,024 bytes.
   */
  constructor(redis: RedisClient, name: string, options: CacheOptions<Value> = {}) {
    const core = new Core(redis, name, options);
    super(core, { stem: '', ownTags: [] }, core.options.load);
    this.#core = core;
  }

  /** The name that the constructor was given. */
  get name(): string {
    return this.#core.name;
  }

  /**
   * A part of the cache with keys of its own, which can be cleared as a whole. Sends nothing.
   *
   * @param name 1 to 1,024 bytes without NUL; what its keys are longer by. @param options `load`: as the option of the cache, for
   * the keys of this namespace.
   */
  namespace(name: string, options: { readonly load?: LoadMany<Value> } = {}): CacheNamespace<Value> {
    return new CacheNamespace(this.#core, requireNamespace(name), options.load);
  }

  /** What this object has counted. */
  stats(): CacheStats {
    return this.#core.stats;
  }

  /**
   * Closes the connections of the near tier, which opens again with the next read, and the subscriptions. Loads that are
   * under way are not ended. Idempotent.
   */
  async stop(): Promise<void> {
    await this.#core.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** A part of a cache, from `Cache.namespace`. Its entries cost 2 bytes and the name more, and a version to be read with each. */
export class CacheNamespace<Value = unknown> extends CacheView<Value> {
  readonly #core: Core<Value>;
  readonly #tag: string;

  /** For `Cache.namespace`. */
  constructor(core: Core<Value>, name: string, load: LoadMany<Value> | undefined) {
    const tag = RESERVED + name;
    super(core, { stem: `${tag}${RESERVED}`, ownTags: [tag] }, load);
    this.#core = core;
    this.#tag = tag;
  }

  /** Invalidates all entries of the namespace, as `invalidateTag`: O(1), one round trip for each shard. */
  async clear(): Promise<void> {
    await this.#core.invalidate([this.#tag]);
  }
}
