import type { RedisClient } from '@mortise/redis';
import { keySlot } from '@mortise/redis';

/** What `Cluster` of ioredis offers beyond a client. */
interface ClusterClient extends RedisClient {
  /** By slot: the master as `host:port`, then its replicas. */
  readonly slots: readonly (readonly string[] | undefined)[];
  nodes(): (RedisClient & { readonly options: { host?: string; port?: number } })[];
}

/**
 * The client of the server that a key is written on: the one that was given, or that of a Cluster master. Whoever
 * was just granted a lock has been sent to it. Throws an Error if the master isn't known or not connected.
 */
export function masterOf(redis: RedisClient, key: string): RedisClient {
  if (!redis.isCluster) return redis;
  const cluster = redis as ClusterClient;
  const node = cluster.slots[keySlot(key)]?.[0];
  const master = cluster
    .nodes()
    .find(({ options }) => `${options.host ?? ''}:${options.port ?? ''}` === node);
  if (!master) throw new Error(`the master of ${JSON.stringify(key)} is not connected`);
  return master;
}
