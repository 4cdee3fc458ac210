/**
 * A client that fails fast: no command waits for a connection, none is sent twice, none waits for a reply longer than
 * a request may. Meanwhile the client tries to connect, without end and several times a second, so the API recovers
 * by itself. A connection that is open but silent (the host is gone, the server is stopped) is given up as well.
 */
import type { RedisClient } from '@mortise/redis';
import { Cluster, Redis } from 'ioredis';
import type { RedisOptions } from 'ioredis';

import type { Config } from '../config.js';

/** Less than the second within which the API answers that Redis is down. */
const COMMAND_TIMEOUT_MS = 750;
const SILENT_CONNECTION_MS = 2_000;
const MAX_RECONNECT_PAUSE_MS = 200;

const reconnectPauseMs = (attempts: number): number => Math.min(attempts * 50, MAX_RECONNECT_PAUSE_MS);

const FAIL_FAST = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  commandTimeout: COMMAND_TIMEOUT_MS,
  connectTimeout: 2_000,
  socketTimeout: SILENT_CONNECTION_MS,
  retryStrategy: reconnectPauseMs,
  // A sentinel that has missed a failover names the old master: a replica by now, which would keep the connection for ever.
  reconnectOnError: ({ message }) => message.startsWith('READONLY'),
} satisfies RedisOptions;

/** Begins to connect in the background; never throws because Redis is down. The caller closes the client. */
export function connect(config: Config): RedisClient & { readonly status: string } {
  const { REDIS_CLUSTER_NODES: nodes, REDIS_SENTINELS: sentinels, REDIS_SENTINEL_NAME: name } = config;
  const { REDIS_USERNAME: username, REDIS_PASSWORD: password, REDIS_TLS: hasTls } = config;
  const access: Pick<RedisOptions, 'username' | 'password' | 'tls'> = {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(hasTls && { tls: {} }),
  };
  if (nodes) {
    return new Cluster(nodes, {
      enableOfflineQueue: false,
      clusterRetryStrategy: reconnectPauseMs,
      slotsRefreshTimeout: COMMAND_TIMEOUT_MS,
      redisOptions: { ...FAIL_FAST, ...access },
    });
  }
  if (sentinels && name) {
    return new Redis({ ...FAIL_FAST, ...access, sentinels, name, sentinelRetryStrategy: reconnectPauseMs });
  }
  return new Redis(config.REDIS_URL ?? 'redis://127.0.0.1:6379', { ...FAIL_FAST, ...access });
}
