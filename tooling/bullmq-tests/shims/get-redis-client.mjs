/** BullMQ's tests reach the client behind a queue here; that of the layer has other keys. */
export const getRedisClient = (target) => Promise.resolve(target.store.redis);
export const getBlockingRedisClient = getRedisClient;
export const getRedisConnection = getRedisClient;
export const getBlockingRedisConnection = getRedisClient;
export const getRedisVersion = () => '7.2.0';
export const getDatabaseType = () => 'redis';
