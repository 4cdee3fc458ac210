/**
 * Servers for one test file, stopped when its tests are over. A file awaits them at its top, so that they are constants:
 * `const { servers, cluster } = await runCluster({ replicasPerMaster: 0 });`. The client is made for files that take it.
 */
import { afterAll } from '@jest/globals';
import type {
  ClusterOptions,
  RedisCluster,
  RedisSentinel,
  RedisServer,
  SentinelOptions,
  SingleOptions,
} from '@mortise/redis-server';
import { startCluster, startSentinel, startSingle } from '@mortise/redis-server';
import { Cluster, Redis } from 'ioredis';
import { connect, disconnectLater } from './connect.js';

/** A server beside the one of the test run, with a client; `connect()` makes more clients. */
export async function runServer(
  options?: SingleOptions,
): Promise<{ server: RedisServer; redis: Redis; connect: () => Redis }> {
  const server = await startSingle(options);
  afterAll(() => server.stop());
  const connectSingle = (): Redis => connect(server.url);
  return {
    server,
    connect: connectSingle,
    get redis() {
      return connectSingle();
    },
  };
}

/** A Cluster of three masters with a replica each, with a client; `connect()` makes more clients. */
export async function runCluster(
  options?: ClusterOptions,
): Promise<{ servers: RedisCluster; cluster: Cluster; connect: (options?: object) => Cluster }> {
  const servers = await startCluster(options);
  afterAll(() => servers.stop());
  const connectCluster = (given: { redisOptions?: object } = {}): Cluster =>
    disconnectLater(
      new Cluster(servers.startupNodes, {
        clusterRetryStrategy: () => 20,
        ...given,
        redisOptions: { disconnectTimeout: 100, ...given.redisOptions },
      }),
    );
  return {
    servers,
    connect: connectCluster,
    get cluster() {
      return connectCluster();
    },
  };
}

/** A master with replicas behind Sentinels, with a client; `connect()` makes more clients. */
export async function runSentinel(
  options?: SentinelOptions,
): Promise<{ servers: RedisSentinel; redis: Redis; connect: (options?: object) => Redis }> {
  const servers = await startSentinel(options);
  afterAll(() => servers.stop());
  const connectSentinel = (given: object = {}): Redis =>
    disconnectLater(
      new Redis({
        name: servers.name,
        sentinels: servers.sentinels,
        sentinelRetryStrategy: () => 20,
        retryStrategy: () => 20,
        disconnectTimeout: 100,
        ...given,
      }),
    );
  return {
    servers,
    connect: connectSentinel,
    get redis() {
      return connectSentinel();
    },
  };
}
