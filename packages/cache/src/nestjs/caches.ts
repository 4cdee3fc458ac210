import { requireClient } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { withDefaults } from '@mortise/redis/nestjs';
import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import { Cache } from '../read-through/cache.js';
import type { CacheOptions } from '../read-through/options.js';
import type { RefresherOptions, RowCacheOptions } from '../rows/options.js';
import { Refresher } from '../rows/refresher.js';
import { RowCache } from '../rows/row-cache.js';
import { ChangeFeed } from '../rows/feed/change-feed.js';
import type { ChangeFeedOptions, ChangeSource } from '../rows/feed/change-feed.js';

interface Runnable {
  start(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Creates the caches of an application with its client and defaults. Refreshers and change feeds start and stop with the
 * application. Near tiers stop with it too.
 */
export class Caches implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #redis: RedisClient;
  readonly #defaults: CacheOptions;
  readonly #caches = new Map<string, Pick<Cache, 'stop'>>();
  readonly #running = new Set<Runnable>();
  #isStarted = false;

  /** Throws TypeError or RangeError for a wrong client or wrong defaults. */
  constructor(redis: RedisClient, defaults: CacheOptions = {}) {
    this.#redis = requireClient(redis);
    this.#defaults = defaults;
    void new Cache(redis, 'defaults', defaults);
  }

  /** The cache of that name; the first call creates it with its options. Throws TypeError or RangeError. */
  cache<Value = unknown>(name: string, options: CacheOptions<Value> = {}): Cache<Value> {
    const known = this.#caches.get(name);
    if (known) return known as Cache<Value>;
    const cache = new Cache<Value>(this.#redis, name, withDefaults(this.#defaults, options));
    this.#caches.set(name, cache);
    return cache;
  }

  /** A row cache of a table. Throws TypeError or RangeError. */
  rows<Row = unknown>(table: string, options: RowCacheOptions<Row> = {}): RowCache<Row> {
    const { prefix, telemetry } = this.#defaults;
    return new RowCache<Row>(this.#redis, table, withDefaults({ prefix, telemetry }, options));
  }

  /** A refresher that runs with the application. Throws TypeError or RangeError. */
  refresher(rows: readonly RowCache[], options: RefresherOptions = {}): Refresher {
    const { telemetry, onError } = this.#defaults;
    const refresher = new Refresher(this.#redis, rows, withDefaults({ telemetry, onError }, options));
    return this.#run(refresher);
  }

  /** A change feed that runs with the application. Throws TypeError or RangeError. */
  changeFeed(source: ChangeSource, rows: RowCache, options: ChangeFeedOptions = {}): ChangeFeed {
    const { telemetry, onError } = this.#defaults;
    return this.#run(
      new ChangeFeed(this.#redis, source, rows, withDefaults({ telemetry, onError }, options)),
    );
  }

  async onApplicationBootstrap(): Promise<void> {
    this.#isStarted = true;
    await Promise.all(Array.from(this.#running, (runnable) => runnable.start()));
  }

  async onModuleDestroy(): Promise<void> {
    this.#isStarted = false;
    await Promise.all(Array.from(this.#running, (runnable) => runnable.stop()));
    await Promise.all(Array.from(this.#caches.values(), (cache) => cache.stop()));
  }

  #run<Kind extends Runnable>(runnable: Kind): Kind {
    this.#running.add(runnable);
    // A refresher starts synchronously, so there is nothing to await.
    if (this.#isStarted) void runnable.start();
    return runnable;
  }
}
