import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import type { RedisCluster, RedisServer, TcpProxy } from '@mortise/redis-server';
import { startCluster, startProxy, startSingle } from '@mortise/redis-server';
import { connect, disconnect } from '@mortise/test-kit';
import * as fc from 'fast-check';
import { Cluster } from 'ioredis';
import type { Redis } from 'ioredis';
import { rounds } from './fixture/chats-actions.js';
import { World } from './fixture/chats-world.js';

const PROCESSES = 3;
/** Nothing would be smaller: what runs at once runs otherwise the next time. */
const SETTINGS = { numRuns: 5, endOnFailure: true };

describe('several processes at once, with connections that are cut', () => {
  let server: RedisServer;
  let proxy: TcpProxy;
  let servers: RedisCluster;
  const clients: Redis[] = [];
  const clusters: Cluster[] = [];
  beforeAll(async () => {
    [server, servers] = await Promise.all([startSingle(), startCluster()]);
    proxy = await startProxy(server);
    for (let index = 0; index < PROCESSES; index += 1) {
      clients.push(connect(proxy.url));
      const cluster = new Cluster(
        servers.nodes.map(({ host, port }) => ({ host, port })),
        { retryDelayOnFailover: 10, redisOptions: { disconnectTimeout: 100 } },
      );
      cluster.on('error', () => undefined);
      clusters.push(cluster);
      await cluster.ping();
    }
  });
  afterAll(async () => {
    for (const client of [...clients, ...clusters]) disconnect(client);
    await proxy.stop();
    await Promise.all([server.stop(), servers.stop()]);
  });

  test('loses, reorders and invents nothing on a single node', async () => {
    /** Commands are executed and their replies lost; ioredis then sends them once more. */
    const cut = async (): Promise<void> => {
      proxy.dropReplies();
      await pause(2);
      await proxy.restore();
    };
    const property = fc.asyncProperty(rounds, async (life) => {
      const world = new World(clients, cut);
      for (const round of life) await world.live(round);
    });
    await fc.assert(property, SETTINGS);
    expect(clients.map(({ status }) => status)).toEqual(clients.map(() => 'ready'));
  });

  test('loses, reorders and invents nothing on Cluster', async () => {
    const property = fc.asyncProperty(rounds, async (life) => {
      const world = new World(clusters, () =>
        Promise.all(servers.nodes.map((node) => node.command('CLIENT', 'KILL', 'TYPE', 'normal'))),
      );
      for (const round of life) await world.live(round);
    });
    await fc.assert(property, SETTINGS);
    expect(clusters.map(({ status }) => status)).toEqual(clusters.map(() => 'ready'));
  });
});
