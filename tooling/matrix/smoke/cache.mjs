import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as cache from '@mortise/cache';
import * as keyvEntry from '@mortise/cache/keyv';
import * as loadsEntry from '@mortise/cache/loads';
import { nextCacheHandler } from '@mortise/cache/next';
import * as rowsEntry from '@mortise/cache/rows';
import * as sqlite from '@mortise/cache/sqlite';
import { cacheMatchers, MemoryRedis } from '@mortise/cache/testing';
import Database from 'libsql';
import { Verbs } from './verbs.mjs';

const { ChangeFeed, Refresher, RowCache } = rowsEntry;

export async function smoke({ connect, prefix, until, mayTrack }) {
  const verbs = new Verbs(cache, keyvEntry, loadsEntry, rowsEntry, sqlite);
  const redis = await connect();
  await readThrough(redis, prefix, until, mayTrack);
  await loads(redis, prefix);
  await keyv(redis, prefix);
  await nextPages(redis, prefix);
  await rows(redis, prefix, until);
  await changes(redis, prefix, until);
  await inMemory();
  return verbs;
}

const load = async (keys) => new Map(keys.map((key) => [key, key.toUpperCase()]));

async function readThrough(redis, prefix, until, mayTrack) {
  const errors = [];
  const onError = (error) => errors.push(error);
  const pages = new cache.Cache(redis, 'pages', {
    prefix,
    ttlMs: 60_000,
    near: { entries: 10 },
    load,
    onError,
  });
  let queries = 0;
  const query = async () => `title ${(queries += 1)}`;
  const reads = Array.from({ length: 20 }, () => pages.getOrLoad('tools', query, { tags: ['shop'] }));
  assert.deepEqual(new Set(await Promise.all(reads)), new Set(['title 1']));
  const isNear = async () => (await pages.get('tools')) === 'title 1' && pages.peek('tools') === 'title 1';
  if (mayTrack) await until(isNear, 'the copy in this process');
  else {
    // Without CLIENT nothing is kept in the process: that is reported, and every read goes to Redis.
    await until(() => errors.some(({ message }) => message.startsWith('NOPERM')), 'the report of NOPERM');
    assert.equal(await isNear(), false);
  }
  await pages.invalidateTag('shop');
  assert.equal(await pages.get('tools'), undefined);
  assert.deepEqual(
    await pages.getOrLoadMany(['a', 'b']),
    new Map([
      ['a', 'A'],
      ['b', 'B'],
    ]),
  );
  await pages.set('c', 'sea', { ttlMs: 60_000 });
  assert.deepEqual(
    await pages.getMany(['a', 'c', 'none']),
    new Map([
      ['a', 'A'],
      ['c', 'sea'],
    ]),
  );
  assert.equal(await pages.expire('c', 30_000), true);
  assert.equal(await pages.delete('c'), true);
  assert.equal(await pages.deleteMany(['a', 'b', 'none']), 2);
  const guild = pages.namespace('guild 7', { load });
  assert.equal(await guild.getOrLoad('x'), 'X');
  await guild.clear();
  assert.equal(await guild.get('x'), undefined);
  assert.equal(pages.name, 'pages');
  assert.ok(pages.stats().loads >= 3);
  if (mayTrack) assert.deepEqual(errors, []);
  await pages.stop();
  await new cache.Cache(redis, 'others', { prefix })[Symbol.asyncDispose]();
}

async function loads(redis, prefix) {
  const leases = new loadsEntry.LoadLeases(redis, 'pages', { prefix });
  const failed = await leases.request('loaded elsewhere');
  const next = leases.request('loaded elsewhere', { waitMs: 30_000 });
  await leases.release('loaded elsewhere', failed.lease.token);
  assert.equal(await leases.store('loaded elsewhere', (await next).lease.token, 'title'), true);
  assert.equal((await leases.request('loaded elsewhere')).value, 'title');
  await leases.stop();
  await leases[Symbol.asyncDispose]();
}

async function keyv(redis, prefix) {
  const store = new keyvEntry.KeyvStore(redis, 'keyv', { prefix }).on('error', assert.fail);
  store.namespace = 'smoke';
  assert.equal(store.namespace, 'smoke');
  assert.equal(await store.set('a', '1', 60_000), true);
  await store.setMany([
    { key: 'b', value: '2' },
    { key: 'c', value: '3' },
  ]);
  assert.equal(await store.get('a'), '1');
  assert.deepEqual(await store.getMany(['b', 'none']), ['2', undefined]);
  assert.equal(await store.has('b'), true);
  assert.deepEqual(await store.hasMany(['b', 'none']), [true, false]);
  assert.equal(await store.delete('a'), true);
  assert.equal(await store.deleteMany(['b', 'none']), true);
  await store.clear();
  assert.equal(await store.get('c'), undefined);
  await store.disconnect();
}

async function nextPages(redis, prefix) {
  const Handler = nextCacheHandler(() => redis, 'next', { prefix });
  const context = { kind: 'FETCH', tags: ['prices'] };
  const store = () => new Handler().set('hash', { kind: 'FETCH', tags: ['prices'] }, { fetchCache: true });
  await store();
  assert.deepEqual((await new Handler().get('hash', context)).value.tags, ['prices']);
  await new Handler().revalidateTag('prices');
  assert.equal(await new Handler().get('hash', context), null);
  await store();
  await new Handler().revalidateTag(['prices'], { expire: 60 });
  assert.ok((await new Handler().get('hash', context)).lastModified < 0);
}

async function rows(redis, prefix, until) {
  const database = new Map(['42', '1', '2'].map((id) => [id, { stock: 7 }]));
  const loadRows = async (ids) => new Map(ids.map((id) => [id, database.get(id)]));
  const inventory = new RowCache(redis, 'inventory', { prefix, load: loadRows });
  assert.equal(inventory.table, 'inventory');
  const refresher = new Refresher(redis, [inventory]);
  await refresher.start();
  await inventory.schedule('42', { everyMs: 3_600_000 });
  await until(async () => (await inventory.get('42'))?.stock === 7, 'the first load');
  database.set('42', { stock: 6 });
  assert.equal(await inventory.refresh('42'), true);
  await until(async () => (await inventory.get('42'))?.stock === 6, 'the refreshed row');
  assert.equal(await inventory.scheduleAll(['1', '2'], { everyMs: 3_600_000 }), 2);
  assert.deepEqual(await inventory.getMany(['42']), new Map([['42', { stock: 6 }]]));
  assert.equal((await inventory.inspect('42')).everyMs, 3_600_000);
  assert.equal((await inventory.list()).rows.length, 3);
  assert.ok((await inventory.stats()).hits > 0);
  assert.equal(await inventory.unschedule('42'), true);
  assert.ok(refresher.stats().refreshed !== 0);
  await refresher.stop();
  await refresher[Symbol.asyncDispose]();
}

async function changes(redis, prefix, until) {
  const directory = mkdtempSync(join(tmpdir(), 'matrix-'));
  const path = join(directory, 'shop.db');
  const shop = new Database(path);
  shop.exec(`create table items (id integer primary key, stock integer); insert into items values (42, 7)`);
  const source = new sqlite.SqliteSource({ path, table: 'items', columns: ['stock'] });
  await source.installOutbox();
  const items = new RowCache(redis, 'items', { prefix, load: source.load });
  const refresher = new Refresher(redis, [items]);
  const feed = new ChangeFeed(redis, source, items);
  await Promise.all([refresher.start(), feed.start()]);
  await items.schedule('42', { everyMs: 3_600_000 });
  await until(async () => (await items.get('42'))?.stock === 7, 'the row');
  shop.prepare('update items set stock = 6 where id = 42').run();
  await until(async () => (await items.get('42'))?.stock === 6, 'the changed row');
  assert.equal(feed.stats().changes, 1);
  await Promise.all([feed.stop(), refresher.stop()]);
  await feed[Symbol.asyncDispose]();
  await source.removeOutbox();
  await source.close();
  await source[Symbol.asyncDispose]();
  shop.close();
  rmSync(directory, { recursive: true });
}

/** The entry for tests. */
async function inMemory() {
  const own = new MemoryRedis();
  const pages = new cache.Cache(own, 'pages', { ttlMs: 1_000 });
  await pages.set('a', 1);
  assert.equal((await cacheMatchers.toHaveCached(pages, 'a')).pass, true);
  await own.close();
}
