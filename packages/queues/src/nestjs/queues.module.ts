import { requireKnown, requireObject } from '@mortise/redis';
import type { FeatureProvider, ModuleShape } from '@mortise/redis/nestjs';
import { featureModule, rootModule } from '@mortise/redis/nestjs';
import type { DynamicModule } from '@nestjs/common';
import { Module } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, MetadataScanner } from '@nestjs/core';
import { Queue } from '../queue.js';
import { Connection, connectionToken } from './connection.js';
import type { QueuesFeature, QueuesModuleOptions } from './options.js';
import { FeatureQueue } from './feature-queue.js';
import { TaskWorkers } from './task-workers.js';
import { DEFAULT_MODULE, getClaimsToken, getQueueToken } from './tokens.js';

const FEATURE = new Set(['queues', 'claims']);

const shape = {
  name: 'Queues' as const,
  known: new Set(['redis', 'url', 'prefix', 'telemetry', 'workers', 'graceMs']),
  imports: [DiscoveryModule],
  provide: (module: string | undefined) => [
    { token: connectionToken(module), make: (options: QueuesModuleOptions) => Connection.open(options) },
    {
      token: TaskWorkers,
      inject: [connectionToken(module), DiscoveryService, MetadataScanner],
      make: (
        options: QueuesModuleOptions,
        connection: Connection,
        ...scan: [DiscoveryService, MetadataScanner]
      ) => new TaskWorkers(module ?? DEFAULT_MODULE, options, connection, ...scan),
      isInternal: true,
    },
  ],
} satisfies ModuleShape<QueuesModuleOptions, 'Queues'>;

/**
 * Provides queues to a NestJS application, and runs workers of `@TaskHandler` methods in it. `forRoot` takes a client and the
 * options of workers; `forRootAsync` takes `useFactory` with `inject` and `imports`, `useClass` or `useExisting`. Without
 * `workers` the same modules make a program that only enqueues. An application with several clients gives each `forRoot` a
 * `name`.
 *
 * The boot fails for bad options, for a task name with two handlers, and for a queue of a worker whose task has no handler.
 * Workers start in `onApplicationBootstrap` and drain in `beforeApplicationShutdown`: close what handlers use in
 * `onApplicationShutdown`. Call `app.enableShutdownHooks()` or `app.close()`; otherwise running tasks run again when their
 * leases have ended.
 */
@Module({})
export class QueuesModule extends rootModule<QueuesModuleOptions, 'Queues'>(shape) {
  /**
   * Provides queues to one module of the application, for `InjectQueue(name)`, and claims for `InjectClaims(name)`. Several
   * modules may name the same queue: each has a `Queue` of its own, with its own options.
   *
   * @param module The name that `forRoot` was given.
   */
  static forFeature(feature: QueuesFeature, module?: string): DynamicModule {
    requireKnown('forFeature', requireObject('feature', feature), FEATURE);
    const { queues = {}, claims = {} } = feature;
    const connection = connectionToken(module);
    const ofQueues = Object.entries(queues).flatMap(([name, { tasks, ...options }]): FeatureProvider[] => [
      {
        token: `${getQueueToken(name, module)}, for workers`,
        inject: [],
        make: () => new FeatureQueue(name, module ?? DEFAULT_MODULE, tasks, options.schemas),
        isInternal: true,
      },
      {
        token: getQueueToken(name, module),
        inject: [connection],
        make: ({ redis, common }: Connection) => new Queue(redis, name, { ...options, ...common }),
      },
    ]);
    const ofClaims = Object.entries(claims).map(([name, options]): FeatureProvider => ({
      token: getClaimsToken(name, module),
      inject: [connection],
      make: (open: Connection) => open.claims(name, options),
    }));
    return featureModule(QueuesModule, 'Queues', [...ofQueues, ...ofClaims], module);
  }
}
