import { ArgumentTypeError } from '@mortise/redis';
import type { BeforeApplicationShutdown, OnApplicationBootstrap, OnModuleInit } from '@nestjs/common';
import { Logger } from '@nestjs/common';
import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import type { StandardSchemaV1 } from '../standard-schema.js';
import type { WorkerOptions } from '../options.js';
import type { Handlers } from '../work/handlers.js';
import { Worker } from '../work/worker.js';
import { assign, misplaced, missing } from './assigned-handlers.js';
import type { Connection } from './connection.js';
import { findHandlers } from './found-handlers.js';
import type { QueuesModuleOptions, QueuesWorkerOptions } from './options.js';
import { FeatureQueue } from './feature-queue.js';

/** The workers of an application, from its boot to its shutdown. */
export class TaskWorkers implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  /** The name of the module. */
  readonly #module: string;
  readonly #options: QueuesModuleOptions;
  readonly #connection: Connection;
  readonly #discovery: DiscoveryService;
  readonly #scanner: MetadataScanner;
  readonly #log = new Logger('QueuesModule');
  #workers: readonly Worker[] = [];

  constructor(
    module: string,
    options: QueuesModuleOptions,
    connection: Connection,
    discovery: DiscoveryService,
    scanner: MetadataScanner,
  ) {
    this.#module = module;
    this.#options = options;
    this.#connection = connection;
    this.#discovery = discovery;
    this.#scanner = scanner;
  }

  /** Runs after all providers are created and before any starts. */
  onModuleInit(): void {
    const everywhere = this.#featureQueues();
    const own = everywhere.filter(({ module }) => module === this.#module);
    const declared = declaredBy(own);
    const handlers = findHandlers(this.#discovery, this.#scanner);
    const found = handlers.filter(({ options: { module = this.#module } }) => module === this.#module);
    const all = [...declared.keys()].toSorted();
    const workers = [this.#options.workers || []].flat() as readonly QueuesWorkerOptions[];
    const problems = misplaced(handlers, (module) =>
      declaredBy(everywhere.filter((one) => module === undefined || one.module === module)),
    );
    for (const { queues = all } of workers) problems.push(...missing(queues, found, declared));
    refuse(problems);
    this.#workers = workers.map(({ queues = all, ...options }) => {
      const assigned = assign(queues, found, problems);
      const schemas = schemasOf(
        own.filter(({ name }) => queues.includes(name)),
        problems,
      );
      refuse(problems);
      return this.#make(queues, assigned, { ...options, schemas });
    });
  }

  async onApplicationBootstrap(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.start()));
  }

  /** Runs before the application closes the clients and databases that handlers use. */
  async beforeApplicationShutdown(): Promise<void> {
    const { graceMs } = this.#options;
    await Promise.all(this.#workers.map((worker) => worker.stop(graceMs === undefined ? {} : { graceMs })));
  }

  #featureQueues(): FeatureQueue[] {
    return this.#discovery
      .getProviders()
      .map(({ instance }) => instance as unknown)
      .filter((instance) => instance instanceof FeatureQueue);
  }

  #make(
    queues: readonly string[],
    handlers: Handlers<Record<string, unknown>>,
    options: WorkerOptions,
  ): Worker {
    const { redis, common } = this.#connection;
    try {
      return new Worker(redis, queues, handlers, {
        onError: (error) => this.#log.error(error),
        ...options,
        ...common,
      });
    } catch (error) {
      // A failed boot shows only the message.
      const Misuse = error instanceof RangeError ? RangeError : TypeError;
      throw new Misuse(`QueuesModule: ${(error as Error).message}`, { cause: error });
    }
  }
}

/** Task names by queue. */
function declaredBy(queues: readonly FeatureQueue[]): Map<string, Set<string>> {
  const declared = new Map<string, Set<string>>();
  for (const { name, tasks, schemas = {} } of queues) {
    const names = declared.get(name) ?? new Set();
    for (const task of tasks ?? Object.keys(schemas)) names.add(task);
    declared.set(name, names);
  }
  return declared;
}

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new ArgumentTypeError(`QueuesModule: ${[...new Set(problems)].join('; ')}`);
}

/** The schemas of all queues of one worker, by task name. */
function schemasOf(queues: readonly FeatureQueue[], problems: string[]): Record<string, StandardSchemaV1> {
  const schemas = new Map<string, StandardSchemaV1>();
  for (const { name, schemas: own = {} } of queues) {
    for (const [task, schema] of Object.entries(own)) {
      const other = schemas.get(task);
      if (other && other !== schema) {
        problems.push(`${JSON.stringify(task)} of queue ${JSON.stringify(name)} has a second, other schema`);
      }
      schemas.set(task, schema!);
    }
  }
  return Object.fromEntries(schemas);
}
