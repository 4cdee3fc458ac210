/**
 * The NestJS module: `forRoot` takes the client and the defaults once and provides `Caches` to the whole application;
 * `forFeature` provides caches, row caches, refreshers and change feeds by name. Decorators refer to a name, and the boot
 * fails for an unknown one.
 */
import { requireArray } from '@mortise/redis';
import type { FeatureShape, ModuleClient } from '@mortise/redis/nestjs';
import { featureModule, rootModule } from '@mortise/redis/nestjs';
import type { DynamicModule } from '@nestjs/common';
import { Module } from '@nestjs/common';
import type { ChangeSource } from '../outbox.js';
import type { CacheOptions } from '../read-through/options.js';
import type { ChangeFeedOptions } from '../rows/feed/change-feed.js';
import type { RefresherOptions, RowCacheOptions } from '../rows/options.js';
import type { RowCache } from '../rows/row-cache.js';
import { Caches } from './caches.js';
import * as tokens from './tokens.js';

/**
 * A client (`redis`), which the module uses and never closes, or the `url` of a single node, for a client that the module
 * closes. The other options are the defaults of caches.
 */
export type CachesModuleOptions = CacheOptions & ModuleClient;

/** The factory given to `forRootAsync` as `useClass` or `useExisting`. */
export interface CachesOptionsFactory {
  createCachesOptions(): CachesModuleOptions | Promise<CachesModuleOptions>;
}

/** A refresher of row caches of the same module. */
export interface RefresherFeature extends RefresherOptions {
  /** The names of its row caches. */
  readonly tables: readonly string[];
}

/** A change feed of a row cache of the same module. */
export interface ChangeFeedFeature extends ChangeFeedOptions {
  /** The source whose outbox it reads. */
  readonly source: ChangeSource;
  /** The name of the row cache that it refreshes. */
  readonly table: string;
}

type Named<Options> = Readonly<Record<string, Options>>;

/** Caches, row caches, refreshers and change feeds by name. */
export interface CachesFeature {
  /** The options of each `Cache`, by its name. */
  readonly caches?: Named<CacheOptions> | undefined;
  /** The options of each `RowCache`, by its name. */
  // oxlint-disable-next-line typescript/no-explicit-any -- each table has its own row type
  readonly rows?: Named<RowCacheOptions<any>> | undefined;
  /** Refreshers, by any name. */
  readonly refreshers?: Named<RefresherFeature> | undefined;
  /** Change feeds, by any name. */
  readonly feeds?: Named<ChangeFeedFeature> | undefined;
}

const feature: FeatureShape<CachesFeature, Caches> = {
  name: 'Caches',
  root: tokens.getCachesToken,
  kinds: {
    caches: { token: tokens.getCacheToken, make: (caches, name, options) => caches.cache(name, options) },
    rows: { token: tokens.getRowCacheToken, make: (caches, table, options) => caches.rows(table, options) },
    refreshers: {
      token: tokens.getRefresherToken,
      inject: ({ tables }, module) =>
        requireArray('tables', tables).map((table) => tokens.getRowCacheToken(table, module)),
      make: (caches, _, { tables: _tables, ...options }, ...rows: RowCache[]) =>
        caches.refresher(rows, options),
    },
    feeds: {
      token: tokens.getChangeFeedToken,
      inject: ({ table }, module) => [tokens.getRowCacheToken(table, module)],
      make: (caches, _, { source, table: _table, ...options }, rows: RowCache) =>
        caches.changeFeed(source, rows, options),
    },
  },
};

/**
 * Provides `Caches` to the whole application. `forRoot` takes a client or a `url`, defaults, and a `feature`, which names
 * caches for all modules as `forFeature` does for one. `forRootAsync` takes `useFactory` with `inject` and `imports`,
 * `useClass` or `useExisting`. The boot fails for an invalid client or option. Nothing is sent at boot except by refreshers and
 * change feeds.
 */
@Module({})
export class CachesModule extends rootModule<CachesModuleOptions, 'Caches', CachesFeature, Caches>({
  name: 'Caches',
  feature,
  provide: (module) => [
    {
      token: tokens.getCachesToken(module),
      make: ({ redis, ...defaults }) => new Caches(redis, defaults),
    },
  ],
}) {
  /**
   * Provides caches, row caches, refreshers and change feeds to one module of the application, for `InjectCache(name)` and so
   * on. The boot fails for invalid options and for an unknown table.
   *
   * @param module The name given to `forRoot`.
   */
  static forFeature(named: CachesFeature, module?: string): DynamicModule {
    return featureModule(CachesModule, feature, named, module);
  }
}
