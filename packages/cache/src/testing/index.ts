export type { CacheMatchers } from './matchers.js';
export { cacheMatchers } from './matchers.js';
export type { MemoryRedisOptions, TestClock, TestRedis, TestRedisOptions } from '@mortise/redis/testing';
export { createTestRedis, MemoryRedis } from '@mortise/redis/testing';
