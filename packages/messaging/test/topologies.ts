/** The same tests on a single node and on a Cluster of three masters. */
import { afterAll, beforeAll, describe } from '@jest/globals';
import type { RedisCluster } from '@mortise/redis-server';
import { startCluster } from '@mortise/redis-server';
import { connect, disconnect } from '@mortise/test-kit';
import { Cluster } from 'ioredis';
import type { Redis } from 'ioredis';

/** A client of its own, connected to all nodes; closed behind the tests. */
export type Connect = () => Promise<Redis | Cluster>;

/** @param tests `redis` is there once the tests run. */
export function describeOnBoth(tests: (redis: () => Redis | Cluster, another: Connect) => void): void {
  describe('on a single node', () => {
    const redis = connect();
    tests(
      () => redis,
      async () => {
        const client = connect();
        await client.ping();
        return client;
      },
    );
  });

  describe('on Cluster', () => {
    let servers: RedisCluster;
    let cluster: Cluster;
    const clusters: Cluster[] = [];
    const another = async (): Promise<Cluster> => {
      const client = new Cluster(
        servers.nodes.map(({ host, port }) => ({ host, port })),
        { redisOptions: { disconnectTimeout: 100 } },
      );
      client.on('error', () => undefined);
      clusters.push(client);
      await client.ping();
      await Promise.all(nodesOf(client).map((node) => node.ping()));
      return client;
    };
    beforeAll(async () => {
      servers = await startCluster({ replicasPerMaster: 0 });
      cluster = await another();
    });
    afterAll(async () => {
      for (const client of clusters) disconnect(client);
      await servers?.stop();
    });
    tests(() => cluster, another);
  });
}

/** The connections of a client to masters. */
export function nodesOf(client: Redis | Cluster): Redis[] {
  return client instanceof Cluster ? client.nodes('master') : [client];
}
