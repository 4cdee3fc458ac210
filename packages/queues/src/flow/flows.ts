/** Enqueues and cancels flows, for a queue. */
import type { RedisClient } from '@mortise/redis';
import { MemoryFullError } from '../errors.js';
import type { Shards } from '../shard/shards.js';
import type { Enqueuer } from '../enqueue/enqueuer.js';
import type { ProducerTelemetry } from '../enqueue/producer-telemetry.js';
import { Operator, resolveReason } from '../operate/operator.js';
import { decodeTaskId } from '../task/task-id.js';
import type { Flow, FlowIds, FlowTask } from './flow-node.js';
import { makeFlow, requireFlowIds } from './flow-node.js';
import { FlowQueues } from './flow-queues.js';
import { FlowStore } from './flow-store.js';

/** A stored flow. */
export interface EnqueuedFlow extends FlowIds {
  /** Whether the root was stored before with the same tree; that flow is unchanged. */
  readonly isDuplicate: boolean;
}

interface FlowsOptions {
  readonly maxPayloadBytes: number;
  readonly keepCancelled: number;
  /** Of this queue. */
  readonly operator: Operator;
  readonly telemetry: ProducerTelemetry | undefined;
}

export class Flows {
  readonly #queue: string;
  readonly #queues: FlowQueues;
  readonly #flows: FlowStore;
  readonly #keepCancelled: number;
  readonly #operator: Operator;
  readonly #telemetry: ProducerTelemetry | undefined;

  constructor(
    redis: RedisClient,
    queue: string,
    prefix: string | undefined,
    shards: Shards,
    enqueuer: Enqueuer,
    { maxPayloadBytes, keepCancelled, operator, telemetry }: FlowsOptions,
  ) {
    this.#operator = operator;
    this.#telemetry = telemetry;
    this.#keepCancelled = keepCancelled;
    this.#queue = queue;
    this.#queues = new FlowQueues(redis, prefix, maxPayloadBytes, shards.codecs);
    this.#queues.adopt(queue, shards, enqueuer);
    this.#flows = new FlowStore(redis, this.#queues);
  }

  enqueue(flow: FlowTask): Promise<EnqueuedFlow> {
    if (!this.#telemetry) return this.#enqueue(flow);
    return this.#telemetry.send(flow, (traced) => this.#enqueue(traced));
  }

  /** Cancels a task, or all tasks of a flow. Resolves to whether any of them was cancelled. */
  async cancel(task: string | FlowIds, options: { readonly reason?: string | undefined }): Promise<boolean> {
    const reason = resolveReason(options);
    const cancelled =
      typeof task === 'string'
        ? Number(await this.#operator.cancel(task, reason))
        : await this.#cancelAll(task, reason);
    if (cancelled > 0) this.#telemetry?.cancelled(cancelled);
    return cancelled > 0;
  }

  /** Parents go first: a cancelled child could make its parent dead. Resolves to the number of cancelled tasks. */
  async #cancelAll(flow: FlowIds, reason: string): Promise<number> {
    const operators = new Map([[this.#queue, this.#operator]]);
    const operatorOf = (queue: string): Operator => {
      let operator = operators.get(queue);
      if (!operator) {
        operator = new Operator(queue, this.#queues.shards(queue), this.#keepCancelled);
        operators.set(queue, operator);
      }
      return operator;
    };
    let count = 0;
    for (let level = [flow]; level.length > 0; level = level.flatMap(({ children }) => [...children])) {
      for (const ids of level) requireFlowIds(ids);
      const outcomes = await Promise.all(level.map(({ queue, id }) => operatorOf(queue).cancel(id, reason)));
      count += outcomes.filter(Boolean).length;
    }
    return count;
  }

  #enqueue(flow: FlowTask): Promise<EnqueuedFlow> {
    return MemoryFullError.wrap(this.#queue, this.#store(flow));
  }

  async #store(task: FlowTask): Promise<EnqueuedFlow> {
    const flow = makeFlow(this.#queue, task, (queue, ...given) =>
      this.#queues.enqueuer(queue).prepare(...given),
    );
    const { root, ids, requests, tree } = flow;
    for (const [queue, ofQueue] of requests) {
      const enqueuer = this.#queues.enqueuer(queue);
      if (!enqueuer.isOpen) await enqueuer.open();
      for (const request of ofQueue) enqueuer.check(request);
      for (const { checking } of ofQueue) if (checking) await checking;
    }
    const isNew = await (root.children.length > 0 ? this.#open(flow) : this.#submit(flow));
    // Only a command that was sent twice stores an id of this call before.
    const isDuplicate = !isNew && task.options?.id !== undefined;
    if (isDuplicate) await this.#flows.requireTree(root, tree);
    return { ...ids, isDuplicate };
  }

  async #open({ root, requests, named }: Flow): Promise<boolean> {
    const { queue, storedId, group } = root;
    const near = await this.#queues.near(queue, storedId, group, requests.get(queue)!);
    const given = near.filter((request) => named.has(request)).map((request) => request.storedId!);
    return this.#flows.open(root, { size: near.length, given });
  }

  async #submit({ root, requests }: Flow): Promise<boolean> {
    const { queue, storedId } = root;
    const request = { ...requests.get(queue)![0]!, id: decodeTaskId(storedId), storedId };
    const { isDuplicate } = await this.#queues.enqueuer(queue).submit(request);
    return !isDuplicate;
  }
}
