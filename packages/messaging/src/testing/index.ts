export type { MessageMatchers } from './matchers.js';
export { messageMatchers } from './matchers.js';
export type { MemoryRedisOptions, TestClock, TestRedis, TestRedisOptions } from '@mortise/redis/testing';
export { createTestRedis, MemoryRedis } from '@mortise/redis/testing';
