/**
 * The NestJS module: `forRoot` takes the client and the defaults once and provides `Caches` to the whole application;
 * `forFeature` provides caches, row caches and refreshers by name, so that decorators can refer to a name and the boot
 * fails for an unknown one.
 */
import type { RedisClient } from '@mortise/redis';
import { requireKnown } from '@mortise/redis';
import { featureModule, rootModule } from '@mortise/redis/nestjs';
import type { FeatureProvider } from '@mortise/redis/nestjs';
import type { DynamicModule } from '@nestjs/common';
import { Module } from '@nestjs/common';
import type { CacheOptions } from '../read-through/options.js';
import type { RefresherOptions, RowCacheOptions } from '../rows/options.js';
import type { RowCache } from '../rows/row-cache.js';
import { Caches } from './caches.js';
import { getCachesToken, getCacheToken, getRefresherToken, getRowCacheToken } from './tokens.js';

/** The client, which the module uses and never closes, and the defaults of caches. */
export interface CachesModuleOptions extends CacheOptions {
  readonly redis: RedisClient;
}

/** The factory given to `forRootAsync` as `useClass` or `useExisting`. */
export interface CachesOptionsFactory {
  createCachesOptions(): CachesModuleOptions | Promise<CachesModuleOptions>;
}

/** A refresher of row caches of the same feature. */
export interface RefresherFeature extends RefresherOptions {
  readonly tables: readonly string[];
}

/** Caches, row caches and refreshers by name. */
export interface CachesFeature {
  readonly caches?: Readonly<Record<string, CacheOptions>>;
  // oxlint-disable-next-line typescript/no-explicit-any -- each table has its own row type
  readonly rows?: Readonly<Record<string, RowCacheOptions<any>>>;
  readonly refreshers?: Readonly<Record<string, RefresherFeature>>;
}

const FEATURE: ReadonlySet<string> = new Set<keyof CachesFeature>(['caches', 'rows', 'refreshers']);

/**
 * Provides `Caches` to the whole application. `forRoot` takes a client and defaults; `forRootAsync` takes `useFactory` with
 * `inject` and `imports`, `useClass` or `useExisting`. The boot fails for an invalid client or option. Nothing is sent at boot
 * except by refreshers.
 */
@Module({})
export class CachesModule extends rootModule<CachesModuleOptions, 'Caches'>({
  name: 'Caches',
  provide: (module) => [
    {
      token: getCachesToken(module),
      make: ({ redis, ...defaults }: CachesModuleOptions) => new Caches(redis, defaults),
    },
  ],
}) {
  /**
   * Provides caches, row caches and refreshers to one module of the application, for `InjectCache(name)` and so on. The boot
   * fails for invalid options and for a refresher of an unknown table.
   *
   * @param module The name given to `forRoot`.
   */
  static forFeature(feature: CachesFeature, module?: string): DynamicModule {
    requireKnown('CachesModule.forFeature', feature, FEATURE);
    const { caches = {}, rows = {}, refreshers = {} } = feature;
    const root = getCachesToken(module);
    const provided: FeatureProvider[] = [
      ...Object.entries(caches).map(([name, options]) => ({
        token: getCacheToken(name, module),
        inject: [root],
        make: (all: Caches) => all.cache(name, options),
      })),
      ...Object.entries(rows).map(([table, options]) => ({
        token: getRowCacheToken(table, module),
        inject: [root],
        make: (all: Caches) => all.rows(table, options),
      })),
      ...Object.entries(refreshers).map(([name, { tables, ...options }]) => ({
        token: getRefresherToken(name, module),
        inject: [root, ...tables.map((table) => getRowCacheToken(table, module))],
        make: (all: Caches, ...refreshed: RowCache[]) => all.refresher(refreshed, options),
      })),
    ];
    return featureModule(CachesModule, 'Caches', provided, module);
  }
}
