/** The worker on Redis Cluster, behind Sentinels, and sent to a replica. */
import { expect, test } from '@jest/globals';
import { startProxy, startSentinel, startSingle } from '@mortise/redis-server';
import { runCluster, until } from '@mortise/test-kit';

import { Game } from './fixture/game.js';
import { SmtpPeer } from './fixture/smtp-peer.js';

const { servers } = await runCluster({ replicasPerMaster: 0 });

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
