export { fromNodeRedis } from './from-node-redis.js';
export type { NodeRedisClient, NodeRedisCluster } from './types.js';
