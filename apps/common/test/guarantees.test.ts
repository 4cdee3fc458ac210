import { Writable } from 'node:stream';

import { afterEach, expect, test } from '@jest/globals';
import { startCluster, startSingle } from '@mortise/redis-server';
import { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import { pino } from 'pino';

import type { Guarantees } from '../src/doctor/index.js';
import { guaranteesOf, logGuarantees } from '../src/doctor/index.js';

/** The last one first: clients before their servers. */
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

function opened<Client extends Redis | Cluster>(client: Client): Client {
  client.on('error', () => undefined);
  closing.push(() => client.disconnect());
  return client;
}

function recordingLog(): { log: Logger; lines: unknown[]; hasLine: Promise<void> } {
  const lines: unknown[] = [];
  let learned = (): void => undefined;
  const hasLine = new Promise<void>((resolve) => {
    learned = resolve;
  });
  const stream = new Writable({
    write: (chunk: Buffer, _, done) => {
      lines.push(JSON.parse(chunk.toString()));
      learned();
      done();
    },
  });
  return { log: pino(stream), lines, hasLine };
}

test('the settings of a server stand in one line of the log, once it is there', async () => {
  const server = await startSingle({ appendFsync: 'always', args: ['--min-replicas-to-write', '1'] });
  closing.push(() => server.stop());
  await server.kill();
  const redis = opened(new Redis(server.url, { retryStrategy: () => 20 }));
  const { log, lines, hasLine } = recordingLog();
  await logGuarantees(redis, log);
  await server.restart();
  await hasLine;
  redis.disconnect(true);
  // Their replies come after those of a second look.
  await redis.ping();
  await guaranteesOf(redis);
  expect(lines).toEqual([
    expect.objectContaining({
      appendonly: 'yes',
      appendfsync: 'always',
      replicas: '0',
      'min-replicas-to-write': '1',
      'maxmemory-policy': 'noeviction',
      msg: 'redis settings against loss',
    }),
  ]);
});

test('a value that a server refuses to tell is unknown', async () => {
  const server = await startSingle({ appendFsync: 'everysec' });
  closing.push(() => server.stop());
  const redis = opened(new Redis(server.url));
  await redis.call('ACL', 'SETUSER', 'poor', 'on', '>x', '~*', '+@all', '-config');
  await redis.call('ACL', 'SETUSER', 'poorest', 'on', '>x', '~*', '+@all', '-config', '-info');
  const of = (username: string): Promise<Guarantees> =>
    guaranteesOf(opened(new Redis(server.url, { username, password: 'x', enableReadyCheck: false })));
  expect(await of('poor')).toEqual({
    appendonly: 'yes',
    appendfsync: 'unknown',
    replicas: '0',
    'min-replicas-to-write': 'unknown',
    'maxmemory-policy': 'noeviction',
  });
  expect(new Set(Object.values(await of('poorest')))).toEqual(new Set(['unknown']));
});

test('masters of a Cluster that differ stand side by side', async () => {
  const cluster = await startCluster();
  closing.push(() => cluster.stop());
  await cluster.nodes[0]!.command('CONFIG', 'SET', 'min-replicas-to-write', '1');
  const redis = opened(new Cluster(cluster.startupNodes));
  await redis.ping();
  expect(await guaranteesOf(redis)).toMatchObject({
    appendonly: 'no',
    'min-replicas-to-write': '0 or 1',
  });
});
