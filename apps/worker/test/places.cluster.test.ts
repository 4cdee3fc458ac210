/** The worker on Redis Cluster, behind Sentinels, and sent to a replica. */
import { Readable } from 'node:stream';

import { expect, test } from '@jest/globals';
import { DailyAggregates } from '@mortise/api/aggregates';
import { startProxy, startSentinel, startSingle } from '@mortise/redis-server';
import { freshPrefix, runCluster, until } from '@mortise/test-kit';

import { LogAggregator, parseRangeCsv } from '../src/log-aggregation/index.js';
import { Game } from './fixture/game.js';
import { blocksOf, CSV, day, line, MemoryFile } from './fixture/log-files.js';
import { SmtpPeer } from './fixture/smtp-peer.js';

const { servers, cluster } = await runCluster({ replicasPerMaster: 0 });

const list = (nodes: readonly { host: string; port: number }[]): string =>
  nodes.map(({ host, port }) => `${host}:${port}`).join(',');

test('on a Redis Cluster', async () => {
  await using peer = await SmtpPeer.start();
  await using game = new Game({ REDIS_CLUSTER_NODES: list(servers.startupNodes) });
  await game.putPlayers();
  await game.startWorker({ SMTP_URL: peer.url });
  await game.taskIn('succeeded', await game.sell());
  expect(peer.rcptTo).toEqual(['frank@example.com']);
});

test('on a Redis Cluster a week of files is counted, with a slot for each day', async () => {
  const prefix = freshPrefix();
  const table = await parseRangeCsv(blocksOf(CSV));
  const days = [0, 1, 2, 3, 4, 5, 6].map(day);
  const text = days.map((on) => line('8.8.8.8', on).repeat(20)).join('');
  const files = ['a', 'b', 'a'].map((id) => new MemoryFile(id, text));
  await new LogAggregator(cluster, table, { prefix, concurrency: 1 }).run(Readable.from(files));
  expect(files.map(({ isDone }) => isDone)).toEqual([true, true, true]);
  const aggregates = new DailyAggregates(cluster, { prefix });
  for (const on of days) {
    expect(await aggregates.top('region', on)).toEqual({
      day: on,
      dimension: 'region',
      total: 40,
      places: 1,
      items: [{ country: 'US', region: 'California', count: 40 }],
    });
  }
});

test('behind Sentinel, also after a failover', async () => {
  const sentinel = await startSentinel({ replicas: 1 });
  try {
    await using game = new Game({
      REDIS_SENTINELS: list(sentinel.sentinels),
      REDIS_SENTINEL_NAME: sentinel.name,
    });
    await using peer = await SmtpPeer.start();
    await game.putPlayers();
    await game.startWorker({ SMTP_URL: peer.url });
    await game.taskIn('succeeded', await game.sell());
    await sentinel.failover();
    await game.taskIn('succeeded', await game.sell());
    expect(peer.mails).toHaveLength(2);
  } finally {
    await sentinel.stop();
  }
});

// As a sentinel does that has missed a failover. CI has seen a worker that stayed there for ever.
test('sent to a replica, it leaves for the master', async () => {
  const [demoted, master] = await Promise.all([startSingle(), startSingle()]);
  const proxy = await startProxy(demoted);
  try {
    await using peer = await SmtpPeer.start();
    await using game = new Game({ REDIS_URL: master.url });
    await demoted.command('REPLICAOF', master.host, String(master.port));
    await game.putPlayers();
    await game.startWorker({ REDIS_URL: proxy.url, SMTP_URL: peer.url });
    await until('the worker to be connected', () => proxy.connections === 1);
    proxy.aim(master);
    await game.taskIn('succeeded', await game.sell());
    expect(peer.rcptTo).toEqual(['frank@example.com']);
  } finally {
    await Promise.all([proxy.stop(), demoted.stop(), master.stop()]);
  }
});
