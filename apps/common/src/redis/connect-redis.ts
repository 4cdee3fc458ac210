import type { ClusterOptions, RedisOptions } from 'ioredis';
import { Cluster, Redis } from 'ioredis';

import type { RedisPlace } from '../settings/index.js';

/** `replyMapping` would change the type of the client. */
type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

/** How a client waits, which is different for each app. */
export interface ClientOptions {
  /** Of each connection. */
  readonly redis: ConnectionOptions;
  /** Of a Cluster client, without `redisOptions`. */
  readonly cluster: Omit<ClusterOptions, 'redisOptions'>;
  /** The pause in ms before Sentinels are asked again. */
  readonly sentinelPauseMs: (attempt: number) => number;
}

/** Begins to connect in the background; never throws because Redis is down. The caller closes the client. */
export function connectRedis(
  place: RedisPlace,
  { redis, cluster, sentinelPauseMs }: ClientOptions,
): Redis | Cluster {
  const { username, password, hasTls, ca } = place;
  const tls = { ...(ca !== undefined && { ca }) };
  const isEncrypted = hasTls || ca !== undefined;
  const options: ConnectionOptions = {
    ...redis,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(isEncrypted && { tls }),
  };
  if (place.type === 'single') return new Redis(place.url, options);
  if (place.type === 'cluster') return new Cluster([...place.nodes], { ...cluster, redisOptions: options });
  const { sentinels, name, sentinelUsername, sentinelPassword } = place;
  return new Redis({
    ...options,
    sentinels: [...sentinels],
    name,
    sentinelRetryStrategy: sentinelPauseMs,
    ...(sentinelUsername !== undefined && { sentinelUsername }),
    ...(sentinelPassword !== undefined && { sentinelPassword }),
    ...(isEncrypted && { enableTLSForSentinelMode: true, sentinelTLS: tls }),
  });
}
