/**
 * A client that fails fast: no command waits for a connection, no command is sent twice, and no reply is awaited longer
 * than a request may take. The client reconnects several times a second without end, so the API recovers by itself. It also
 * closes a silent connection (the host is gone, the server is stopped).
 */
import type { RedisClient } from '@mortise/redis';
import { connectRedis } from '@mortise/app-common/redis';
import { redisPlaceOf } from '@mortise/app-common/settings';
import type { RedisOptions } from 'ioredis';

import type { Config } from '../config.js';

/** How long a connection may be silent, and how many command timeouts at least. */
const SILENT_CONNECTION_MS = 2_000;
const SILENT_COMMANDS = 2;
const MAX_RECONNECT_PAUSE_MS = 200;

const reconnectPauseMs = (attempts: number): number => Math.min(attempts * 50, MAX_RECONNECT_PAUSE_MS);

const FAIL_FAST = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 2_000,
  retryStrategy: reconnectPauseMs,
  // A sentinel that missed a failover names the old master. That is a replica now, and would keep the connection forever.
  reconnectOnError: ({ message }) => message.startsWith('READONLY'),
} satisfies RedisOptions;

/** Begins to connect in the background; never throws because Redis is down. The caller closes the client. */
export function connect(config: Config): RedisClient & { readonly status: string } {
  const { REDIS_COMMAND_TIMEOUT_MS: commandTimeout } = config;
  return connectRedis(redisPlaceOf(config), {
    redis: {
      ...FAIL_FAST,
      commandTimeout,
      socketTimeout: Math.max(SILENT_CONNECTION_MS, SILENT_COMMANDS * commandTimeout),
    },
    cluster: {
      enableOfflineQueue: false,
      // Else ioredis sends a command again when its connection closes.
      retryDelayOnFailover: 0,
      clusterRetryStrategy: reconnectPauseMs,
      slotsRefreshTimeout: commandTimeout,
    },
    sentinelPauseMs: reconnectPauseMs,
  });
}
