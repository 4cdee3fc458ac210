/** Every public call: on a closed client, and with wrong arguments. */
import { expect, test } from '@jest/globals';
import { Cache } from '@mortise/cache';
import { Refresher, RowCache } from '@mortise/cache/rows';
import type { CallTable } from '@mortise/test-kit';
import {
  connect,
  freshPrefix,
  methodsOf,
  outcomesOf,
  uncodedMisuses,
  unknownOptions,
} from '@mortise/test-kit';
import type { Redis } from 'ioredis';

/** They load, or have nothing, while Redis is unavailable. */
const READS = new Set(['cache.get', 'cache.getMany', 'cache.getOrLoad', 'cache.getOrLoadMany']);

function tableOf(redis: Redis): CallTable {
  const prefix = freshPrefix();
  const cache = new Cache(redis, 'pages', { prefix, onError: () => undefined });
  const loading = new Cache(redis, 'pages', {
    prefix,
    load: async () => new Map(),
    onError: () => undefined,
  });
  const rows = new RowCache(redis, 'items', { prefix, load: async () => new Map() });
  return {
    'cache.getOrLoadMany': [loading.getOrLoadMany.bind(loading), ['a'], {}],
    'cache.get': [cache.get.bind(cache), 'a'],
    'cache.getMany': [cache.getMany.bind(cache), ['a']],
    'cache.getOrLoad': [cache.getOrLoad.bind(cache), 'a', () => 1, {}],
    'cache.set': [cache.set.bind(cache), 'a', 1, {}],
    'cache.delete': [cache.delete.bind(cache), 'a'],
    'cache.deleteMany': [cache.deleteMany.bind(cache), ['a']],
    'cache.expire': [cache.expire.bind(cache), 'a', 1_000],
    'cache.invalidateTag': [cache.invalidateTag.bind(cache), 't'],
    'rows.schedule': [rows.schedule.bind(rows), 'a', { everyMs: 60_000 }],
    'rows.scheduleAll': [rows.scheduleAll.bind(rows), ['a'], { everyMs: 60_000 }],
    'rows.unschedule': [rows.unschedule.bind(rows), 'a'],
    'rows.refresh': [rows.refresh.bind(rows), 'a'],
    'rows.get': [rows.get.bind(rows), 'a'],
    'rows.getMany': [rows.getMany.bind(rows), ['a']],
    'rows.inspect': [rows.inspect.bind(rows), 'a'],
    'rows.stats': [rows.stats.bind(rows)],
  };
}

function constructors(redis: Redis): CallTable {
  const rows = new RowCache(redis, 'items', { load: async () => new Map() });
  return {
    Cache: [(...args: ConstructorParameters<typeof Cache>) => void new Cache(...args), redis, 'pages', {}],
    RowCache: [
      (...args: ConstructorParameters<typeof RowCache>) => void new RowCache(...args),
      redis,
      'items',
      { load: async () => new Map() },
    ],
    Refresher: [
      (...args: ConstructorParameters<typeof Refresher>) => void new Refresher(...args),
      redis,
      [rows],
      {},
    ],
  };
}

test('the table has every method that sends something', () => {
  const table = tableOf(connect());
  const methods = [...methodsOf('cache', Cache), ...methodsOf('rows', RowCache)];
  expect([...new Set(methods)].filter((name) => !(name in table)).toSorted()).toEqual([
    'cache.namespace',
    'cache.peek',
    'cache.stats',
    'cache.stop',
  ]);
});

test('each call on a closed client rejects with ERR_CLIENT_CLOSED', async () => {
  const redis = connect();
  const table = tableOf(redis);
  await redis.quit();
  const expected = Object.keys(table).map((name) => [name, READS.has(name) ? 'done' : 'ERR_CLIENT_CLOSED']);
  expect(await outcomesOf(table)).toEqual(Object.fromEntries(expected));
});

test('so does a call of the tick in which the client is closed, if nobody awaited it before', async () => {
  const redis = connect();
  await redis.ping();
  const outcomes = outcomesOf({ call: tableOf(redis)['cache.set']! });
  const quit = redis.quit();
  expect(await outcomes).toEqual({ call: 'ERR_CLIENT_CLOSED' });
  expect(await quit).toBe('OK');
});

test('each wrong argument is refused with a code, or taken', async () => {
  expect(await uncodedMisuses({ ...constructors(connect()), ...tableOf(connect()) })).toEqual([]);
});

test('options that there are not are refused', async () => {
  expect(await unknownOptions({ ...constructors(connect()), ...tableOf(connect()) })).toEqual([]);
});
