/**
 * The module gives NestJS the client, the defaults and the caches by name, so that a decorator can say by a name where
 * results go, and the boot fails when there is no such cache.
 */
import type { RedisClient } from '@mortise/redis';
import type { DynamicModule, FactoryProvider, ModuleMetadata, Provider } from '@nestjs/common';
import { Module } from '@nestjs/common';
import type { CacheOptions } from '../read-through/options.js';
import { Caches } from './caches.js';
import { getCacheToken } from './tokens.js';

/** The client, which the module uses and never closes, and defaults of the caches. */
export interface CachesModuleOptions extends CacheOptions {
  readonly redis: RedisClient;
}

/** The caches of the application by name, with what differs from the defaults. */
export type CachesFeature = Readonly<Record<string, CacheOptions>>;

/** Makes the options, as the factories of NestJS do. */
export interface CachesModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  readonly inject?: FactoryProvider['inject'];
  // oxlint-disable-next-line typescript/no-explicit-any -- what is injected
  readonly useFactory: (...args: any[]) => CachesModuleOptions | Promise<CachesModuleOptions>;
  readonly caches: CachesFeature;
}

const OPTIONS = 'options of CachesModule';

/**
 * Provides caches to the whole application, for `InjectCache(name)`, `Cached` and `Evicts`. A client or an option that
 * cannot be used lets the boot fail. Nothing is sent at boot; the near tiers are closed with the application.
 */
@Module({})
export class CachesModule {
  /** With a client that is there. */
  static forRoot({
    caches,
    ...options
  }: CachesModuleOptions & { readonly caches: CachesFeature }): DynamicModule {
    return this.forRootAsync({ caches, useFactory: () => options });
  }

  /** With a client, and defaults, that a factory makes. */
  static forRootAsync({
    caches,
    imports = [],
    inject = [],
    useFactory,
  }: CachesModuleAsyncOptions): DynamicModule {
    const named = Object.entries(caches).map(([name, options]): FactoryProvider => ({
      provide: getCacheToken(name),
      inject: [Caches],
      useFactory: (all: Caches) => refusing(name, () => all.open(name, options)),
    }));
    const providers: Provider[] = [
      { provide: OPTIONS, inject, useFactory },
      {
        provide: Caches,
        inject: [OPTIONS],
        useFactory: ({ redis, ...defaults }: CachesModuleOptions) =>
          refusing('defaults', () => new Caches(redis, defaults)),
      },
      ...named,
    ];
    return {
      module: CachesModule,
      global: true,
      imports,
      providers,
      exports: [Caches, ...named.map(({ provide }) => provide)],
    };
  }
}

function refusing<Result>(what: string, make: () => Result): Result {
  try {
    return make();
  } catch (error) {
    const Misuse = error instanceof RangeError ? RangeError : TypeError;
    throw new Misuse(`CachesModule, ${what}: ${(error as Error).message}`, { cause: error });
  }
}
