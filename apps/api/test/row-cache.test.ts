/** Rows of a database over HTTP: the API schedules and reads, a refresher beside it loads. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Refresher, RowCache } from '@mortise/cache/rows';
import { connect, freshPrefix, until } from '@mortise/test-kit';

import type { Answer, Api } from './fixture/api.js';
import { startApi } from './fixture/api.js';

const HOUR = 3_600_000;
const redis = connect();
const prefix = freshPrefix();
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
let refresher: Refresher;
let api: Api;

beforeAll(async () => {
  api = await startApi({ MORTISE_PREFIX: prefix, CACHE_TABLES: 'stock,prices:sku' });
  refresher = new Refresher(redis, [stock, prices], {
    backoff: { delayMs: 10, maxDelayMs: 20 },
    onError: () => undefined,
  });
  await refresher.start();
});
afterEach(() => {
  failure = undefined;
});
afterAll(async () => {
  await refresher.stop();
  await api.app.close();
});

const ask = (
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Answer> =>
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
    const other = await startApi({ MORTISE_PREFIX: freshPrefix(), CACHE_TABLES: 'stock' });
    await other.send({ method: 'PUT', path: '/v1/cache/stock/rows/1', body: { refreshMs: 100 } });
    const answer = await other.send({ path: '/v1/cache/stock/rows/1' });
    await other.app.close();
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

describe('bad input', () => {
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

  test.each(['%00', 'a%20b', '%7Ba%7D', 'x'.repeat(129), '%2e%2e', '%F0%9F%98%80'])(
    'no row is called %.20s',
    async (id) => {
      const answer = await ask('GET', `stock/rows/${id}`);
      expect([answer.status, slugOf(answer)]).toEqual([400, 'invalid-id']);
    },
  );
});
