/** Flows, for a queue: tasks that wait for other tasks. */
import type { RedisClient } from '@mortise/redis';
import { MemoryFullError } from '../errors.js';
import type { Shards } from '../shard/shards.js';
import type { Enqueuer } from '../queue/enqueuer.js';
import { Operator } from '../operate/operator.js';
import { decodeTaskId } from '../task/task-id.js';
import type { Flow, FlowIds, FlowTask } from './flow-node.js';
import { makeFlow, requireFlowIds } from './flow-node.js';
import { FlowQueues } from './flow-queues.js';
import { FlowStore } from './flow-store.js';

/** What became of a flow. */
export interface EnqueuedFlow extends FlowIds {
  /** The id of the root was stored before, with the same tree of tasks; that flow is unchanged. */
  readonly isDuplicate: boolean;
}

export class Flows {
  readonly #queue: string;
  readonly #queues: FlowQueues;
  readonly #flows: FlowStore;
  readonly #keepCancelled: number;

  constructor(
    redis: RedisClient,
    queue: string,
    prefix: string | undefined,
    shards: Shards,
    enqueuer: Enqueuer,
    keepCancelled: number,
  ) {
    this.#keepCancelled = keepCancelled;
    this.#queue = queue;
    this.#queues = new FlowQueues(redis, prefix);
    this.#queues.adopt(queue, shards, enqueuer);
    this.#flows = new FlowStore(redis, this.#queues);
  }

  enqueue(task: FlowTask): Promise<EnqueuedFlow> {
    return MemoryFullError.telling(this.#queue, this.#store(task));
  }

  /**
   * Cancels what has not ended of a flow; resolves to how many that were. Parents go first: a child that is cancelled would
   * otherwise be what makes its parent dead.
   */
  async cancel(flow: FlowIds, reason: string): Promise<number> {
    const operators = new Map<string, Operator>();
    const operator = (queue: string): Operator => {
      const made =
        operators.get(queue) ?? new Operator(queue, this.#queues.shards(queue), this.#keepCancelled);
      operators.set(queue, made);
      return made;
    };
    let count = 0;
    for (let level = [flow]; level.length > 0; level = level.flatMap(({ children }) => [...children])) {
      for (const ids of level) requireFlowIds(ids);
      const outcomes = await Promise.all(level.map(({ queue, id }) => operator(queue).cancel(id, reason)));
      count += outcomes.filter(Boolean).length;
    }
    return count;
  }

  async #store(task: FlowTask): Promise<EnqueuedFlow> {
    const flow = makeFlow(this.#queue, task, (queue, name, payload, options, flags, parent, tree) =>
      this.#queues
        .enqueuer(queue)
        .prepare(name, payload, options, flags, { ...(parent && { parent }), ...(tree && { tree }) }),
    );
    const { root, ids, requests, tree } = flow;
    for (const [queue, ofQueue] of requests) {
      const enqueuer = this.#queues.enqueuer(queue);
      if (!enqueuer.isOpen) await enqueuer.open();
      for (const request of ofQueue) enqueuer.check(request);
      for (const { checking } of ofQueue) if (checking) await checking;
    }
    const isNew = await (root.children.length > 0 ? this.#open(flow) : this.#submit(flow));
    if (!isNew && task.options?.id !== undefined) await this.#flows.requireTree(root, tree);
    return { ...ids, isDuplicate: !isNew };
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
