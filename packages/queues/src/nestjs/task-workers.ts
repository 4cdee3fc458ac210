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
import { misuse } from './misuse.js';
import type { QueuesModuleOptions, QueuesWorkerOptions } from './options.js';
import { RegisteredQueue } from './registered-queue.js';

/** The workers of an application, from its boot to its shutdown. */
export class TaskWorkers implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  /** Of the connection. */
  readonly #name: string;
  readonly #options: QueuesModuleOptions;
  readonly #connection: Connection;
  readonly #discovery: DiscoveryService;
  readonly #scanner: MetadataScanner;
  readonly #log = new Logger('QueuesModule');
  #workers: readonly Worker[] = [];

  constructor(
    name: string,
    options: QueuesModuleOptions,
    connection: Connection,
    discovery: DiscoveryService,
    scanner: MetadataScanner,
  ) {
    this.#name = name;
    this.#options = options;
    this.#connection = connection;
    this.#discovery = discovery;
    this.#scanner = scanner;
  }

  /** All providers are there, and none has begun. */
  onModuleInit(): void {
    const everywhere = this.#registered();
    const registered = everywhere.filter(({ connection }) => connection === this.#name);
    const declared = declaredBy(registered);
    const handlers = findHandlers(this.#discovery, this.#scanner);
    const found = handlers.filter(({ options: { connection = this.#name } }) => connection === this.#name);
    const all = [...declared.keys()].toSorted();
    const workers = [this.#options.workers || []].flat() as readonly QueuesWorkerOptions[];
    const problems = misplaced(handlers, (connection) =>
      declaredBy(everywhere.filter((one) => connection === undefined || one.connection === connection)),
    );
    for (const { queues = all } of workers) problems.push(...missing(queues, found, declared));
    refuse(problems);
    this.#workers = workers.map(({ queues = all, ...options }) => {
      const assigned = assign(queues, found, problems);
      const schemas = schemasOf(
        registered.filter(({ name }) => queues.includes(name)),
        problems,
      );
      refuse(problems);
      return this.#make(queues, assigned, { ...options, schemas });
    });
  }

  async onApplicationBootstrap(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.start()));
  }

  /** Before the clients and databases that handlers use are closed. */
  async beforeApplicationShutdown(): Promise<void> {
    const { graceMs } = this.#options;
    await Promise.all(this.#workers.map((worker) => worker.stop(graceMs === undefined ? {} : { graceMs })));
  }

  #registered(): RegisteredQueue[] {
    return this.#discovery
      .getProviders()
      .map(({ instance }) => instance as unknown)
      .filter((instance) => instance instanceof RegisteredQueue);
  }

  #make(
    queues: readonly string[],
    handlers: Handlers<Record<string, unknown>>,
    options: WorkerOptions,
  ): Worker {
    const { redis, prefix, telemetry } = this.#connection;
    try {
      return new Worker(redis, queues, handlers, {
        onError: (error) => this.#log.error(error),
        ...options,
        ...(prefix !== undefined && { prefix }),
        ...(telemetry && { telemetry }),
      });
    } catch (error) {
      throw misuse('', error);
    }
  }
}

/** The names of tasks by queue. */
function declaredBy(registered: readonly RegisteredQueue[]): Map<string, Set<string>> {
  const declared = new Map<string, Set<string>>();
  for (const { name, tasks, schemas = {} } of registered) {
    const names = declared.get(name) ?? new Set();
    for (const task of tasks ?? Object.keys(schemas)) names.add(task);
    declared.set(name, names);
  }
  return declared;
}

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new ArgumentTypeError(`QueuesModule: ${[...new Set(problems)].join('; ')}`);
}

/** Of all queues of one worker, which knows them by the names of tasks alone. */
function schemasOf(
  registered: readonly RegisteredQueue[],
  problems: string[],
): Record<string, StandardSchemaV1> {
  const schemas = new Map<string, StandardSchemaV1>();
  for (const { name, schemas: own = {} } of registered) {
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
