export type { BookMatchers } from './matchers.js';
export { bookMatchers } from './matchers.js';
export type { MemoryRedisOptions, TestClock, TestRedis, TestRedisOptions } from '@mortise/redis/testing';
export { createTestRedis, MemoryRedis } from '@mortise/redis/testing';
