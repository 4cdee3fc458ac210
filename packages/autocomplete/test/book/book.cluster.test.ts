import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { AddressBook } from '@mortise/autocomplete';
import type { RedisCluster, RedisServer } from '@mortise/redis-server';
import { startCluster } from '@mortise/redis-server';
import { until } from '@mortise/test-kit';
import { Cluster } from 'ioredis';

let servers: RedisCluster;
let cluster: Cluster;

beforeAll(async () => {
  servers = await startCluster({ replicasPerMaster: 0 });
  cluster = new Cluster(servers.startupNodes);
});

afterAll(async () => {
  await cluster?.quit();
  await servers?.stop();
});

const names = Array.from({ length: 300 }, (_, index) => `name${index.toString(36)} of${index % 7}`);

async function keysOf(server: RedisServer): Promise<string[]> {
  return (await server.command('KEYS', '*{guild moving}*')) as string[];
}

test('serves books on all masters', async () => {
  const books = Array.from({ length: 20 }, (_, index) => new AddressBook(cluster, `guild ${index}`));
  await Promise.all(books.map((book) => book.addMany([{ key: 'José Ruiz' }, { key: 'Jill' }])));
  const found = await Promise.all(books.map((book) => book.complete('ru jo')));
  expect(found.map((list) => list.map(({ key }) => key))).toEqual(books.map(() => ['José Ruiz']));
  const sizes = await Promise.all(cluster.nodes('master').map((node) => node.dbsize()));
  expect(Math.min(...sizes)).toBeGreaterThan(0);
});

test('neither reads nor writes while only some of its keys have moved, and goes on when all have', async () => {
  const book = new AddressBook(cluster, 'guild moving');
  // So large that it has a top set of all, and with cards: all kinds of keys.
  await book.addMany(names.map((key, score) => ({ key, score, payload: score })));
  const slot = await cluster.cluster('KEYSLOT', 'mortise:autocomplete:{guild moving}:meta:1');
  const from = await servers.ownerOf(slot);
  const to = servers.nodes.find((node) => node !== from)!;
  const [fromId, toId] = await Promise.all([from, to].map((node) => node.command('CLUSTER', 'MYID')));
  await to.command('CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', String(fromId));
  await from.command('CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', String(toId));
  // All keys that the scripts are given stay, and half of the blocks go.
  const blocks = (await keysOf(from)).filter((key) => /:b:1:[1-9]/.test(key));
  const gone = blocks.filter((_, index) => index % 2 === 0);
  expect(gone.length).toBeGreaterThan(2);
  await from.command('MIGRATE', to.host, String(to.port), '', '0', '5000', 'KEYS', ...gone);
  const before = await Promise.all([keysOf(from), keysOf(to)]);

  let answered = 0;
  const answers = [book.add({ key: 'late' }), book.boost(names[7]!, 1_000), book.complete('name')].map(
    async (answer) => {
      const reply: unknown = await answer;
      answered += 1;
      return reply;
    },
  );
  // So often refused that ioredis alone has given up on all three.
  await until('three callers that were refused', async () => {
    const stats = String(await Promise.all([from, to].map((node) => node.command('INFO', 'errorstats'))));
    const counts = [...stats.matchAll(/errorstat_TRYAGAIN:count=(\d+)/g)].map(([, count]) => Number(count));
    return counts.some((count) => count > 40);
  });
  expect(answered).toBe(0);
  expect(await Promise.all([keysOf(from), keysOf(to)])).toEqual(before);

  await servers.moveSlot(slot, to);
  const [isNew, score, found] = await Promise.all(answers);
  expect([isNew, score]).toEqual([true, 1_007]);
  expect(found).toHaveLength(10);
  expect(await book.size()).toBe(names.length + 1);
  const listed = await book.complete('name', { order: 'alphabetical', limit: 1_000 });
  expect(listed.map(({ key }) => key)).toEqual(names.toSorted());
});
