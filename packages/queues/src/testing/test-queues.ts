import type { MemoryRedisOptions, TestClock } from '@mortise/redis/testing';
import { MemoryRedis } from '@mortise/redis/testing';
import type { TaskMap } from '../task/task.js';
import type { Handlers } from '../work/handlers.js';
import type { DrainedAttempt, DrainQueuesOptions } from './drain.js';
import { drain } from './drain.js';

/** Queues in the memory of this process, and a clock that a test moves. */
export class TestQueues {
  /** The client to pass to `Queue` and `Worker`. */
  readonly redis: MemoryRedis;

  /** @param options Options of `MemoryRedis`, with a virtual clock. Throws while another virtual clock is installed. */
  constructor(options: Omit<MemoryRedisOptions, 'clock'> = {}) {
    this.redis = new MemoryRedis(options);
  }

  get clock(): TestClock {
    return this.redis.clock;
  }

  /**
   * Runs the tasks of these queues with the real worker until none is due, also those that handlers enqueue. Resolves to the
   * attempts that ended, in their order. A failed attempt has its `error`, which is not thrown. Scheduled and retrying tasks
   * stay, unless `delayed` is set. Rejects after 4 s of real time without an end of an attempt.
   */
  drain<Tasks extends TaskMap<Tasks>>(
    queues: string | readonly string[],
    handlers: Handlers<Tasks>,
    options: DrainQueuesOptions<Tasks> = {},
  ): Promise<DrainedAttempt[]> {
    return drain(this.redis, typeof queues === 'string' ? [queues] : queues, handlers, options);
  }

  /** Deletes all tasks and schedules, between two tests. */
  clear(): void {
    this.redis.clear();
  }

  /** Ends the connection, and puts the time of Node back. Idempotent. */
  close(): Promise<void> {
    return this.redis.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
