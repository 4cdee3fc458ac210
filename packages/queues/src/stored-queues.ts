/** All queues of a prefix: the static members of `Queue`. And the end of its client. */
import type { OwnedClient, RedisClient } from '@mortise/redis';
import { requireClient, requireName } from '@mortise/redis';
import { setAllPaused } from './operate/configure.js';
import type { PrefixOptions } from './shard/queue-names.js';
import { isQueueName, queueNames, resolvePrefix } from './shard/queue-names.js';

export class StoredQueues {
  readonly #client: OwnedClient;

  protected constructor(client: OwnedClient) {
    this.#client = client;
  }

  /** Whether `names` lists the queue. One round trip. */
  static async exists(redis: RedisClient, name: string, options: PrefixOptions = {}): Promise<boolean> {
    return isQueueName(requireClient(redis), resolvePrefix('exists', options), requireName('name', name));
  }

  /** The names of all queues of a prefix (default `mortise`) that have had tasks or limits, sorted. 1,000 names a round trip. */
  static async names(redis: RedisClient, options: PrefixOptions = {}): Promise<string[]> {
    return queueNames(requireClient(redis), resolvePrefix('names', options));
  }

  /**
   * Pauses every queue that `names` lists, and resolves to these names. Queues that are created later are not paused. Not
   * atomic: 16 queues at a time.
   */
  static async pauseAll(redis: RedisClient, options: PrefixOptions = {}): Promise<string[]> {
    return setAllPaused(requireClient(redis), resolvePrefix('pauseAll', options), true);
  }

  /** Resumes every queue that `names` lists, and resolves to these names. Not atomic: 16 queues at a time. */
  static async resumeAll(redis: RedisClient, options: PrefixOptions = {}): Promise<string[]> {
    return setAllPaused(requireClient(redis), resolvePrefix('resumeAll', options), false);
  }
  /** Waits for calls that were made, then closes the client of a URL. Pending waits end. A client of the caller stays open. */
  close(): Promise<void> {
    return this.#client.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
