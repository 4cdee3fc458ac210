import type { Cluster, Redis } from 'ioredis';

/** Disconnects a client, once: for a connection that has ended already, ioredis sets a timer that keeps jest waiting for 2 s. */
export function disconnect(client: Redis | Cluster): void {
  if (client.status !== 'end') client.disconnect();
}
