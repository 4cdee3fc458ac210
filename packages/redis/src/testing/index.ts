export type { MemoryRedisOptions } from './memory.js';
export { MemoryRedis } from './memory.js';
export type { MatcherContext, MatcherResult } from './matcher.js';
export { TestClock } from './test-clock.js';
export type { TestRedis, TestRedisOptions } from './test-redis.js';
export { createTestRedis, TestServerError } from './test-redis.js';
