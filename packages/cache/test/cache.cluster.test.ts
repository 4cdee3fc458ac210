import { expect, test } from '@jest/globals';
import { LoadLeases } from '@mortise/cache/loads';
import { Refresher, RowCache } from '@mortise/cache/rows';
import { freshPrefix, runCluster, until } from '@mortise/test-kit';
import { GatedLoader, pagesOf } from './fixture/cached.js';
import { exitOf } from './fixture/exit-of.js';
import { freshSqlite, ITEMS, MANY_ITEMS } from './sql/sql.databases.js';
import { feedOf, watch } from './sql/sql.feed.js';

const { servers, cluster, connect } = await runCluster();
const other = connect();

const keys = Array.from({ length: 40 }, (_, index) => `page ${index}`);

test('a cache spreads over all masters, with one load for each key and tags over all of them', async () => {
  const { cache: here, prefix } = pagesOf<string>(cluster, { shards: 8 });
  const there = pagesOf<string>(other, { prefix, shards: 8 }).cache;
  let loads = 0;
  const load = async (): Promise<string> => {
    loads += 1;
    return `load ${loads}`;
  };
  const readAll = async (): Promise<Set<string | null>> =>
    new Set(
      await Promise.all(
        keys.flatMap((key) => [here, there].map((cache) => cache.getOrLoad(key, load, { tags: ['all'] }))),
      ),
    );
  expect((await readAll()).size).toBe(40);
  expect(loads).toBe(40);
  const sizes = await Promise.all(cluster.nodes('master').map((node) => node.dbsize()));
  expect(sizes).toHaveLength(3);
  expect(Math.min(...sizes)).toBeGreaterThan(0);
  await there.invalidateTag('all');
  expect(await here.getMany(keys)).toEqual(new Map());
  await readAll();
  expect(loads).toBe(80);
});

test('clients without a loader load each key once, on all masters', async () => {
  const { cache, prefix } = pagesOf<string>(cluster, { shards: 8 });
  const options = { prefix, shards: 8, commandTimeoutMs: 20_000 };
  await using here = new LoadLeases<string>(cluster, 'pages', options);
  await using there = new LoadLeases<string>(other, 'pages', options);
  const load = async (leases: LoadLeases<string>, key: string): Promise<boolean> => {
    const { value, lease } = await leases.request(key, { waitMs: 60_000, leaseMs: 60_000 });
    if (!lease) return value !== key;
    return leases.store(key, lease.token, key);
  };
  const loaded = await Promise.all(keys.flatMap((key) => [load(here, key), load(there, key)]));
  expect(loaded.filter(Boolean)).toHaveLength(keys.length);
  expect(await cache.getMany(keys)).toEqual(new Map(keys.map((key) => [key, key])));
});

test.each(['delete', 'invalidateTag'] as const)(
  'a change by %s leaves nobody waiting for an older load, nor that load in the cache',
  async (change) => {
    const { cache: here, prefix } = pagesOf<string>(cluster, { shards: 4 });
    const there = pagesOf<string>(other, { prefix, shards: 4 }).cache;
    const loader = new GatedLoader<string>();
    const options = { tags: ['all'] };
    const early = keys.map((key) => here.getOrLoad(key, loader.load, options));
    await loader.call(keys.length - 1);
    if (change === 'delete') await Promise.all(keys.map((key) => there.delete(key)));
    else await there.invalidateTag('all');
    const late = keys.flatMap((key) =>
      [here, there].map((cache) => cache.getOrLoad(key, () => 'new', options)),
    );
    expect(new Set(await Promise.all(late))).toEqual(new Set(['new']));
    for (const call of loader.calls) call.open('old');
    expect(new Set(await Promise.all(early))).toEqual(new Set(['old']));
    expect(new Set((await here.getMany(keys)).values())).toEqual(new Set(['new']));
    expect(loader.calls).toHaveLength(keys.length);
  },
);

test('the near tier learns of changes, and a number that is missing empties it', async () => {
  const { cache: here, prefix } = pagesOf<string>(cluster, { shards: 4, near: {} });
  const there = pagesOf<string>(other, { prefix, shards: 4 }).cache;
  const nearby = (key: string, wanted: string): Promise<true> =>
    until(`${wanted} in the near tier`, async () => {
      await here.get(key);
      return here.peek(key) === wanted && true;
    });
  for (const key of keys) await there.set(key, 'old', { tags: ['all'] });
  for (const key of keys) await nearby(key, 'old');
  await there.set(keys[0]!, 'new');
  await until('the news', () => here.peek(keys[0]!) === undefined);
  expect(here.peek(keys[1]!)).toBe('old');
  await there.delete(keys[1]!);
  await until('the news', () => here.peek(keys[1]!) === undefined);
  expect(await there.deleteMany(keys.slice(0, 4))).toBe(3);
  await until('the news', () => here.peek(keys[3]!) === undefined);
  expect(await Promise.all(keys.map((key) => there.expire(key, 0)))).toEqual(
    keys.map((_, index) => index > 3),
  );
  await until('the news', () => here.peek(keys[5]!) === undefined);
  expect(await here.get(keys[5]!)).toBeUndefined();
  for (const key of keys) await there.set(key, 'old', { tags: ['all'] });
  for (const key of keys) await nearby(key, 'old');
  await there.invalidateTag('all');
  await until('the news', () => keys.every((key) => here.peek(key) === undefined));

  const changes = `${prefix}:cache:{pages}:changes`;
  await there.set('page', 'old');
  await nearby('page', 'old');
  // A lost message that no other one follows shows when the number is compared.
  await other.incr(changes);
  await until('the comparison', () => here.peek('page') === undefined);
  await nearby('page', 'old');
  await other.del(changes);
  await until('the comparison', () => here.peek('page') === undefined);
  await nearby('page', 'old');
  await other.spublish(`${prefix}:cache:{pages}:changed`, `*:1000\n${prefix}:cache:{pages}:value:else`);
  await until('the gap', () => here.peek('page') === undefined);
  await nearby('page', 'old');
});

test('the rows of all shards are listed', async () => {
  const rows = new RowCache<string>(cluster, 'listed', { prefix: freshPrefix() });
  const ids = Array.from({ length: 200 }, (_, index) => `row ${index}`);
  await rows.scheduleAll(ids, { everyMs: 3_600_000 });
  const found = new Set<string>();
  let [cursor, pages]: [string | null, number] = [null, 0];
  do {
    const page = await rows.list({ limit: 5, ...(cursor !== null && { cursor }) });
    for (const { id } of page.rows) found.add(id);
    ({ cursor } = page);
    pages += 1;
  } while (cursor !== null);
  expect([found.size, pages]).toEqual([ids.length, 16]);
});

test('a refresher refreshes tables on all masters, and goes on while one moves', async () => {
  const names = Array.from({ length: 8 }, (_, index) => `table ${index}`);
  let version = 1;
  const load = async (ids: readonly string[]): Promise<Map<string, string>> =>
    new Map(ids.map((id) => [id, `${id} version ${version}`]));
  const tables = names.map((name) => new RowCache<string>(cluster, name, { load }));
  const errors: unknown[] = [];
  const refresher = new Refresher(cluster, tables, { onError: (error) => errors.push(error) });
  await refresher.start();
  await Promise.all(
    tables.flatMap((rows) => ['1', '2'].map((id) => rows.schedule(id, { everyMs: 3_600_000 }))),
  );
  const newest = async (): Promise<boolean> => {
    const rows = await Promise.all(tables.map((table) => table.getMany(['1', '2'])));
    return rows.every(
      (found) => found.get('1') === `1 version ${version}` && found.get('2') === `2 version ${version}`,
    );
  };
  await until('all rows', newest);
  const sizes = await Promise.all(cluster.nodes('master').map((node) => node.dbsize()));
  expect(sizes).toHaveLength(3);
  expect(Math.min(...sizes)).toBeGreaterThan(0);

  const key = 'mortise:cache:{table 0}:due';
  const owner = await servers.ownerOf(key);
  const target = servers.nodes.find((node) => node !== owner)!;
  await servers.moveSlot(await cluster.cluster('KEYSLOT', key), target);
  version = 2;
  await Promise.all(tables.flatMap((rows) => ['1', '2'].map((id) => rows.refresh(id))));
  await until('the new rows', newest);
  await refresher.stop();
  expect(errors).toEqual([]);
});

test('a feed marks rows on all shards, and hands over to the next one', async () => {
  const { database, source: sourceOf } = freshSqlite(ITEMS);
  const source = sourceOf();
  await source.installOutbox();
  const { rows, feed, has, errors } = await watch(cluster, source, { leaseMs: 600_000 });
  const next = feedOf(cluster, source, rows, errors);
  await next.start();

  database.exec(`update items set name = 'new ' || id`);
  for (let id = 1; id <= MANY_ITEMS; id += 1) await has(String(id), `new ${id}`);
  await feed.stop();
  await until('the next one to read', () => next.stats().isReading);
  database.exec(`update items set name = 'newer ' || id`);
  for (let id = 1; id <= MANY_ITEMS; id += 1) await has(String(id), `newer ${id}`);

  expect(feed.stats().refreshed + next.stats().refreshed).toBeGreaterThanOrEqual(2 * MANY_ITEMS);
  expect(errors).toEqual([]);
});

test('a process with a near tier ends when it closes its Cluster', async () => {
  expect(await exitOf(servers.startupNodes, 'quit')).toBe(0);
});

test('a cache goes on through a failover, and what it then serves is what is there', async () => {
  const options = { near: {}, leaseMs: 500, commandTimeoutMs: 500, fallbackTtlMs: 0 };
  const { cache: here, prefix, errors } = pagesOf<string>(cluster, options);
  const there = pagesOf<string>(other, { prefix, commandTimeoutMs: 500, fallbackTtlMs: 0 }).cache;
  await there.set('page', 'old');
  await until('the near tier', async () => {
    await here.get('page');
    return here.peek('page') === 'old';
  });
  const loader = new GatedLoader<string>();
  const loading = here.getOrLoad('other page', loader.load);
  const call = await loader.call(0);
  const owner = await servers.ownerOf(`${prefix}:cache:{pages}:value:page`);
  await servers.replicated();
  await owner.kill();
  // No read fails meanwhile, and none hangs.
  expect(await there.getOrLoad('third page', () => 'loaded')).toBe('loaded');
  await servers.failover(owner);
  call.open('new');
  expect(await loading).toBe('new');
  await until('the new master', async () => {
    try {
      await there.set('page', 'new');
      return true;
    } catch {
      return false;
    }
  });
  await until('the news of it', async () => (await here.get('page')) === 'new');
  await until('the near tier', async () => {
    await here.get('page');
    return here.peek('page') === 'new';
  });
  expect(errors.every((error) => error instanceof Error)).toBe(true);
});
