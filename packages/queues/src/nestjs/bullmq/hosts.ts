/* oxlint-disable typescript/no-explicit-any -- the signature of BullMQ: a job returns anything */
import { WorkerHost as NestWorkerHost } from '@nestjs/bullmq';
import type { OnApplicationShutdown } from '@nestjs/common';
import type { Job } from '../../bullmq/job.js';
import type { QueueEvents } from '../../bullmq/queue-events.js';
import type { Worker } from '../../bullmq/worker.js';

/** The explorer of `@nestjs/bullmq` looks for its own class; the types here are those of the layer. */
const Host = NestWorkerHost as unknown as abstract new () => object;

/** A class with `@Processor` extends it. */
export abstract class WorkerHost<Runner extends Worker = Worker> extends Host {
  /** The worker that calls `process`. Throws before `onModuleInit` has ended. */
  declare readonly worker: Runner;

  abstract process(job: Job, token?: string): Promise<any>;
}

/** A class with `@QueueEventsListener` extends it. */
export abstract class QueueEventsHost<
  Events extends QueueEvents = QueueEvents,
> implements OnApplicationShutdown {
  #queueEvents: Events | undefined;

  /** The events that the listeners get. Throws before `onModuleInit` has ended. */
  get queueEvents(): Events {
    if (!this.#queueEvents) {
      throw new Error(
        '"QueueEvents" class has not yet been initialized: it is from onApplicationBootstrap on',
      );
    }
    return this.#queueEvents;
  }

  async onApplicationShutdown(_signal?: string): Promise<void> {
    await this.#queueEvents?.close();
  }

  /** Called once, by the explorer. False for a class that has its events already. */
  static attach(host: QueueEventsHost, open: () => QueueEvents): boolean {
    if (host.#queueEvents) return false;
    host.#queueEvents = open();
    return true;
  }
}
