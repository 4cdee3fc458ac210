import type { RedisClient, Telemetry } from '@mortise/redis';
import type { ClaimsOptions } from '../claims/options.js';
import type { QueueOptions, WorkerOptions } from '../options.js';

/** The options of one worker, and its queues. */
export interface QueuesWorkerOptions extends Omit<WorkerOptions, 'prefix' | 'schemas' | 'telemetry'> {
  /** Most urgent first. Default: all queues of `forFeature`, sorted by name. */
  readonly queues?: readonly string[] | undefined;
}

interface CommonOptions {
  /** As for `Queue` and `Worker`, and one for all of them. */
  readonly prefix?: string | undefined;
  readonly telemetry?: Telemetry | undefined;
  /** One or several workers. Default and `false`: none; the application only enqueues. */
  readonly workers?: QueuesWorkerOptions | readonly QueuesWorkerOptions[] | false | undefined;
  /** How long the shutdown waits for running tasks, ms; then they are given back. Default 10,000. */
  readonly graceMs?: number | undefined;
}

/** With a client, which the module uses and never closes, or with the URL of a server, for a client that the module owns. */
export type QueuesModuleOptions = CommonOptions &
  (
    | { readonly redis: RedisClient; readonly url?: undefined }
    | { readonly url: string; readonly redis?: undefined }
  );

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
  readonly queues?: Readonly<Record<string, QueueFeatureOptions>> | undefined;
  readonly claims?: Readonly<Record<string, Omit<ClaimsOptions, 'prefix' | 'telemetry'>>> | undefined;
}
