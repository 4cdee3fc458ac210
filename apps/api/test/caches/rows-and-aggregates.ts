/** Data that others write and the API reads: rows of a database, loaded by a refresher, and counts of log lines by day. */
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { Refresher, RowCache } from '@mortise/cache/rows';
import { DailyAggregates, dayKeys, memberOf, partsOf } from '@mortise/messaging/log-aggregation';
import { connect, until } from '@mortise/test-kit';

import type { Answer } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';
import type { Json } from '../fixture/streams.js';

const HOUR = 3_600_000;
const redis = connect();
const api = await startApi({ CACHE_TABLES: 'stock,prices:sku' });
const { prefix } = api;

const database = new Map<string, unknown>();
let failure: Error | undefined;
const stock = new RowCache(redis, 'stock', {
  prefix,
  load: async (ids) => {
    if (failure) throw failure;
    return new Map(ids.map((id) => [id, database.get(id)]));
  },
});
const prices = new RowCache(redis, 'prices', { prefix, missing: 'tombstone', load: async () => new Map() });
const refresher = new Refresher(redis, [stock, prices], {
  backoff: { delayMs: 10, maxDelayMs: 20 },
  onError: () => undefined,
});
await refresher.start();
afterAll(() => refresher.stop());
afterEach(() => {
  failure = undefined;
});

const ask = (method: string, path: string, body?: object, headers = {}): Promise<Answer> =>
  api.send({ method, path: `/v1/cache${path && `/${path}`}`, headers, ...(body && { body }) });
const slugOf = ({ json }: Answer): string => json.type.split('/').at(-1);
const put = (id: string, refreshMs = HOUR): Promise<Answer> => ask('PUT', `stock/rows/${id}`, { refreshMs });
/** The row as it is once the table says so. */
async function reads(id: string, row: unknown): Promise<Answer> {
  return until(`row ${id}`, async () => {
    const answer = await ask('GET', `stock/rows/${id}`);
    return answer.status === 200 && JSON.stringify(answer.json) === JSON.stringify(row) && answer;
  });
}

describe('the rows of a table', () => {
  test('are listed with their interval, their lag and their last error', async () => {
    database.set('listed-1', { left: 1 });
    await put('listed-1');
    await reads('listed-1', { left: 1 });
    failure = new Error('the table is locked');
    await put('listed-2', 2 * HOUR);
    await until('a failure', async () => ((await stock.inspect('listed-2'))?.failures ?? 0) > 0);
    const { json } = await ask('GET', 'stock/rows?limit=200');
    const byId = new Map<string, Json>(json.items.map((row: Json) => [row.id, row]));
    expect(byId.get('listed-1')).toEqual({
      id: 'listed-1',
      refreshMs: HOUR,
      nextInMs: expect.any(Number),
      ageMs: expect.any(Number),
      lagMs: 0,
      failures: 0,
      lastError: null,
    });
    const bad = { refreshMs: 2 * HOUR, ageMs: null, lastError: 'the table is locked' };
    expect(byId.get('listed-2')).toMatchObject(bad);
    const failing = (await ask('GET', 'stock/rows?isFailing=true')).json;
    expect(failing.items).toMatchObject([{ id: 'listed-2', ...bad }]);
    expect(failing.nextCursor).toBeNull();
    for (const id of ['listed-1', 'listed-2']) await ask('DELETE', `stock/rows/${id}`);
  });

  test('are refused for an unknown table, and with a wrong query', async () => {
    expect(slugOf(await ask('GET', 'nothing/rows'))).toBe('unknown-table');
    expect(slugOf(await ask('GET', 'stock/rows?cursor=nowhere'))).toBe('invalid-cursor');
    expect(slugOf(await ask('GET', 'stock/rows?cursor=1-0'))).toBe('invalid-cursor');
    expect(slugOf(await ask('GET', 'stock/rows?match=*'))).toBe('invalid-query');
  });
});

describe('a row', () => {
  test('is scheduled, loaded, and read with its age', async () => {
    database.set('1', { name: 'sword', left: 3 });
    const scheduled = await put('1');
    expect([scheduled.status, scheduled.json]).toEqual([
      200,
      {
        table: 'stock',
        id: '1',
        refreshMs: HOUR,
        nextInMs: expect.any(Number),
        failures: 0,
        // Null, or a number where it is loaded already.
        ageMs: scheduled.json.ageMs,
      },
    ]);
    const { headers } = await reads('1', { name: 'sword', left: 3 });
    expect(headers).toMatchObject({
      'content-type': expect.stringMatching(/^application\/json/),
      etag: expect.stringMatching(/^"[\w-]{11}"$/),
      age: expect.stringMatching(/^\d+$/),
      'x-next-refresh': expect.stringMatching(/^\d+(\.\d+)?$/),
      'cache-control': 'no-cache',
    });
    expect(headers['x-refresh-failures']).toBeUndefined();
    expect(Number(headers['x-next-refresh'])).toBeLessThanOrEqual(HOUR / 1_000);
  });

  test('is not sent again to whom has it', async () => {
    database.set('2', { left: 1 });
    await put('2');
    const { headers } = await reads('2', { left: 1 });
    const etag = headers.etag!;
    for (const known of [etag, `W/${etag}`, '*', `"other", ${etag}`]) {
      const again = await ask('GET', 'stock/rows/2', undefined, { 'if-none-match': known });
      expect([known, again.status, again.text, again.headers.etag]).toEqual([known, 304, '', etag]);
    }
    for (const known of ['"other"', '', 'nonsense', `'${etag}'`]) {
      const again = await ask('GET', 'stock/rows/2', undefined, { 'if-none-match': known });
      expect([known, again.status]).toEqual([known, 200]);
    }
    database.set('2', { left: 0 });
    expect((await ask('POST', 'stock/rows/2/refresh')).status).toBe(202);
    const changed = await reads('2', { left: 0 });
    expect(changed.headers.etag).not.toBe(etag);
    expect((await ask('GET', 'stock/rows/2', undefined, { 'if-none-match': etag })).status).toBe(200);
  });

  test.each([[0], [false], ['text'], ['"quoted" ä\n'], [[1, 'a', null]], [{ deep: { a: [] } }]])(
    'may be any document: %j',
    async (row) => {
      database.set('any', row);
      await put('any');
      await ask('POST', 'stock/rows/any/refresh');
      expect((await reads('any', row)).json).toEqual(row);
    },
  );

  test('gets older while the database is down, and says so', async () => {
    database.set('3', { left: 7 });
    await put('3');
    await reads('3', { left: 7 });
    failure = new Error('connection refused');
    await ask('POST', 'stock/rows/3/refresh');
    const stale = await until('a failure', async () => {
      const answer = await ask('GET', 'stock/rows/3');
      return answer.headers['x-refresh-failures'] !== undefined && answer;
    });
    expect([stale.status, stale.json]).toEqual([200, { left: 7 }]);
  });

  test('that was never loaded is a problem of its own, as long as the database is down', async () => {
    failure = new Error('connection refused');
    database.set('4', { left: 1 });
    await put('4');
    const failed = await until('the failure', async () => {
      const answer = await ask('GET', 'stock/rows/4');
      return slugOf(answer) === 'source-failed' && answer;
    });
    expect([failed.status, failed.json]).toEqual([
      502,
      expect.objectContaining({ table: 'stock', id: '4', failures: expect.any(Number) }),
    ]);
    failure = undefined;
    await reads('4', { left: 1 });
  });

  test('that is being loaded for the first time is to be asked for again', async () => {
    // No refresher runs for it.
    const other = await startApi({ CACHE_TABLES: 'stock' });
    await other.send({ method: 'PUT', path: '/v1/cache/stock/rows/1', body: { refreshMs: 100 } });
    const answer = await other.send({ path: '/v1/cache/stock/rows/1' });
    expect([answer.status, slugOf(answer), answer.headers['retry-after']]).toEqual([503, 'not-loaded', '1']);
  });

  test('that the database does not have leaves the schedule', async () => {
    await put('ghost');
    await until('it to be gone', async () => (await stock.inspect('ghost')) === null);
    expect(slugOf(await ask('GET', 'stock/rows/ghost'))).toBe('not-scheduled');
  });

  test('that is gone and asked for again is unknown', async () => {
    await ask('PUT', 'prices/rows/x', { refreshMs: HOUR });
    await until('it to be gone', async () => (await prices.inspect('x'))?.ageMs !== null);
    expect(slugOf(await ask('GET', 'prices/rows/x'))).toBe('unknown-row');
  });

  test('that is taken out is neither there nor scheduled, however often', async () => {
    database.set('5', { left: 1 });
    await put('5');
    await reads('5', { left: 1 });
    for (let time = 0; time < 2; time += 1) expect((await ask('DELETE', 'stock/rows/5')).status).toBe(204);
    for (const [method, path] of [
      ['GET', 'stock/rows/5'],
      ['POST', 'stock/rows/5/refresh'],
    ] as const) {
      const answer = await ask(method, path);
      expect([method, answer.status, slugOf(answer)]).toEqual([method, 404, 'not-scheduled']);
    }
  });
});

describe('tables', () => {
  test('are listed as the settings have them, in numbers', async () => {
    const { status, json } = await ask('GET', '');
    expect([status, json.items.map(({ table }: { table: string }) => table)]).toEqual([
      200,
      ['stock', 'prices'],
    ]);
    const one = await ask('GET', 'stock');
    expect(one.json).toMatchObject({
      table: 'stock',
      scheduled: expect.any(Number),
      lagMs: expect.any(Number),
    });
    expect(one.json.loaded).toBeGreaterThan(0);
  });

  test.each([
    ['GET', 'nothing'],
    ['GET', 'nothing/rows/1'],
    ['PUT', 'nothing/rows/1'],
    ['DELETE', 'nothing/rows/1'],
    ['POST', 'nothing/rows/1/refresh'],
    ['GET', '__proto__'],
  ])('%s %s is unknown', async (method, path) => {
    const answer = await ask(method, path, method === 'PUT' ? { refreshMs: 1_000 } : undefined);
    expect([answer.status, slugOf(answer)]).toEqual([404, 'unknown-table']);
  });
});

describe('a row of bad input', () => {
  test.each([
    {},
    { refreshMs: 0 },
    { refreshMs: 99 },
    { refreshMs: -1 },
    { refreshMs: 1.5 },
    { refreshMs: '1000' },
    { refreshMs: 1e15 },
    { refreshMs: 1_000, everyMs: 1_000 },
  ])('%j is refused and schedules nothing', async (body) => {
    const answer = await ask('PUT', 'stock/rows/bad', body);
    expect([answer.status, slugOf(answer)]).toEqual([400, 'invalid-body']);
    expect(slugOf(await ask('GET', 'stock/rows/bad'))).toBe('not-scheduled');
  });

  test.each(['x'.repeat(1_025), '%2e%2e', '%C3%A9'.repeat(513)])('no row is called %.20s', async (id) => {
    const answer = await ask('GET', `stock/rows/${id}`);
    expect([answer.status, slugOf(answer)]).toEqual([400, 'invalid-id']);
  });
});

const DAY = '2026-11-20';
const { country, region, city, total } = dayKeys(prefix, DAY);
await redis.zadd(country, 5, 'US', 7, 'DE', 1, 'ZZ');
await redis.zadd(region, 5, 'US/California', 4, 'DE/', 3, memberOf('DE', 'a/b%'));
await redis.zadd(city, 5, 'US/California/Oakland', 7, 'DE//', 1, 'ZZ//');
await redis.set(total, 13);
for (let index = 0; index < 300; index += 1)
  await redis.zadd(dayKeys(prefix, '2026-11-19').city, index + 1, `US/R/C${index}`);

const top = async (path: string): Promise<[number, unknown]> => {
  const { status, json } = await api.send({ path: `/v1/aggregates/daily/${path}` });
  return [status, json];
};

describe('GET /v1/aggregates/daily/{dimension}/{day}', () => {
  test.each([
    [
      'country',
      [
        { country: 'DE', count: 7 },
        { country: 'US', count: 5 },
        { country: 'ZZ', count: 1 },
      ],
    ],
    [
      'region',
      [
        { country: 'US', region: 'California', count: 5 },
        { country: 'DE', region: '', count: 4 },
        { country: 'DE', region: 'a/b%', count: 3 },
      ],
    ],
    [
      'city',
      [
        { country: 'DE', region: '', city: '', count: 7 },
        { country: 'US', region: 'California', city: 'Oakland', count: 5 },
        { country: 'ZZ', region: '', city: '', count: 1 },
      ],
    ],
  ])('%s: the most frequent first', async (dimension, items) => {
    expect(await top(`${dimension}/${DAY}`)).toEqual([
      200,
      { day: DAY, dimension, total: 13, places: 3, items },
    ]);
  });

  test('gives as many as are asked for, and 10 when nobody says', async () => {
    const [, some] = await top(`country/${DAY}?limit=1`);
    expect(some).toMatchObject({ total: 13, places: 3, items: [{ country: 'DE' }] });
    const [, usual] = (await top('city/2026-11-19')) as [number, { items: object[]; places: number }];
    expect([usual.items.length, usual.places]).toEqual([10, 300]);
    const [, most] = (await top('city/2026-11-19?limit=200')) as [number, { items: object[] }];
    expect([most.items.length, most.items.at(-1)]).toEqual([
      200,
      { country: 'US', region: 'R', city: 'C100', count: 101 },
    ]);
  });

  test('a day without lines is empty', async () => {
    expect(await top('city/2024-02-29')).toEqual([
      200,
      { day: '2024-02-29', dimension: 'city', total: 0, places: 0, items: [] },
    ]);
  });

  test.each([
    `country/2026-02-29`,
    `country/2026-11-31`,
    `country/2026-1-1`,
    `country/20261120`,
    `country/today`,
    `country/2026-11-20T00:00:00Z`,
    `country/%7D%00${DAY}`,
    `country/+02026-11-20`,
    `continent/${DAY}`,
    `total/${DAY}`,
    `files/${DAY}`,
    `__proto__/${DAY}`,
    `Country/${DAY}`,
    `${'x'.repeat(2_000)}/${DAY}`,
  ])('%.60s is refused', async (path) => {
    const refusal = expect.objectContaining({ type: expect.stringMatching(/\/invalid-id$/) });
    expect(await top(path)).toEqual([400, refusal]);
  });

  const queries = [
    'limit=0',
    'limit=201',
    'limit=-1',
    'limit=1e1',
    'limit=',
    'limit=NaN',
    'limit=1&limit=2',
    'n=5',
  ];
  test.each(queries)('?%s is refused', async (query) => {
    const refusal = expect.objectContaining({ type: expect.stringMatching(/\/invalid-query$/) });
    expect(await top(`country/${DAY}?${query}`)).toEqual([400, refusal]);
  });

  test.each(['0', '201', '1e1'])('?limit=%s is refused with the range', async (limit) => {
    const message = 'must be a whole number from 1 to 200 in decimal digits';
    expect(await top(`country/${DAY}?limit=${limit}`)).toMatchObject([400, { errors: [{ message }] }]);
  });
});

describe('DailyAggregates', () => {
  const aggregates = new DailyAggregates(redis, { prefix });

  test.each([
    ['planet', DAY, 10],
    ['country', 'today', 10],
    ['country', '2026-02-30', 10],
    ['country', DAY, 0],
    ['country', DAY, 201],
    ['country', DAY, Number.NaN],
  ])('refuses %s of %s, %d', async (dimension, day, limit) => {
    await expect(aggregates.top(dimension as 'city', day, { limit })).rejects.toThrow(RangeError);
  });
});

test.each([[['US']], [['US', '']], [['US', 'a/b', '%2F']], [['', '%', '%25/']]])(
  'the member of %j has all its parts',
  (parts) => {
    expect(partsOf(memberOf(...parts))).toEqual(parts);
  },
);
