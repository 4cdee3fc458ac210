export type { DrainedAttempt, DrainQueuesOptions } from './drain.js';
export type { QueueMatchers } from './matchers.js';
export { enqueuedTasks, queueMatchers } from './matchers.js';
export { runTask } from './run-task.js';
export type { TestContext } from './test-context.js';
export { testContext } from './test-context.js';
export { TestQueues } from './test-queues.js';
export type { MemoryRedisOptions, TestClock, TestRedis, TestRedisOptions } from '@mortise/redis/testing';
export { createTestRedis, MemoryRedis } from '@mortise/redis/testing';
