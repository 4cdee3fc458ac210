/**
 * The NestJS module: it takes the client and the defaults once. Locks are cheap, so most are made where they are needed, by the
 * injected `Locks`; `forFeature` is for fixed names whose options all users must agree on, such as the permits of a semaphore.
 */
import type { RedisClient } from '@mortise/redis';
import type { FeatureShape, ModuleClient } from '@mortise/redis/nestjs';
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
import { KNOWN } from '../options.js';
import type { QuorumMutexOptions } from '../quorum/quorum-options.js';
import { Locks } from './locks.js';
import * as tokens from './tokens.js';

/**
 * A client (`redis`), which the module uses and never closes, or the `url` of a single node, for a client that the module
 * closes. The other options are the defaults of the locks that the module makes.
 */
export type LocksModuleOptions = MutexOptions & ModuleClient;

/** A class for `useClass` or `useExisting` of `forRootAsync`. */
export interface LocksOptionsFactory {
  createLocksOptions(): LocksModuleOptions | Promise<LocksModuleOptions>;
}

/** The locks that a MultiLock takes together, and its options. */
export interface NamedMultiLockOptions extends MultiLockOptions {
  /** The names of the locks. */
  readonly names: readonly string[];
}

/** The clients of a QuorumMutex, and its options. */
export interface NamedQuorumMutexOptions extends QuorumMutexOptions {
  /** A client for each independent server, 3 to 15. */
  readonly clients: readonly RedisClient[];
}

type Named<Options> = Readonly<Record<string, Options>>;

/** Locks of fixed names, with options of their own over those of the module. */
export interface LocksFeature {
  /** Mutexes, by name. */
  readonly mutexes?: Named<MutexOptions> | undefined;
  /** Multi-locks, by name. */
  readonly multiLocks?: Named<NamedMultiLockOptions> | undefined;
  /** Read-write locks, by name. */
  readonly readWriteLocks?: Named<ReadWriteLockOptions> | undefined;
  /** Semaphores, by name. */
  readonly semaphores?: Named<SemaphoreOptions> | undefined;
  /** Rate limiters, by name. */
  readonly rateLimiters?: Named<RateLimiterOptions> | undefined;
  /** Latches, by name. */
  readonly countDownLatches?: Named<CountDownLatchOptions> | undefined;
  /** Quorum mutexes, by name. */
  readonly quorumMutexes?: Named<NamedQuorumMutexOptions> | undefined;
}

const feature: FeatureShape<LocksFeature, Locks> = {
  name: 'Locks',
  root: tokens.getLocksToken,
  kinds: {
    mutexes: {
      token: tokens.getMutexToken,
      make: (locks, name, options) => locks.mutex(name, options),
    },
    multiLocks: {
      token: tokens.getMultiLockToken,
      make: (locks, _, { names, ...options }) => locks.multiLock(names, options),
    },
    readWriteLocks: {
      token: tokens.getReadWriteLockToken,
      make: (locks, name, options) => locks.readWriteLock(name, options),
    },
    semaphores: {
      token: tokens.getSemaphoreToken,
      make: (locks, name, options) => locks.semaphore(name, options),
    },
    rateLimiters: {
      token: tokens.getRateLimiterToken,
      make: (locks, name, options) => locks.rateLimiter(name, options),
    },
    countDownLatches: {
      token: tokens.getCountDownLatchToken,
      make: (locks, name, options) => locks.countDownLatch(name, options),
    },
    quorumMutexes: {
      token: tokens.getQuorumMutexToken,
      make: (locks, name, { clients, ...options }) => locks.quorumMutex(clients, name, options),
    },
  },
};

/**
 * Provides `Locks` to the whole application. `forRoot` takes a client or a `url`, defaults, and a `feature`, which names locks
 * for all modules as `forFeature` does for one. `forRootAsync` takes `useFactory` with `inject` and `imports`, `useClass` or
 * `useExisting`. Invalid options let the boot fail. Nothing is sent at boot. A client of yours is never closed.
 */
@Module({})
export class LocksModule extends rootModule<LocksModuleOptions, 'Locks', LocksFeature, Locks>({
  name: 'Locks',
  feature,
  known: new Set(['redis', 'url', ...KNOWN.Mutex]),
  provide: (module) => [
    {
      token: tokens.getLocksToken(module),
      make: ({ redis, ...defaults }) => new Locks(redis, defaults),
    },
  ],
}) {
  /**
   * Provides locks of fixed names to one module of the application, for `InjectMutex(name)` and so on. Invalid options let
   * the boot fail.
   *
   * @param module The `name` of the module that `forRoot` made. Default: the one without a name.
   */
  static forFeature(named: LocksFeature, module?: string): DynamicModule {
    return featureModule(LocksModule, feature, named, module);
  }
}
