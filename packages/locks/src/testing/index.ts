export type { LockMatchers } from './matchers.js';
export { lockMatchers } from './matchers.js';
export type { MemoryRedisOptions, TestClock, TestRedis, TestRedisOptions } from '@mortise/redis/testing';
export { createTestRedis, MemoryRedis } from '@mortise/redis/testing';
