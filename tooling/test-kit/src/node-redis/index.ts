export type { NodeRedis } from './both.js';
export { withNodeRedis, withNodeRedisCluster } from './both.js';
export { connectNodeRedis, NODE_REDIS_MAJORS } from './connect.js';
