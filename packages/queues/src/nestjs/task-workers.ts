import { ArgumentRangeError, ArgumentTypeError } from '@mortise/redis';
import type { BeforeApplicationShutdown, OnApplicationBootstrap, OnModuleInit } from '@nestjs/common';
import { Logger } from '@nestjs/common';
import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import type { StandardSchemaV1 } from '../standard-schema.js';
import { printDead } from '../work/end-listeners.js';
import type { WorkerOptions } from '../options.js';
import type { Handlers } from '../work/handlers.js';
import { Worker } from '../work/worker.js';
import { assign, misplaced, missing } from './assigned-handlers.js';
import { findHandlers } from './found-handlers.js';
import type { QueuesModuleOptions, QueuesWorkerOptions } from './options.js';
import { FeatureQueue } from './feature-queue.js';
import type { Queues } from './queues.js';

/** The workers of an application, from its boot to its shutdown. */
export class TaskWorkers implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #options: QueuesModuleOptions;
  readonly #queues: Queues;
  readonly #discovery: DiscoveryService;
  readonly #scanner: MetadataScanner;
  readonly #log = new Logger('QueuesModule');

  constructor(
    options: QueuesModuleOptions,
    queues: Queues,
    discovery: DiscoveryService,
    scanner: MetadataScanner,
  ) {
    this.#options = options;
    this.#queues = queues;
    this.#discovery = discovery;
    this.#scanner = scanner;
  }

  /** Runs after all providers are created and before any starts. */
  onModuleInit(): void {
    const { module: name } = this.#queues;
    const everywhere = this.#featureQueues();
    const own = everywhere.filter(({ module }) => module === name);
    const declared = declaredBy(own);
    const handlers = findHandlers(this.#discovery, this.#scanner);
    const found = handlers.filter(({ options: { module = name } }) => module === name);
    const all = [...declared.keys()].toSorted();
    const workers = [this.#options.workers || []].flat() as readonly QueuesWorkerOptions[];
    const problems = misplaced(handlers, (module) =>
      declaredBy(everywhere.filter((one) => module === undefined || one.module === module)),
    );
    for (const { queues = all } of workers) problems.push(...missing(queues, found, declared));
    refuse(problems);
    this.#queues.workers = workers.map(({ queues = all, ...options }) => {
      const assigned = assign(queues, found, problems);
      const schemas = schemasOf(
        own.filter((queue) => queues.includes(queue.name)),
        problems,
      );
      refuse(problems);
      return this.#make(queues, assigned, { ...options, schemas });
    });
  }

  async onApplicationBootstrap(): Promise<void> {
    await Promise.all(this.#queues.workers.map((worker) => worker.start()));
  }

  /** Runs before the application closes the clients and databases that handlers use. */
  async beforeApplicationShutdown(): Promise<void> {
    const { graceMs } = this.#options;
    const options = graceMs === undefined ? {} : { graceMs };
    await Promise.all(this.#queues.workers.map((worker) => worker.stop(options)));
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
    const onError = (error: unknown): void => this.#log.error(error);
    const onFailed = printDead((line) => this.#log.error(line));
    try {
      const own = this.#queues.ownOptions('Worker', {
        onError,
        ...(!options.onSucceeded && { onFailed }),
        ...options,
      });
      return new Worker(this.#queues.redis, queues, handlers, own);
    } catch (error) {
      // A failed boot shows only the message.
      const Misuse = error instanceof RangeError ? ArgumentRangeError : ArgumentTypeError;
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
