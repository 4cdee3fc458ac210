/** What stores tasks for a queue, and tells telemetry of it if there is some. */
import { ArgumentTypeError } from '@mortise/redis';
import type { Telemetry } from '@mortise/redis';
import type { FlowTask } from '../flow/flow-node.js';
import type { EnqueuedFlow, Flows } from '../flow/flows.js';
import type { EnqueueOptions } from '../options.js';
import { requireKnown, requireObject } from '../require-known.js';
import { Sending } from '../telemetry/sending.js';
import type { Enqueued, Enqueuer } from './enqueuer.js';

interface GivenTask {
  readonly name: string;
  readonly payload: unknown;
  readonly options?: EnqueueOptions;
}

export class Producer {
  readonly #enqueuer: Enqueuer;
  readonly #flows: Flows;
  readonly #sending: Sending | undefined;

  constructor(queue: string, enqueuer: Enqueuer, flows: Flows, telemetry: Telemetry | undefined) {
    this.#enqueuer = enqueuer;
    this.#flows = flows;
    this.#sending = telemetry === undefined ? undefined : new Sending(telemetry, queue);
  }

  enqueue(name: string, payload: unknown, options: EnqueueOptions): Promise<Enqueued> {
    if (!this.#sending) return this.#store(name, payload, options);
    return this.#sending.send({ name, payload, options }, (traced) =>
      this.#store(name, payload, traced.options),
    );
  }

  async enqueueMany(tasks: readonly GivenTask[]): Promise<Enqueued[]> {
    requireTasks(tasks);
    if (!this.#sending) return this.#storeMany(tasks);
    return this.#sending.sendMany(tasks, (traced) => this.#storeMany(traced));
  }

  enqueueFlow(flow: FlowTask): Promise<EnqueuedFlow> {
    if (!this.#sending) return this.#flows.enqueue(flow);
    return this.#sending.send(flow, (traced) => this.#flows.enqueue(traced));
  }

  cancelled(): void {
    this.#sending?.cancelled();
  }

  #store(name: string, payload: unknown, options: EnqueueOptions): Promise<Enqueued> {
    // Not an async function: its promise would be one more for each task.
    try {
      const request = this.#enqueuer.prepare(name, payload, options);
      if (this.#enqueuer.isOpen) return this.#enqueuer.submit(request);
      return this.#enqueuer.open().then(() => this.#enqueuer.submit(request));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async #storeMany(tasks: readonly GivenTask[]): Promise<Enqueued[]> {
    const requests = tasks.map(({ name, payload, options = {} }) =>
      this.#enqueuer.prepare(name, payload, options),
    );
    if (requests.length === 0) return [];
    if (!this.#enqueuer.isOpen) await this.#enqueuer.open();
    return this.#enqueuer.submitAll(requests);
  }
}

const TASK = new Set(['name', 'payload', 'options']);

function requireTasks(tasks: readonly GivenTask[]): void {
  if (!Array.isArray(tasks)) throw new ArgumentTypeError('tasks must be an array');
  // With `entries`, a hole is undefined.
  for (const [index, task] of tasks.entries()) {
    requireObject(`task ${index}`, task);
    requireKnown('a task of enqueueMany', task as object, TASK);
  }
}
