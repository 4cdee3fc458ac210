export { connectRedis } from './connect-redis.js';
export type { ClientOptions } from './connect-redis.js';
