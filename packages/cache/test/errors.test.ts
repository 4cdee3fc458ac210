import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { Cache } from '@mortise/cache';
import { ChangeFeed, maxQueriesOf, Refresher, RowCache } from '@mortise/cache/rows';
import { PostgresSource, postgresOutboxSql } from '@mortise/cache/postgres';
import { SqliteSource, sqliteOutboxSql } from '@mortise/cache/sqlite';
import { connect, errorCodes, freshPrefix } from '@mortise/test-kit';

test('the reference lists the codes of the package, and one of @mortise/redis', () => {
  const { declared, listed } = errorCodes(join(import.meta.dirname, '..'), {
    document: '../../docs/cache/reference/errors.md',
  });
  expect(declared).toHaveLength(18);
  expect(listed).toEqual([...declared, 'ERR_INVALID_ARG'].toSorted());
});

const redis = connect();
const prefix = freshPrefix();
const rows = new RowCache(redis, 'items', { prefix, load: async () => new Map() });
const cache = new Cache<string>(redis, 'pages', { prefix });
const loading = new Cache<string>(redis, 'pages', { prefix, load: async () => new Map() });
const url = 'postgres://localhost';
const source = new SqliteSource({ path: 'x.db', table: 'items' });
const wrong = (value: unknown): never => value as never;

test.each<[string, () => unknown]>([
  ['a client that is none', () => new RowCache(wrong({}), 'items')],
  ['a table without a name', () => new RowCache(redis, '')],
  ['jitter that is no number', () => new RowCache(redis, 'items', { jitter: wrong('0.1') })],
  ['telemetry that is no object', () => new RowCache(redis, 'items', { telemetry: wrong('all') })],
  ['rows that are none', () => new Refresher(redis, [wrong({})])],
  ['a table that is named twice', () => new Refresher(redis, [rows, rows])],
  ['a table without a loader', () => new Refresher(redis, [new RowCache(redis, 'others')])],
  ['a client of a refresher that is none', () => new Refresher(wrong({}), [rows])],
  ['options of SQLite that are none', () => new SqliteSource(wrong(undefined))],
  ['options of PostgreSQL that are none', () => new PostgresSource(wrong(undefined))],
  ['rows of a feed that are none', () => new ChangeFeed(redis, source, wrong({}))],
  ['a source that is none', () => new ChangeFeed(redis, wrong({}), rows)],
  ['a URL of another database', () => new PostgresSource({ url: 'mysql://localhost', table: 'items' })],
  ['options that are no object', () => new Cache(redis, 'pages', wrong(7))],
  ['a near tier that is no object', () => new Cache(redis, 'pages', { near: wrong(7) })],
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

type Making = readonly [name: string, make: (options: never) => unknown, all: readonly object[]];

const makeRows = (options: object): unknown =>
  new RowCache(redis, 'items', { load: async () => new Map(), ...options });
const makeCache = (options: object): unknown => new Cache(redis, 'pages', { prefix, ...options });
const makeRefresher = (options: object): unknown => new Refresher(redis, [rows], options);
const makeFeed = (options: object): unknown => new ChangeFeed(redis, source, rows, options);
const schedule = (options: object): unknown => rows.schedule('42', wrong(options));
const scheduleAll = (options: object): unknown => rows.scheduleAll(['42'], wrong(options));
const makeSqlite = (options: object): unknown => new SqliteSource(wrong(options));
const makePostgres = (options: object): unknown => new PostgresSource(wrong(options));
const id = ({ of }: { of: string }): Promise<unknown>[] => [
  rows.get(of),
  rows.refresh(of),
  rows.schedule(of, { everyMs: 5 }),
];
const table = 'items';
const path = 'x.db';

const RANGES: readonly Making[] = [
  [
    'RowCache',
    makeRows,
    [
      { maxPayloadBytes: 0 },
      { jitter: -0.1 },
      { jitter: 0.6 },
      { jitter: Number.NaN },
      { idleMs: 0 },
      { idleMs: Infinity },
      { prefix: '' },
      { keepMs: 59_999 },
      { keepMs: Infinity },
      { tombstoneMs: -1 },
      { missing: 'forget' },
      { version: 65_536 },
      { version: 1.5 },
      { shards: 0 },
      { shards: 65 },
    ],
  ],
  [
    'schedule',
    schedule,
    [{ everyMs: Number.NaN }, { everyMs: Infinity }, { everyMs: -Infinity }, { everyMs: 1e15 }],
  ],
  [
    'scheduleAll',
    scheduleAll,
    [{ everyMs: Number.NaN }, { everyMs: Infinity }, { everyMs: -Infinity }, { everyMs: 1e15 }],
  ],
  ['an id', id, [{ of: '' }, { of: 'x'.repeat(1_025) }]],
  [
    'Refresher',
    makeRefresher,
    [
      { concurrency: 0 },
      { concurrency: 101 },
      { batch: 0 },
      { batch: 501 },
      { batch: Number.NaN },
      { leaseMs: 99 },
      { leaseMs: Infinity },
      { backoff: { delayMs: -1 } },
      { backoff: { delayMs: 100, maxDelayMs: 99 } },
    ],
  ],
  ['ChangeFeed', makeFeed, [{ leaseMs: 1 }, { recheckMs: Number.NaN }]],
  [
    'SqliteSource',
    makeSqlite,
    [
      { table, path: ':memory:' },
      { table, path, queryTimeoutMs: 0 },
      { table, path, busyTimeoutMs: Infinity },
    ],
  ],
  [
    'PostgresSource',
    makePostgres,
    [
      { table, url, queryTimeoutMs: Number.NaN },
      { table, url, maxConnections: 0 },
      { table, url, connectTimeoutMs: 0 },
    ],
  ],
];

const TYPES: readonly Making[] = [
  ['RowCache', makeRows, [{ load: 'items' }, { codec: { encode: String } }]],
  ['schedule', schedule, [{}, { everyMs: '5' }]],
  ['an id', id, [{ of: undefined }, { of: null }, { of: 42 }, { of: {} }]],
  [
    'Cache',
    makeCache,
    [{ codec: {} }, { near: true }, { telemetry: null }, { telemetry: 'console' }, { telemetry: 1 }],
  ],
  [
    'SqliteSource',
    makeSqlite,
    [
      {},
      { table: 7, path },
      { table },
      { table, path, database: {} },
      { table, database: {} },
      { table, path, columns: [] },
      { table, path, where: ' ' },
    ],
  ],
  [
    'PostgresSource',
    makePostgres,
    [
      {},
      { table: 7, url },
      { table },
      { table, url, pool: {} },
      { table, pool: {} },
      { table, url: 'http://127.0.0.1' },
      { table, url, notify: 'no' },
    ],
  ],
];

describe.each([
  ['RangeError', RANGES],
  ['TypeError', TYPES],
])('a %s', (name, makings) => {
  test.each(makings.flatMap(([of, make, all]) => all.map((options) => [of, options, make] as const)))(
    'of %s: %o',
    async (_, options, make) => {
      const made = async (): Promise<unknown> => make(options as never);
      const results = await made().then(
        (all) => Promise.allSettled(all as Promise<unknown>[]),
        (reason: unknown) => [{ status: 'rejected', reason }],
      );
      for (const result of results)
        expect(result).toMatchObject({ status: 'rejected', reason: { name, code: 'ERR_INVALID_ARG' } });
      expect(results).not.toHaveLength(0);
    },
  );
});

test.each([
  [{ ttlMs: 0 }, 'ttlMs must be from 1 to 31536000000 ms, got 0'],
  [{ staleMs: Number.NaN }, 'staleMs must be from 0 to 31536000000 ms, got NaN'],
  [{ negativeTtlMs: -1 }, 'negativeTtlMs must be from 0 to 31536000000 ms, got -1'],
  [{ jitter: 0.6 }, 'jitter must be from 0 to 0.5, got 0.6'],
  [{ earlyRefresh: 11 }, 'earlyRefresh must be from 0 to 10, got 11'],
  [{ leaseMs: 99 }, 'leaseMs must be from 100 to 600000 ms, got 99'],
  [{ shards: 65 }, 'shards must be a whole number from 1 to 64, got 65'],
  [{ version: 0.5 }, 'version must be a whole number from 0 to 65535, got 0.5'],
  [{ near: { entries: 0 } }, 'near.entries must be a whole number from 1 to 10000000, got 0'],
  [{ near: { bytes: 1 } }, 'near.bytes must be a whole number from 1024 to 17179869184, got 1'],
])('Cache refuses %o with its limits', (options, message) => {
  expect(() => makeCache(options)).toThrow(new RangeError(message));
});
