import type { Telemetry } from '@mortise/redis';
import type { ModuleClient } from '@mortise/redis/nestjs';
import type { ClaimsOptions } from '../claims/options.js';
import type { QueueOptions, WorkerOptions } from '../options.js';

/** The options of one worker, and its queues. */
export interface QueuesWorkerOptions extends Omit<WorkerOptions, 'prefix' | 'schemas' | 'telemetry'> {
  /** The names of its queues, the most urgent first. Default: all queues of `forFeature` and `feature`, sorted by name. */
  readonly queues?: readonly string[] | undefined;
}

/** Options of `forRoot` beside the client. */
interface QueuesProviderOptions {
  /** Keeps several applications apart in one Redis: all queues and workers of the module have it. Default `mortise`. */
  readonly prefix?: string | undefined;
  /** For the queues, the claims and the workers. Default: none. */
  readonly telemetry?: Telemetry | undefined;
  /** One worker or several. With `false` the application only enqueues. Default `false`. */
  readonly workers?: QueuesWorkerOptions | readonly QueuesWorkerOptions[] | false | undefined;
  /** How long the shutdown waits for running tasks, ms. Then the workers give them back. Default 10,000. */
  readonly graceMs?: number | undefined;
}

/** A client (`redis`), which the module uses and never closes, or the `url` of a single node, for a client that the module closes. */
export type QueuesModuleOptions = QueuesProviderOptions & ModuleClient;

/** A class for `useClass` or `useExisting` of `forRootAsync` has this method. */
export interface QueuesOptionsFactory {
  createQueuesOptions(): QueuesModuleOptions | Promise<QueuesModuleOptions>;
}

export interface QueueFeatureOptions extends Omit<QueueOptions, 'prefix' | 'telemetry'> {
  /**
   * The names of the queue's tasks: the boot of a worker fails if one has no handler. Default: the names of `schemas`, or
   * unknown.
   */
  readonly tasks?: readonly string[] | undefined;
}

/** Queues, and claims of queues, by name. */
export interface QueuesFeature {
  /** The options of each queue, by its name. */
  readonly queues?: Readonly<Record<string, QueueFeatureOptions>> | undefined;
  /** The options of the claims of each queue, by the name of the queue. */
  readonly claims?: Readonly<Record<string, Omit<ClaimsOptions, 'prefix' | 'telemetry'>>> | undefined;
}
