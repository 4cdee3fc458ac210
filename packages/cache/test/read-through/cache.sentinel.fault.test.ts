/** The master behind a cache is replaced by Sentinel. No read fails, and what is served in the end is what is there. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startSentinel } from '@mortise/redis-server';
import type { RedisSentinel } from '@mortise/redis-server';
import { freshPrefix, until } from '@mortise/test-kit';
import { Redis } from 'ioredis';
import { GatedLoader, pagesOf } from '../fixture/cached.js';

let servers: RedisSentinel;
const clients: Redis[] = [];

function connect(): Redis {
  const client = new Redis({
    name: servers.name,
    sentinels: [...servers.sentinels],
    retryStrategy: () => 50,
    reconnectOnError: ({ message }) => message.startsWith('READONLY') && 2,
  });
  client.on('error', () => undefined);
  clients.push(client);
  return client;
}

beforeAll(async () => {
  servers = await startSentinel();
});

afterAll(async () => {
  for (const client of clients) client.disconnect();
  await servers?.stop();
});

test.each(['asked to', 'the master was killed'])('a failover (%s)', async (why) => {
  const prefix = freshPrefix();
  const options = { prefix, near: {}, leaseMs: 500, commandTimeoutMs: 500, fallbackTtlMs: 1 };
  const here = pagesOf<string>(connect(), options).cache;
  const there = pagesOf<string>(connect(), options).cache;
  const loader = new GatedLoader<string>();
  const nearby = (wanted: string): Promise<true> =>
    until(`"${wanted}" in both near tiers`, async () => {
      await Promise.all([here, there].map((cache) => cache.getOrLoad('tools', () => wanted)));
      return [here, there].every((cache) => cache.peek('tools') === wanted) && true;
    });
  await nearby('old');
  const loading = here.getOrLoad('held', loader.load);
  const call = await loader.call(0);
  const master = await servers.master();
  if (why === 'the master was killed') await master.kill();
  const changing = servers.failover();
  let isOver = false;
  void changing.finally(() => {
    isOver = true;
  });
  let reads = 0;
  // No read fails or waits for the end of it.
  await until('the failover', async () => {
    await Promise.all([here, there].map((cache) => cache.getOrLoad(`page ${reads}`, () => 'loaded')));
    reads += 1;
    return isOver;
  });
  await changing;
  expect(reads).toBeGreaterThan(0);
  call.open('held');
  expect(await loading).toBe('held');
  await until('a change', () =>
    there.set('tools', 'new').then(
      () => true,
      () => false,
    ),
  );
  await nearby('new');
  await there.delete('tools');
  await until('the news', () => here.peek('tools') === undefined);
  await nearby('newest');
});
