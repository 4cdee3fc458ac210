import { expect, test } from '@jest/globals';
import { AddressBook, RecentContacts } from '@mortise/autocomplete';
import type { RedisServer } from '@mortise/redis-server';
import { runCluster, until } from '@mortise/test-kit';

const { servers, cluster, connect } = await runCluster({ replicasPerMaster: 1 });
const [masters, replicas] = [servers.nodes.slice(0, 3), servers.nodes.slice(3)];

/** How often nodes executed the commands. */
async function calls(nodes: readonly RedisServer[], commands: RegExp): Promise<number> {
  const stats = await Promise.all(nodes.map((node) => node.command('INFO', 'commandstats')));
  const counts = stats.flatMap((text) => [...String(text).matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)]);
  return counts.reduce((sum, [, name, count]) => (commands.test(name!) ? sum + Number(count) : sum), 0);
}

test.each([
  ['by the last touch', {}],
  ['by frecency', { halfLifeMs: 60_000 }],
])('reads are answered by replicas, and none by a master: %s', async (_, options) => {
  const users = Array.from({ length: 20 }, (__, index) => `user ${index}`);
  const recent = new RecentContacts(cluster, options);
  await Promise.all(users.flatMap((user) => ['jack', 'José'].map((contact) => recent.touch(user, contact))));
  await servers.replicated();
  // A node lists a replica when it knows that the replica has data.
  await until('all nodes to list replicas of all masters', async () => {
    const slots = await Promise.all(servers.nodes.map((node) => node.command('CLUSTER', 'SLOTS')));
    return (slots as unknown[][][]).every((ranges) => ranges.every((range) => range.length === 4));
  });
  const reader = connect({ scaleReads: 'slave' });

  const READS = /^(eval_ro|evalsha_ro|lrange|zrange)$/;
  const before = [await calls(masters, READS), await calls(replicas, READS)];
  const read = new RecentContacts(reader, options);
  for (const user of users) {
    expect(await read.complete(user, 'JO')).toEqual(['José']);
    expect((await read.list(user)).toSorted()).toEqual(['José', 'jack']);
  }
  expect(await calls(masters, READS)).toBe(before[0]);
  expect(await calls(replicas, READS)).toBeGreaterThanOrEqual(before[1]! + 40);
});

test('contacts of users on all masters change in one tick', async () => {
  const recent = new RecentContacts(cluster);
  const users = Array.from({ length: 50 }, (_, index) => `user ${index}`);
  await Promise.all(users.flatMap((user) => ['Jack', 'José'].map((contact) => recent.touch(user, contact))));
  await Promise.all(users.map((user) => recent.remove(user, 'Jack')));
  const found = await Promise.all(users.map((user) => recent.complete(user, 'JO')));
  expect(found).toEqual(users.map(() => ['José']));
  const sizes = await Promise.all(cluster.nodes('master').map((node) => node.dbsize()));
  expect(sizes).toHaveLength(3);
  expect(Math.min(...sizes)).toBeGreaterThan(0);
});

test('contacts go on while a user moves to another master', async () => {
  const recent = new RecentContacts(cluster);
  await recent.touch('anna', 'jack');
  const key = 'mortise:autocomplete:{anna}:recent:1';
  const owner = await servers.ownerOf(key);
  const other = masters.find((node) => node !== owner)!;
  await servers.moveSlot(await cluster.cluster('KEYSLOT', key), other);
  await recent.touch('anna', 'jill');
  expect(await recent.list('anna')).toEqual(['jill', 'jack']);
});

const names = Array.from({ length: 300 }, (_, index) => `name${index.toString(36)} of${index % 7}`);

async function keysOf(server: RedisServer): Promise<string[]> {
  return (await server.command('KEYS', '*{guild moving}*')) as string[];
}

test('books are on all masters', async () => {
  const books = Array.from({ length: 20 }, (_, index) => new AddressBook(cluster, `guild ${index}`));
  await Promise.all(books.map((book) => book.addMany([{ key: 'José Ruiz' }, { key: 'Jill' }])));
  const found = await Promise.all(books.map((book) => book.complete('ru jo')));
  expect(found.map((list) => list.map(({ key }) => key))).toEqual(books.map(() => ['José Ruiz']));
  const sizes = await Promise.all(cluster.nodes('master').map((node) => node.dbsize()));
  expect(Math.min(...sizes)).toBeGreaterThan(0);
});

test('a book neither reads nor writes while only some of its keys have moved, and goes on when all have', async () => {
  const book = new AddressBook(cluster, 'guild moving');
  // So large that it has a top set of all, and with cards: all kinds of keys.
  await book.addMany(names.map((key, score) => ({ key, score, payload: score })));
  const slot = await cluster.cluster('KEYSLOT', 'mortise:autocomplete:{guild moving}:meta:1');
  const from = await servers.ownerOf(slot);
  const to = masters.find((node) => node !== from)!;
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
