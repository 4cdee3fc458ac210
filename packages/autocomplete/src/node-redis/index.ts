export type { NodeRedisClient, NodeRedisCluster } from '@mortise/redis/node-redis';
export { fromNodeRedis } from '@mortise/redis/node-redis';
