/**
 * The module gives NestJS the client and the defaults once. Locks themselves are cheap, so most are made where they are
 * needed, by the injected `Locks`; `forFeature` is for those of a fixed name whose options all users have to agree on,
 * as the permits of a semaphore.
 */
import type { RedisClient } from '@mortise/redis';
import type { DynamicModule, FactoryProvider } from '@nestjs/common';
import { ConfigurableModuleBuilder, Module } from '@nestjs/common';
import type { MutexOptions, RateLimiterOptions, ReadWriteLockOptions, SemaphoreOptions } from '../options.js';
import { Locks } from './locks.js';
import type { LockKind } from './tokens.js';
import { getLocksToken, getLockToken } from './tokens.js';

/** The client, which the module uses and never closes, and defaults for the locks that are made with it. */
export interface LocksModuleOptions extends MutexOptions {
  readonly redis: RedisClient;
}

/** What a class has to have that is given to `forRootAsync` as `useClass` or `useExisting`. */
export interface LocksOptionsFactory {
  createLocksOptions(): LocksModuleOptions | Promise<LocksModuleOptions>;
}

/** Locks of fixed names, with their options. */
export interface LocksFeature {
  readonly mutexes?: Readonly<Record<string, MutexOptions>>;
  readonly readWriteLocks?: Readonly<Record<string, ReadWriteLockOptions>>;
  readonly semaphores?: Readonly<Record<string, SemaphoreOptions>>;
  readonly rateLimiters?: Readonly<Record<string, RateLimiterOptions>>;
}

interface Extras {
  /** Tells modules apart, where an application has several: for `InjectLocks(name)`. Default: none. */
  readonly name?: string | undefined;
}

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<LocksModuleOptions>({
  moduleName: 'Locks',
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createLocksOptions')
  .setExtras<Extras>({ name: undefined }, (definition, { name }) => {
    const locks: FactoryProvider<Locks> = {
      provide: getLocksToken(name),
      inject: [MODULE_OPTIONS_TOKEN],
      useFactory: (options: LocksModuleOptions) => locksOf(options, name),
    };
    return {
      ...definition,
      global: true,
      providers: [...(definition.providers ?? []), locks],
      exports: [locks.provide],
    };
  })
  .build();

/**
 * Provides `Locks` to the whole application. `forRoot` takes a client and defaults; `forRootAsync` takes what makes them,
 * as `useFactory` with `inject` and `imports`, `useClass` or `useExisting`. A client or a default that cannot be used lets
 * the boot fail. Nothing is sent at boot, and the client is never closed.
 */
@Module({})
export class LocksModule extends ConfigurableModuleClass {
  /**
   * Provides locks of fixed names to one module of the application, for `InjectMutex(name)` and its like. They take the
   * defaults of the `LocksModule` called `module`, or of the one without a name. The boot fails for options that
   * cannot be used.
   */
  static forFeature(feature: LocksFeature, module?: string): DynamicModule {
    const locksToken = getLocksToken(module);
    const providersOf = <Options>(
      kind: LockKind,
      named: Readonly<Record<string, Options>> = {},
      make: (locks: Locks, name: string, options: Options) => unknown,
    ): FactoryProvider[] =>
      Object.entries(named).map(([name, options]) => ({
        provide: getLockToken(kind, name, module),
        inject: [locksToken],
        useFactory: (locks: Locks) => make(locks, name, options),
      }));
    const providers = [
      ...providersOf('mutex', feature.mutexes, (locks, name, options) => locks.mutex(name, options)),
      ...providersOf('readWriteLock', feature.readWriteLocks, (locks, name, options) =>
        locks.readWriteLock(name, options),
      ),
      ...providersOf('semaphore', feature.semaphores, (locks, name, options) =>
        locks.semaphore(name, options),
      ),
      ...providersOf('rateLimiter', feature.rateLimiters, (locks, name, options) =>
        locks.rateLimiter(name, options),
      ),
    ];
    return { module: LocksModule, providers, exports: providers.map(({ provide }) => provide) };
  }
}

function locksOf(options: LocksModuleOptions, name: string | undefined): Locks {
  try {
    const { redis, ...defaults } = options;
    return new Locks(redis, defaults);
  } catch (error) {
    const which = name === undefined ? '' : ` ${JSON.stringify(name)}`;
    const Misuse = error instanceof RangeError ? RangeError : TypeError;
    throw new Misuse(`LocksModule${which}: ${(error as Error).message}`, { cause: error });
  }
}
