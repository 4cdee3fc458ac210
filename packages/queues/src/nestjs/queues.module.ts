import type { FeatureShape, ModuleShape } from '@mortise/redis/nestjs';
import { featureModule, rootModule } from '@mortise/redis/nestjs';
import type { DynamicModule } from '@nestjs/common';
import { Module } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, MetadataScanner } from '@nestjs/core';
import { FeatureQueue } from './feature-queue.js';
import type { QueuesFeature, QueuesModuleOptions } from './options.js';
import { Queues } from './queues.js';
import { TaskWorkers } from './task-workers.js';
import { DEFAULT_MODULE, getClaimsToken, getQueuesToken, getQueueToken } from './tokens.js';

const NAME = 'Queues';

const feature: FeatureShape<QueuesFeature, Queues> = {
  name: NAME,
  root: getQueuesToken,
  kinds: {
    queues: [
      {
        token: getQueueToken,
        make: (queues, name, given) => {
          const { tasks: _, ...options } = given;
          return queues.queue(name, options);
        },
      },
      {
        token: (name, module) => `${getQueueToken(name, module)}, for workers`,
        make: ({ module }, name, { tasks, schemas }) => new FeatureQueue(name, module, tasks, schemas),
        isInternal: true,
      },
    ],
    claims: { token: getClaimsToken, make: (queues, name, options) => queues.claims(name, options) },
  },
};

const shape = {
  name: NAME,
  feature,
  known: new Set(['redis', 'url', 'prefix', 'telemetry', 'workers', 'graceMs']),
  imports: [DiscoveryModule],
  provide: (module: string | undefined) => [
    {
      token: getQueuesToken(module),
      make: ({ redis, ...options }) => new Queues(redis, options, module ?? DEFAULT_MODULE),
    },
    {
      token: TaskWorkers,
      inject: [getQueuesToken(module), DiscoveryService, MetadataScanner],
      make: (options, queues: Queues, ...scan: [DiscoveryService, MetadataScanner]) =>
        new TaskWorkers(options, queues, ...scan),
      isInternal: true,
    },
  ],
} satisfies ModuleShape<QueuesModuleOptions, typeof NAME, QueuesFeature, Queues>;

/**
 * Provides `Queues` to a NestJS application, and runs workers of `@TaskHandler` methods in it. `forRoot` takes a client or a
 * `url`, the options of workers, and a `feature`, which names queues for all modules as `forFeature` does for one.
 * `forRootAsync` takes `useFactory` with `inject` and `imports`, `useClass` or `useExisting`. Without `workers` the application
 * only enqueues. An application with several clients gives each `forRoot` a `name`.
 *
 * The boot fails for bad options, for a task name with two handlers, and for a queue of a worker whose task has no handler.
 * Workers start in `onApplicationBootstrap` and drain in `beforeApplicationShutdown`: close what handlers use in
 * `onApplicationShutdown`. Call `app.enableShutdownHooks()` or `app.close()`; otherwise running tasks run again when their
 * leases have ended.
 */
@Module({})
export class QueuesModule extends rootModule<QueuesModuleOptions, typeof NAME, QueuesFeature, Queues>(shape) {
  /**
   * Provides queues to one module of the application, for `InjectQueue(name)`, and claims for `InjectClaims(name)`. Several
   * modules may name the same queue: each has a `Queue` of its own, with its own options.
   *
   * @param module The name that `forRoot` was given.
   */
  static forFeature(named: QueuesFeature, module?: string): DynamicModule {
    return featureModule(QueuesModule, feature, named, module);
  }
}
