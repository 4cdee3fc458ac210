/**
 * The NestJS module: it takes the client and the defaults once. Locks are cheap, so most are made where they are needed, by the
 * injected `Locks`; `forFeature` is for fixed names whose options all users must agree on, such as the permits of a semaphore.
 */
import type { RedisClient } from '@mortise/redis';
import { requireKnown, requireObject } from '@mortise/redis';
import type { FeatureProvider } from '@mortise/redis/nestjs';
import { featureModule, rootModule } from '@mortise/redis/nestjs';
import type { DynamicModule } from '@nestjs/common';
import { Module } from '@nestjs/common';
import type {
  CountDownLatchOptions,
  MultiLockOptions,
  MutexOptions,
  RateLimiterOptions,
  ReadWriteLockOptions,
  SemaphoreOptions,
} from '../options.js';
import { Locks } from './locks.js';
import * as tokens from './tokens.js';

/** The client, which the module uses and never closes, and defaults for the locks that are made with it. */
export interface LocksModuleOptions extends MutexOptions {
  readonly redis: RedisClient;
}

/** A class for `useClass` or `useExisting` of `forRootAsync`. */
export interface LocksOptionsFactory {
  createLocksOptions(): LocksModuleOptions | Promise<LocksModuleOptions>;
}

/** The locks that a MultiLock takes together, and its options. */
export interface NamedMultiLockOptions extends MultiLockOptions {
  readonly names: readonly string[];
}

type Named<Options> = Readonly<Record<string, Options>>;

/** Locks of fixed names, with options of their own over those of the module. */
export interface LocksFeature {
  readonly mutexes?: Named<MutexOptions>;
  readonly multiLocks?: Named<NamedMultiLockOptions>;
  readonly readWriteLocks?: Named<ReadWriteLockOptions>;
  readonly semaphores?: Named<SemaphoreOptions>;
  readonly rateLimiters?: Named<RateLimiterOptions>;
  readonly countDownLatches?: Named<CountDownLatchOptions>;
}

const NAME = 'Locks';
const FEATURE: ReadonlySet<string> = new Set<keyof LocksFeature>([
  'mutexes',
  'multiLocks',
  'readWriteLocks',
  'semaphores',
  'rateLimiters',
  'countDownLatches',
]);

/**
 * Provides `Locks` to the whole application. `forRoot` takes a client and defaults; `forRootAsync` takes `useFactory` with
 * `inject` and `imports`, `useClass` or `useExisting`. Invalid options let the boot fail. Nothing is sent at boot, and the
 * client is never closed.
 */
@Module({})
export class LocksModule extends rootModule<LocksModuleOptions, typeof NAME>({
  name: NAME,
  provide: (module) => [
    {
      token: tokens.getLocksToken(module),
      make: ({ redis, ...defaults }: LocksModuleOptions) => new Locks(redis, defaults),
    },
  ],
}) {
  /**
   * Provides locks of fixed names to one module of the application, for `InjectMutex(name)` and so on. Invalid options let
   * the boot fail.
   *
   * @param module The `name` of the module that `forRoot` made. Default: the one without a name.
   */
  static forFeature(feature: LocksFeature, module?: string): DynamicModule {
    requireKnown('LocksModule.forFeature', requireObject('feature', feature), FEATURE);
    const providersOf = <Options>(
      named: Named<Options> = {},
      tokenOf: (name: string, module?: string) => string,
      make: (locks: Locks, name: string, options: Options) => unknown,
    ): FeatureProvider[] =>
      Object.entries(named).map(([name, options]) => ({
        token: tokenOf(name, module),
        inject: [tokens.getLocksToken(module)],
        make: (locks: Locks) => make(locks, name, options),
      }));
    const { mutexes, multiLocks, readWriteLocks, semaphores, rateLimiters, countDownLatches } = feature;
    const provided = [
      ...providersOf(mutexes, tokens.getMutexToken, (locks, name, options) => locks.mutex(name, options)),
      ...providersOf(multiLocks, tokens.getMultiLockToken, (locks, _name, { names, ...options }) =>
        locks.multiLock(names, options),
      ),
      ...providersOf(readWriteLocks, tokens.getReadWriteLockToken, (locks, name, options) =>
        locks.readWriteLock(name, options),
      ),
      ...providersOf(semaphores, tokens.getSemaphoreToken, (locks, name, options) =>
        locks.semaphore(name, options),
      ),
      ...providersOf(rateLimiters, tokens.getRateLimiterToken, (locks, name, options) =>
        locks.rateLimiter(name, options),
      ),
      ...providersOf(countDownLatches, tokens.getCountDownLatchToken, (locks, name, options) =>
        locks.countDownLatch(name, options),
      ),
    ];
    return featureModule(LocksModule, NAME, provided, module);
  }
}
