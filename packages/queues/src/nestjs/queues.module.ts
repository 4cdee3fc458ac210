/**
 * The module gives NestJS the client once; `registerQueue` provides queues to those who inject them, and the workers find
 * their handlers among the providers of the application. Whether there are workers is an option of `forRoot`, so the same
 * modules make a program that only enqueues, one that only works, and one that does both.
 */
import type { DynamicModule, FactoryProvider } from '@nestjs/common';
import { ConfigurableModuleBuilder, Module } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, MetadataScanner } from '@nestjs/core';
import { requireName } from '@mortise/redis';
import { Queue } from '../queue.js';
import { Connection } from './connection.js';
import { misuse } from './misuse.js';
import type { ConnectionName, QueuesModuleOptions, RegisterQueueOptions } from './options.js';
import { RegisteredQueue } from './registered-queue.js';
import { TaskWorkers } from './task-workers.js';
import { connectionToken, DEFAULT_CONNECTION, queueToken } from './tokens.js';

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<QueuesModuleOptions>({
  moduleName: 'Queues',
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createQueuesOptions')
  .setExtras<ConnectionName>({ connection: undefined }, (definition, extras) => {
    const name = requireName('connection', extras.connection ?? DEFAULT_CONNECTION);
    const connection: FactoryProvider<Connection> = {
      provide: connectionToken(name),
      inject: [MODULE_OPTIONS_TOKEN],
      useFactory: async (options: QueuesModuleOptions) => {
        try {
          return await Connection.open(options);
        } catch (error) {
          throw misuse('', error);
        }
      },
    };
    const workers: FactoryProvider<TaskWorkers> = {
      provide: TaskWorkers,
      inject: [MODULE_OPTIONS_TOKEN, connection.provide, DiscoveryService, MetadataScanner],
      useFactory: (...given: [QueuesModuleOptions, Connection, DiscoveryService, MetadataScanner]) =>
        new TaskWorkers(name, ...given),
    };
    return {
      ...definition,
      global: true,
      imports: [...(definition.imports ?? []), DiscoveryModule],
      providers: [...(definition.providers ?? []), connection, workers],
      exports: [connection.provide],
    };
  })
  .build();

/**
 * `forRoot` takes a client and says which workers run; `forRootAsync` takes what makes these options, as `useFactory` with
 * `inject` and `imports`, `useClass` or `useExisting`. Once in an application for each connection.
 *
 * The boot fails for options that cannot be used, for a name with two handlers, and for a queue with a worker that has a
 * name without one. Workers begin when the application has started (`onApplicationBootstrap`), and end in
 * `beforeApplicationShutdown`: what handlers use is to be closed in `onApplicationShutdown`. Without the shutdown hooks of
 * NestJS (`app.enableShutdownHooks()`, or `app.close()` by yourself), tasks that run are run again when their leases have ended.
 */
@Module({})
export class QueuesModule extends ConfigurableModuleClass {
  /**
   * Provides a queue to one module of the application, for `InjectQueue(name)`. It may be registered in several modules: each
   * has its own `Queue` then, with the options that are given there.
   */
  static registerQueue(name: string, given: RegisterQueueOptions = {}): DynamicModule {
    const { tasks, connection = DEFAULT_CONNECTION, ...options } = given;
    const registered = {
      provide: RegisteredQueue,
      useValue: new RegisteredQueue(name, connection, tasks, options.schemas),
    };
    const queue: FactoryProvider<Queue> = {
      provide: queueToken(name, connection),
      inject: [connectionToken(connection)],
      useFactory: ({ redis, prefix, telemetry }: Connection) => {
        const common = { ...(prefix !== undefined && { prefix }), ...(telemetry && { telemetry }) };
        try {
          return new Queue(redis, name, { ...options, ...common });
        } catch (error) {
          throw misuse(`, queue ${JSON.stringify(name)}`, error);
        }
      },
    };
    return { module: QueuesModule, providers: [registered, queue], exports: [queue.provide] };
  }
}
