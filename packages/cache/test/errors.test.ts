import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { Cache } from '@mortise/cache';
import { ChangeFeed, maxQueriesOf, Refresher, RowCache } from '@mortise/cache/rows';
import { PostgresSource, postgresOutboxSql } from '@mortise/cache/postgres';
import { SqliteSource, sqliteOutboxSql } from '@mortise/cache/sqlite';
import { connect, errorCodes, freshPrefix } from '@mortise/test-kit';

test('the README lists the codes of the package, and two of @mortise/redis', () => {
  const { declared, listed } = errorCodes(join(import.meta.dirname, '..'));
  expect(declared).toHaveLength(14);
  expect(listed).toEqual([...declared, 'ERR_CLIENT_CLOSED', 'ERR_INVALID_ARG'].toSorted());
});

const redis = connect();
const prefix = freshPrefix();
const rows = new RowCache(redis, 'items', { prefix, load: async () => new Map() });
const cache = new Cache<string>(redis, 'pages', { prefix });
const loading = new Cache<string>(redis, 'pages', { prefix, load: async () => new Map() });
const wrong = (value: unknown): never => value as never;

test.each<[string, () => unknown]>([
  ['a client that is none', () => new RowCache(wrong({}), 'items')],
  ['a table without a name', () => new RowCache(redis, '')],
  ['a loader that is no function', () => new RowCache(redis, 'items', { load: wrong('rows') })],
  ['jitter that is no number', () => new RowCache(redis, 'items', { jitter: wrong('0.1') })],
  ['jitter beyond its range', () => new RowCache(redis, 'items', { jitter: 0.6 })],
  ['a codec that cannot decode', () => new RowCache(redis, 'items', { codec: wrong({ encode: String }) })],
  ['telemetry that is no object', () => new RowCache(redis, 'items', { telemetry: wrong('all') })],
  ['a delay that is not finite', () => rows.schedule('42', { everyMs: Number.NaN })],
  ['a row without an id', () => rows.get('')],
  ['rows that are none', () => new Refresher(redis, [wrong({})])],
  ['a table that is named twice', () => new Refresher(redis, [rows, rows])],
  ['a table without a loader', () => new Refresher(redis, [new RowCache(redis, 'others')])],
  ['a batch beyond its range', () => new Refresher(redis, [rows], { batch: 501 })],
  ['a source that is none', () => new ChangeFeed(redis, wrong({}), rows)],
  ['a source of nothing', () => new SqliteSource(wrong({ table: 'items' }))],
  ['a source that nobody else can fill', () => new SqliteSource({ path: ':memory:', table: 'items' })],
  ['a table of another type', () => new SqliteSource({ path: 'x.db', table: wrong(7) })],
  ['no columns', () => new SqliteSource({ path: 'x.db', table: 'items', columns: [] })],
  ['a URL of another database', () => new PostgresSource({ url: 'mysql://localhost', table: 'items' })],
  ['options that are no object', () => new Cache(redis, 'pages', wrong(7))],
  ['a near tier that is no object', () => new Cache(redis, 'pages', { near: wrong(7) })],
  ['an early refresh beyond its range', () => new Cache(redis, 'pages', { earlyRefresh: 11 })],
  ['onError that is no function', () => new Cache(redis, 'pages', { onError: wrong(5) })],
  ['no loader', () => cache.getOrLoad('a')],
  ['options of a read that are none', () => cache.getOrLoad('a', () => '1', wrong(null))],
  ['options of a value that are none', () => cache.set('a', '1', wrong(null))],
  ['a signal that is none', () => cache.getOrLoad('a', () => '1', { signal: wrong({}) })],
  ['keys that are none', () => cache.getMany(wrong(undefined))],
  ['keys to load that are none', () => loading.getOrLoadMany(wrong('a'))],
  ['a key to peek at that is a number', () => cache.peek(wrong(42))],
  ['a key with a NUL in front', () => cache.get('\0a')],
  ['a namespace with a NUL', () => cache.namespace('a\0b')],
])('%s is refused with a code', async (_, misuse) => {
  await expect((async () => misuse())()).rejects.toMatchObject({ code: 'ERR_INVALID_ARG' });
});

const url = 'postgres://localhost';
const source = new SqliteSource({ path: 'x.db', table: 'items' });

test.each<[string, () => unknown]>([
  ['Cache has no option "ttl"; there are ttlMs, staleMs', () => new Cache(redis, 'pages', wrong({ ttl: 5 }))],
  ['getOrLoadMany has no option "ttl"', () => loading.getOrLoadMany([], wrong({ ttl: 5 }))],
  [
    'options must be an object',
    () =>
      loading.getOrLoadMany(
        ['a'],
        wrong(async () => '1'),
      ),
  ],
  ['getOrLoadMany needs the option load', () => cache.getOrLoadMany([])],
  ['near has no option "max"', () => new Cache(redis, 'pages', { near: wrong({ max: 5 }) })],
  ['getOrLoad has no option "ttl"', () => cache.getOrLoad('a', () => '1', wrong({ ttl: 5 }))],
  [
    'set has no option "signal"; there are ttlMs, staleMs, tags',
    () => cache.set('a', '1', wrong({ signal: 5 })),
  ],
  ['namespace has no option "loader"; there are load', () => cache.namespace('a', wrong({ loader: 5 }))],
  ['RowCache has no option "maxRowBytes"', () => new RowCache(redis, 'items', wrong({ maxRowBytes: 5 }))],
  ['schedule has no option "every"; there are everyMs', () => rows.schedule('1', wrong({ every: 5 }))],
  ['scheduleAll has no option "every"', () => rows.scheduleAll([], wrong({ every: 5 }))],
  ['Refresher has no option "minBackoffMs"', () => new Refresher(redis, [rows], wrong({ minBackoffMs: 5 }))],
  ['maxQueriesOf has no option "poll"', () => maxQueriesOf(wrong({ poll: 5 }))],
  ['backoff has no option "delay"', () => new Refresher(redis, [rows], { backoff: wrong({ delay: 5 }) })],
  ['ChangeFeed has no option "poll"', () => new ChangeFeed(redis, source, rows, wrong({ poll: 5 }))],
  ['SqliteSource has no option "url"', () => new SqliteSource(wrong({ path: 'x.db', table: 'items', url }))],
  [
    'PostgresSource has no option "path"',
    () => new PostgresSource(wrong({ url, table: 'items', path: '/' })),
  ],
  ['sqliteOutboxSql has no option "path"', () => sqliteOutboxSql(wrong({ table: 'items', path: 'x.db' }))],
  ['postgresOutboxSql has no option "url"', () => postgresOutboxSql(wrong({ table: 'items', url }))],
])('%s', async (message, misuse) => {
  await expect((async () => misuse())()).rejects.toMatchObject({
    code: 'ERR_INVALID_ARG',
    message: expect.stringContaining(message),
  });
});
