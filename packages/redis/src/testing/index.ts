export { Deliveries, MemoryConnection } from './memory-redis.js';
export { MemoryServer } from './memory-server.js';
export { listen } from './resp-server.js';
