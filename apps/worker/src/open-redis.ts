import { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';

import type { RedisPlace } from './config.js';

/** A connection that owes an answer for so long is replaced; shorter than a lease, so leases outlive it. */
const SILENCE_TIMEOUT_MS = 5_000;

const pauseMs = (attempt: number): number => Math.min(attempt * 100, 1_000);
/**
 * No `commandTimeout`: a command that has timed out here is sent nevertheless once Redis is back, so tasks would be
 * taken for a caller that has gone. Commands wait for the connection instead, and the worker goes on at once.
 */
const OPTIONS = {
  connectTimeout: SILENCE_TIMEOUT_MS,
  socketTimeout: SILENCE_TIMEOUT_MS,
  maxRetriesPerRequest: null,
  retryStrategy: pauseMs,
  reconnectOnError: leaveReplica,
};

/**
 * A sentinel that has missed a failover names the old master, which is a replica by now and would keep the connection
 * for ever. It has refused the command, so the command can be sent again to the next one.
 */
function leaveReplica({ message }: Error): 2 | false {
  return message.startsWith('READONLY') && 2;
}

/**
 * Opens the one connection (or cluster of them) of the worker. It reconnects for ever. Logs when Redis goes and comes,
 * once each, however many attempts lie between.
 */
export function openRedis(place: RedisPlace, log: Logger): Redis | Cluster {
  const redis = connect(place);
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
  return redis;
}

function connect(place: RedisPlace): Redis | Cluster {
  if (place.type === 'single') return new Redis(place.url, OPTIONS);
  if (place.type === 'cluster') {
    return new Cluster([...place.nodes], { redisOptions: OPTIONS, clusterRetryStrategy: pauseMs });
  }
  const { sentinels, name } = place;
  return new Redis({ ...OPTIONS, sentinels: [...sentinels], name, sentinelRetryStrategy: pauseMs });
}
