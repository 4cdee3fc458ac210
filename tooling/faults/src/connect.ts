import { Cluster, Redis } from 'ioredis';
import type { RedisAddress } from './locks/config.js';

/** Commands wait for a server as long as it takes: how long a caller waits is the business of what is tested. */
export function connectTo(address: RedisAddress): Redis | Cluster {
  const patient = { maxRetriesPerRequest: null };
  let client: Redis | Cluster;
  if ('url' in address) {
    const { url, protocol = 3 } = address;
    client = new Redis(url, { ...patient, protocol, retryStrategy: () => 20 });
  } else if ('name' in address) {
    const { name, sentinels, natMap } = address;
    client = new Redis({
      ...patient,
      name,
      sentinels: [...sentinels],
      ...(natMap && { natMap }),
      retryStrategy: () => 50,
      // A sentinel that has missed a failover names the old master, a replica by now.
      reconnectOnError: ({ message }) => message.startsWith('READONLY') && 2,
    });
  } else {
    client = new Cluster([...address.startupNodes], {
      maxRedirections: 100,
      redisOptions: patient,
      ...(address.natMap && { natMap: address.natMap }),
      retryDelayOnFailover: 50,
      retryDelayOnClusterDown: 50,
      retryDelayOnTryAgain: 5,
    });
  }
  // Without a listener, ioredis prints errors while the server is down.
  client.on('error', () => undefined);
  return client;
}
