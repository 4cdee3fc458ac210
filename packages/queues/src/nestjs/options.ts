import type { RedisClient, Telemetry } from '@mortise/redis';
import type { QueueOptions, WorkerOptions } from '../options.js';

/** One worker: options of `Worker`, and which queues it serves. */
export interface QueuesWorkerOptions extends Omit<WorkerOptions, 'prefix' | 'schemas' | 'telemetry'> {
  /** The most urgent one first. Default: all that are registered, in the order of their names. */
  readonly queues?: readonly string[];
}

interface CommonOptions {
  /** As for `Queue` and `Worker`. */
  readonly prefix?: string | undefined;
  readonly telemetry?: Telemetry | undefined;
  /** One worker or several. Default, and `false`: none, the application only enqueues. */
  readonly workers?: QueuesWorkerOptions | readonly QueuesWorkerOptions[] | false | undefined;
  /** How long the shutdown waits for tasks that run, ms; then they are given back. Default 10,000. */
  readonly graceMs?: number | undefined;
}

/** With a client, which the module uses and never closes, or with the URL of a server, for a client of its own. */
export type QueuesModuleOptions = CommonOptions &
  (
    | { readonly redis: RedisClient; readonly url?: undefined }
    | { readonly url: string; readonly redis?: undefined }
  );

/** What a class has to have that is given to `forRootAsync` as `useClass` or `useExisting`. */
export interface QueuesOptionsFactory {
  createQueuesOptions(): QueuesModuleOptions | Promise<QueuesModuleOptions>;
}

/** Given beside the options of `forRoot` and `forRootAsync`. */
export interface ConnectionName {
  /** Of an application with several connections: what queues and handlers of this one name. Default `default`. */
  readonly connection?: string | undefined;
}

export interface RegisterQueueOptions extends ConnectionName, Omit<QueueOptions, 'prefix' | 'telemetry'> {
  /** The names of its tasks: the boot of a worker fails when one has no handler. Default: those of `schemas`, or unknown. */
  readonly tasks?: readonly string[];
}
