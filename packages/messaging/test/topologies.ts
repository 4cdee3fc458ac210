/** The same tests on a single node and on a Cluster of three masters. */
import { describe } from '@jest/globals';
import { connect, runCluster } from '@mortise/test-kit';
import { Cluster } from 'ioredis';
import type { Redis } from 'ioredis';

const { cluster, connect: connectCluster } = await runCluster({ replicasPerMaster: 0 });
await Promise.all(cluster.nodes('master').map((node) => node.ping()));

/** A client of its own, connected to all nodes; closed after the tests. */
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
    tests(
      () => cluster,
      async () => {
        const client = connectCluster();
        await client.ping();
        await Promise.all(nodesOf(client).map((node) => node.ping()));
        return client;
      },
    );
  });
}

/** The connections of a client to masters. */
export function nodesOf(client: Redis | Cluster): Redis[] {
  return client instanceof Cluster ? client.nodes('master') : [client];
}
