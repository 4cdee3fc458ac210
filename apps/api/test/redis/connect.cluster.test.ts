/** The client of the API on a Cluster, where ioredis repeats commands by default, also with `maxRetriesPerRequest: 0`. */
import { afterAll, expect, test } from '@jest/globals';
import { keySlot } from '@mortise/redis';
import { freshPrefix, runCluster, until } from '@mortise/test-kit';
import type { Cluster } from 'ioredis';

import { readConfig } from '../../src/config.js';
import { connect } from '../../src/redis/connect.js';

const { servers, cluster: observer } = await runCluster({ replicasPerMaster: 0 });
const nodes = servers.startupNodes.map(({ host, port }) => `${host}:${port}`).join(',');
const cluster = connect(readConfig({ REDIS_CLUSTER_NODES: nodes })) as unknown as Cluster;
afterAll(() => cluster.disconnect());

test('a command whose reply is lost fails, and is executed once', async () => {
  const key = freshPrefix();
  const isSet = (value: string) =>
    cluster.get(key).then(
      (found) => found === value,
      () => false,
    );
  await observer.set(key, 1);
  await until('the client', () => isSet('1'));
  const [address] = cluster.slots[keySlot(key)]!;
  const { stream } = cluster
    .nodes('master')
    .find(({ options }) => `${options.host}:${options.port}` === address)!;
  stream.pause();
  const answer = cluster.incr(key).catch((error: Error) => error.message);
  await until('the command', async () => (await observer.get(key)) === '2');
  stream.destroy();
  expect(await answer).toBe('Connection is closed.');
  await until('the client', () => isSet('2'));
});
