import { ArgumentTypeError } from '../argument-error.js';
import type { RedisClient } from '../client.js';
import { NodeRedisClusterClient } from './cluster.js';
import { NodeRedisConnection } from './connection.js';
import type { NodeRedisClient, NodeRedisCluster } from './types.js';

const adapters = new WeakMap<object, RedisClient>();

/**
 * A client of node-redis 5 or 6 (`createClient`, `createCluster`) as the client that all packages take: `new
 * Queue(fromNodeRedis(client), 'mail')`. The same client gives the same object. Mortise uses the client as it is: you connect
 * it, close it, and handle its `error` event. Throws TypeError for anything else, also for `createSentinel` and
 * `createClientPool`.
 */
export function fromNodeRedis(client: NodeRedisClient | NodeRedisCluster): RedisClient {
  const known = adapters.get(requireNodeRedis(client));
  if (known) return known;
  const adapter = isCluster(client) ? new NodeRedisClusterClient(client) : new NodeRedisConnection(client);
  adapters.set(client, adapter);
  return adapter;
}

function requireNodeRedis(client: unknown): object {
  const members = (typeof client === 'object' ? client : null) as Record<string, unknown> | null;
  if (typeof members?.['getMasterNode'] === 'function') {
    throw new ArgumentTypeError(
      'createSentinel of node-redis is not supported: it reports no lost connection of its subscriptions. With Sentinel, use ioredis',
    );
  }
  const isClient = typeof members?.['isOpen'] === 'boolean' && typeof members['sSubscribe'] === 'function';
  if (isClient && typeof members['duplicate'] === 'function') return members;
  throw new ArgumentTypeError(
    'client must be a client of createClient or createCluster of node-redis 5 or 6',
  );
}

function isCluster(client: NodeRedisClient | NodeRedisCluster): client is NodeRedisCluster {
  return 'nodeByAddress' in client;
}
