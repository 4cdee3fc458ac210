import { logGuarantees } from '@mortise/app-common/doctor';
import { connectRedis } from '@mortise/app-common/redis';
import type { RedisPlace } from '@mortise/app-common/settings';
import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';

/** A connection without a due reply for this time is replaced; shorter than a lease, so that leases outlive it. */
const SILENCE_TIMEOUT_MS = 5_000;

const pauseMs = (attempt: number): number => Math.min(attempt * 100, 1_000);
/**
 * No `commandTimeout`: ioredis sends a timed-out command nevertheless once Redis is back, so tasks would be fetched for a
 * caller that has gone. Commands wait for the connection instead, and the worker goes on at once.
 */
const OPTIONS = {
  connectTimeout: SILENCE_TIMEOUT_MS,
  socketTimeout: SILENCE_TIMEOUT_MS,
  maxRetriesPerRequest: null,
  retryStrategy: pauseMs,
  reconnectOnError: leaveReplica,
};

/**
 * A sentinel that missed a failover names the old master. That is a replica now, and would keep the connection forever. It
 * refused the command, so the client may send it again to the next one.
 */
function leaveReplica({ message }: Error): 2 | false {
  return message.startsWith('READONLY') && 2;
}

/**
 * Opens the one connection (or cluster of them) of the worker. It reconnects forever, and logs each loss and each return of
 * Redis once, and at the start the settings of Redis against loss.
 */
export function openRedis(place: RedisPlace, log: Logger): Redis | Cluster {
  const redis = connectRedis(place, {
    redis: OPTIONS,
    cluster: { clusterRetryStrategy: pauseMs },
    sentinelPauseMs: pauseMs,
  });
  let isUp: boolean | undefined;
  const note = (isNowUp: boolean, error?: Error): void => {
    if (isNowUp === isUp) return;
    isUp = isNowUp;
    if (isUp) log.info('redis is reachable');
    else log.warn({ reason: error?.message }, 'redis is not reachable, trying until it is');
  };
  redis.on('ready', () => note(true));
  redis.on('error', (error: Error) => note(false, error));
  redis.on('reconnecting', () => note(false));
  void logGuarantees(redis, log);
  return redis;
}
