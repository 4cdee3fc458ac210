import type { RedisClient } from '@mortise/redis';
import type { OnModuleDestroy } from '@nestjs/common';
import { Cache } from '../read-through/cache.js';
import type { CacheOptions } from '../read-through/options.js';

/** The caches of an application, made once; what they have open is closed with it. */
export class Caches implements OnModuleDestroy {
  readonly #redis: RedisClient;
  readonly #defaults: CacheOptions;
  readonly #caches = new Map<string, Cache>();

  constructor(redis: RedisClient, defaults: CacheOptions) {
    this.#redis = redis;
    this.#defaults = defaults;
    // Takes all of them, so it refuses what no cache can use.
    void new Cache(redis, 'any', defaults);
  }

  /** The cache of that name; the first call makes it. Throws TypeError or RangeError for options that cannot be used. */
  open(name: string, options: CacheOptions): Cache {
    const known = this.#caches.get(name);
    if (known) return known;
    const cache = new Cache(this.#redis, name, { ...this.#defaults, ...options });
    this.#caches.set(name, cache);
    return cache;
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all(Array.from(this.#caches.values(), (cache) => cache.stop()));
  }
}
