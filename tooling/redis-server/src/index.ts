export {
  DeadlineError,
  serverExited as processExited,
  serverStarted as processStarted,
  StartFailedError,
} from '@mortise/server-process';

export { makeCertificate, type Certificate } from './certificate.js';
export { findRedisServer, type FindOptions, type RedisBinary } from './binary.js';
export type { RedisCluster } from './cluster.js';
export { debianServer, type DebianServerOptions } from './debian-server.js';
export { RedisNotFoundError, ReplyError } from './errors.js';
export { keySlot } from './key-slot.js';
export { startProxy, type TcpProxy } from './tcp-proxy.js';
export type { Reply } from './resp.js';
export type { RedisSentinel } from './sentinel.js';
export type { RedisServer } from './server.js';
export { startCluster, type ClusterOptions } from './start-cluster.js';
export { startSentinel, type SentinelOptions } from './start-sentinel.js';
export { startSingle, type SingleOptions } from './start-single.js';
