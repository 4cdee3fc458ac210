/** Protected servers of every kind, as the settings name them. */
import { once } from 'node:events';

import { afterEach, describe, expect, test } from '@jest/globals';
import { makeCertificate, startCluster, startSentinel, startSingle } from '@mortise/redis-server';
import type { RedisServer } from '@mortise/redis-server';
import type { Cluster, Redis } from 'ioredis';
import { z } from 'zod';

import { connectRedis } from '../src/redis/index.js';
import { readSettings, REDIS_FIELDS, redisPlaceOf, refineRedis } from '../src/settings/index.js';

const Environment = z.object(REDIS_FIELDS).superRefine(refineRedis);
const LOGIN = { REDIS_USERNAME: 'app', REDIS_PASSWORD: 'secret-of-app' };

const open = new Set<Redis | Cluster>();
const running = new Set<{ stop(): Promise<unknown> }>();
afterEach(async () => {
  for (const client of open) client.disconnect();
  open.clear();
  await Promise.all([...running].map((servers) => servers.stop()));
  running.clear();
});

function stoppedLater<Servers extends { stop(): Promise<unknown> }>(servers: Servers): Servers {
  running.add(servers);
  return servers;
}

function connect(variables: Record<string, string>): Redis | Cluster {
  const client = connectRedis(redisPlaceOf(readSettings(Environment, variables)), {
    redis: { maxRetriesPerRequest: null },
    cluster: { clusterRetryStrategy: () => 50 },
    sentinelPauseMs: () => 50,
  });
  open.add(client);
  return client;
}

/** The user whom the server sees. */
async function userOf(variables: Record<string, string>): Promise<unknown> {
  const client = connect(variables);
  client.on('error', () => undefined);
  return client.call('ACL', 'WHOAMI');
}

async function addUser(server: RedisServer, name = 'app', password = LOGIN.REDIS_PASSWORD): Promise<void> {
  await server.command('ACL', 'SETUSER', name, 'on', `>${password}`, '~*', '&*', '+@all');
}

async function firstError(variables: Record<string, string>): Promise<string> {
  const [error] = (await once(connect(variables), 'error')) as [Error];
  return error.message;
}

describe('a single server', () => {
  test('with a user, in the URL or beside it', async () => {
    const server = stoppedLater(await startSingle());
    await addUser(server);
    expect(await userOf({ REDIS_URL: server.url, ...LOGIN })).toBe('app');
    const url = server.url.replace('redis://', 'redis://app:secret-of-app@');
    expect(await userOf({ REDIS_URL: url })).toBe('app');
    expect(await firstError({ REDIS_URL: server.url, ...LOGIN, REDIS_PASSWORD: 'wrong' })).toMatch(
      /WRONGPASS/,
    );
  });

  test('with TLS and an authority of its own', async () => {
    const { tlsArgs, port, caFile, remove } = await makeCertificate();
    const server = stoppedLater(await startSingle({ args: tlsArgs }));
    await addUser(server);
    const url = `rediss://127.0.0.1:${port}`;
    expect(await userOf({ REDIS_URL: url, REDIS_CA_FILE: caFile, ...LOGIN })).toBe('app');
    expect(await firstError({ REDIS_URL: url, ...LOGIN })).toMatch(/self-signed certificate/);
    remove();
  });
});

test('a Cluster: every node sees the user', async () => {
  const cluster = stoppedLater(await startCluster({ replicasPerMaster: 0 }));
  await Promise.all(cluster.nodes.map((node) => addUser(node)));
  const nodes = cluster.startupNodes.map(({ host, port }) => `${host}:${port}`).join(',');
  const client = connect({ REDIS_CLUSTER_NODES: nodes, ...LOGIN }) as Cluster;
  await once(client, 'ready');
  const users = await Promise.all(client.nodes('master').map((node) => node.call('ACL', 'WHOAMI')));
  expect(users).toEqual(['app', 'app', 'app']);
});

test('Sentinels with users of their own', async () => {
  const group = stoppedLater(await startSentinel({ replicas: 0, sentinels: 1 }));
  for (const server of group.servers) await addUser(server);
  for (const sentinel of group.sentinelServers) await addUser(sentinel, 'watcher', 'secret-of-watcher');
  const place = {
    REDIS_SENTINELS: group.sentinels.map(({ host, port }) => `${host}:${port}`).join(','),
    REDIS_SENTINEL_NAME: group.name,
    REDIS_SENTINEL_USERNAME: 'watcher',
    REDIS_SENTINEL_PASSWORD: 'secret-of-watcher',
    ...LOGIN,
  };
  expect(await userOf(place)).toBe('app');
  expect(await firstError({ ...place, REDIS_SENTINEL_PASSWORD: 'wrong' })).toMatch(/WRONGPASS|unreachable/);
});
