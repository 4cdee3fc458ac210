/** Flows, for a queue: tasks that wait for other tasks. */
import type { RedisClient } from '@mortise/redis';
import type { Shards } from '../shard/shards.js';
import type { Enqueuer } from '../queue/enqueuer.js';
import { decodeTaskId } from '../task/task-id.js';
import type { FlowIds, FlowTask } from './flow-node.js';
import { makeFlow } from './flow-node.js';
import { FlowQueues } from './flow-queues.js';
import { FlowStore } from './flow-store.js';

/** What became of a flow. */
export interface EnqueuedFlow extends FlowIds {
  /** The id of the root was stored before; that flow is unchanged. */
  readonly isDuplicate: boolean;
}

export class Flows {
  readonly #queue: string;
  readonly #queues: FlowQueues;
  readonly #store: FlowStore;

  constructor(
    redis: RedisClient,
    queue: string,
    prefix: string | undefined,
    shards: Shards,
    enqueuer: Enqueuer,
  ) {
    this.#queue = queue;
    this.#queues = new FlowQueues(redis, prefix);
    this.#queues.adopt(queue, shards, enqueuer);
    this.#store = new FlowStore(redis, this.#queues);
  }

  async enqueue(task: FlowTask): Promise<EnqueuedFlow> {
    const { root, ids, requests } = makeFlow(
      this.#queue,
      task,
      (queue, name, payload, options, flags, parent) =>
        this.#queues.enqueuer(queue).prepare(name, payload, options, flags, parent && { parent }),
    );
    for (const [queue, ofQueue] of requests) {
      const enqueuer = this.#queues.enqueuer(queue);
      if (!enqueuer.isOpen) await enqueuer.open();
      for (const request of ofQueue) enqueuer.check(request);
      for (const { checking } of ofQueue) if (checking) await checking;
    }
    if (root.children.length > 0) return { ...ids, isDuplicate: !(await this.#store.open(root)) };
    const { storedId } = root;
    const request = { ...requests.get(root.queue)![0]!, id: decodeTaskId(storedId), storedId };
    const { isDuplicate } = await this.#queues.enqueuer(root.queue).submit(request);
    return { ...ids, isDuplicate };
  }
}
