import type { RedisClient } from '@mortise/redis';
import { keySlot } from '@mortise/redis';

/** The members of ioredis' `Cluster` that a client lacks. */
interface ClusterClient extends RedisClient {
  /** By slot: the master as `host:port`, then its replicas. */
  readonly slots: readonly (readonly string[] | undefined)[];
  nodes(): (RedisClient & { readonly options: { host?: string; port?: number } })[];
}

/**
 * The client that writes a key: the given client, or on Cluster that of the key's master. The master is known and
 * connected right after a grant; otherwise throws an Error.
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
