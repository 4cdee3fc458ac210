import { ArgumentTypeError, requireKnown, requireObject } from '@mortise/redis';
import type { Merger } from './merger.js';
import type { KeyedEnqueueOptions } from './merge-options.js';
import type { EnqueueOptions } from '../options.js';
import type { Enqueued, Enqueuer } from './enqueuer.js';
import type { ProducerTelemetry } from './producer-telemetry.js';

interface GivenTask {
  readonly name: string;
  readonly payload: unknown;
  readonly options?: EnqueueOptions | undefined;
}

const TASK = new Set(['name', 'payload', 'options']);

/** Stores tasks for a queue, inside a span of its telemetry if it has one. */
export class Producer {
  readonly #enqueuer: Enqueuer;
  readonly #merger: Merger;
  readonly #telemetry: ProducerTelemetry | undefined;

  constructor(enqueuer: Enqueuer, merger: Merger, telemetry: ProducerTelemetry | undefined) {
    this.#enqueuer = enqueuer;
    this.#merger = merger;
    this.#telemetry = telemetry;
  }

  enqueue(name: string, payload: unknown, options: EnqueueOptions | KeyedEnqueueOptions): Promise<Enqueued> {
    if (!this.#telemetry) return this.#store(name, payload, options);
    return this.#telemetry.send({ name, payload, options }, (traced) =>
      this.#store(name, payload, traced.options),
    );
  }

  async enqueueMany(tasks: readonly GivenTask[]): Promise<Enqueued[]> {
    requireTasks(tasks);
    if (!this.#telemetry) return this.#storeMany(tasks);
    return this.#telemetry.sendMany(tasks, (traced) => this.#storeMany(traced));
  }

  /** Not an async function: that would create one more promise for each task. */
  #store(name: string, payload: unknown, options: EnqueueOptions | KeyedEnqueueOptions): Promise<Enqueued> {
    try {
      if ((options as Partial<KeyedEnqueueOptions> | null)?.dedupKey !== undefined)
        return this.#merger.enqueue(name, payload, options as KeyedEnqueueOptions);
      const request = this.#enqueuer.prepare(name, payload, options);
      if (this.#enqueuer.isOpen) return this.#enqueuer.submit(request);
      return this.#enqueuer.open(request).then(() => this.#enqueuer.submit(request));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async #storeMany(tasks: readonly GivenTask[]): Promise<Enqueued[]> {
    const requests = tasks.map(({ name, payload, options = {} }) =>
      this.#enqueuer.prepare(name, payload, options),
    );
    if (requests.length === 0) return [];
    if (!this.#enqueuer.isOpen)
      await this.#enqueuer.open(requests.find(({ madeAt }) => madeAt !== undefined));
    return this.#enqueuer.submitAll(requests);
  }
}

function requireTasks(tasks: readonly GivenTask[]): void {
  if (!Array.isArray(tasks)) throw new ArgumentTypeError('tasks must be an array');
  // `entries()` yields the empty places of a sparse array as undefined.
  for (const [index, task] of tasks.entries()) {
    requireObject(`task ${index}`, task as object);
    requireKnown('a task of enqueueMany', task as object, TASK);
  }
}
