/** The queues that requests name. Their settings are kept between requests, for the last thousand: names come from the address. */
import { Overviews, Queue, queueDepthsOf, runningWorkers, SettingsMismatchError } from '@mortise/queues';
import type { QueueDepths, QueueOptions } from '@mortise/queues';
import { queuePage } from '@mortise/queues/admin';
import type { QueuePage, QueuePageOptions } from '@mortise/queues/admin';
import type { RedisClient } from '@mortise/redis';

import { Problem } from '../http/problem.js';

const MAX_KEPT = 1_000;

export class OpenQueues {
  readonly #redis: RedisClient;
  readonly #prefix: string;
  readonly #allowed: ReadonlySet<string> | undefined;
  readonly #kept = new Map<string, Queue>();

  /** @param allowed Undefined: all of the prefix. */
  constructor(redis: RedisClient, prefix: string, allowed: readonly string[] | undefined) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#allowed = allowed && new Set(allowed);
  }

  /** In the order of their characters. One round trip for each thousand of the prefix. */
  async names(): Promise<string[]> {
    const names = await Queue.names(this.#redis, { prefix: this.#prefix });
    return names.filter((name) => this.allows(name));
  }

  /** A page of the queues in numbers. The round trips of `names`, and two at most. Throws ERR_INVALID_ARG. */
  async page(options: QueuePageOptions): Promise<QueuePage> {
    return queuePage(new Overviews(this.#redis, { prefix: this.#prefix }), await this.names(), options);
  }

  /** The waiting tasks of a queue that is there. Throws the problem `unknown-queue`. */
  depths(name: string): Promise<QueueDepths> {
    return this.use(name, () => queueDepthsOf(this.#redis, name, { prefix: this.#prefix }));
  }

  /** Workers of all queues of the prefix; undefined where the console shows some queues only. */
  get workers(): (() => Promise<number>) | undefined {
    return this.#allowed ? undefined : () => runningWorkers(this.#redis, { prefix: this.#prefix });
  }

  /** Whether the console shows a queue of this name. */
  allows(name: string): boolean {
    return this.#allowed?.has(name) ?? true;
  }

  /** Does something with a queue that is there. Throws the problem `unknown-queue`. One round trip the first time. */
  use<T>(name: string, act: (queue: Queue) => Promise<T>): Promise<T> {
    return this.#attempt(name, act, () => {
      throw unknownQueue(name);
    });
  }

  /** A queue that is there and that the console shows. One round trip the first time. */
  async find(name: string): Promise<Queue | undefined> {
    if (!this.allows(name)) return undefined;
    return this.#attempt(
      name,
      async (queue) => queue,
      async () => undefined,
    );
  }

  /** Does something that may be the first that happens to a queue. Throws the problem `unknown-queue` for one that is not allowed. */
  found<T>(name: string, act: (queue: Queue) => Promise<T>): Promise<T> {
    return this.#attempt(name, act, act);
  }

  /** A queue with priorities and shards of the caller's choice: one that has others refuses them. */
  insist(name: string, options: QueueOptions): Queue {
    this.#requireAllowed(name);
    this.#kept.delete(name);
    return new Queue(this.#redis, name, { ...options, prefix: this.#prefix });
  }

  /** Removes a queue that is there, and forgets its settings. */
  async obliterate(name: string, force: boolean): Promise<void> {
    await this.use(name, (queue) => queue.obliterate({ force }));
    this.#kept.delete(name);
  }

  async #attempt<T>(
    name: string,
    act: (queue: Queue) => Promise<T>,
    otherwise: (queue: Queue) => Promise<T>,
  ): Promise<T> {
    this.#requireAllowed(name);
    const attempt = async (): Promise<T> => {
      const [queue, isThere] = await this.#open(name);
      return isThere ? act(queue) : otherwise(queue);
    };
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof SettingsMismatchError) || error.code !== 'ERR_SHARDS_MISMATCH') throw error;
      // Another process created the queue with shards after the look at it.
      this.#kept.delete(name);
      return attempt();
    }
  }

  /** One that isn't there yet may come to have other settings than it seems to, so it is not kept. */
  async #open(name: string): Promise<[Queue, boolean]> {
    const kept = this.#kept.get(name);
    this.#kept.delete(name);
    const isThere = kept !== undefined || (await Queue.exists(this.#redis, name, { prefix: this.#prefix }));
    const queue = kept ?? new Queue(this.#redis, name, { prefix: this.#prefix });
    if (isThere) this.#kept.set(name, queue);
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value!);
    return [queue, isThere];
  }

  #requireAllowed(name: string): void {
    if (!this.allows(name)) throw unknownQueue(name);
  }
}

function unknownQueue(name: string): Problem {
  return new Problem('unknown-queue', `there is no queue "${name}"`, { queue: name });
}
