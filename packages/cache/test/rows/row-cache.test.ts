import { describe, expect, test } from '@jest/globals';
import { Refresher, RowCache } from '@mortise/cache/rows';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { cacheOf, Database, refresh } from '../fixture/tables.js';
import type { Item } from '../fixture/tables.js';

const redis = connect();
const HOUR = { everyMs: 3_600_000 };

/** Names that break keys or scripts where they are not encoded. */
const HOSTILE = [
  '}x',
  '{}',
  '{',
  '%',
  '%7D',
  '\n',
  '\0',
  '😀',
  '\ud83d',
  '\ude00',
  ' ',
  ':',
  'now',
  '0',
  '__proto__',
];

async function isCached(rows: RowCache<Item>, ...ids: string[]): Promise<true> {
  return until('the rows to be cached', async () => (await rows.getMany(ids)).size === ids.length);
}

describe('schedule', () => {
  test('lets a refresher load the row at once', async () => {
    const rows = cacheOf(redis, new Database().put('42'));
    expect(await rows.get('42')).toBeNull();
    await rows.schedule('42', HOUR);
    expect(await rows.stats()).toMatchObject({ scheduled: 1, due: 1, failing: 0 });
    await refresh(redis, rows);
    await isCached(rows, '42');
    expect(await rows.get('42')).toEqual({ name: 'item 42' });
    expect(await rows.stats()).toMatchObject({ scheduled: 1, due: 0, lagMs: 0 });
  });

  test('leaves a row alone that is scheduled so already', async () => {
    const database = new Database().put('42');
    const rows = cacheOf(redis, database);
    await refresh(redis, rows);
    await rows.schedule('42', HOUR);
    await isCached(rows, '42');
    await rows.schedule('42', HOUR);
    expect(await rows.stats()).toMatchObject({ scheduled: 1, due: 0 });
    expect(database.loads).toEqual(['42']);
  });

  test('refreshes at once when the delay is another', async () => {
    const database = new Database().put('42');
    const rows = cacheOf(redis, database);
    await refresh(redis, rows);
    await rows.schedule('42', HOUR);
    await isCached(rows, '42');
    database.items.set('42', { name: 'changed' });
    await rows.schedule('42', { everyMs: 1_800_000 });
    await until('the change', async () => (await rows.get('42'))?.name === 'changed');
    expect(database.loads).toEqual(['42', '42']);
  });

  test.each([0, -1, -1e300])('with everyMs %d takes the row out of cache and schedule', async (everyMs) => {
    const rows = cacheOf(redis, new Database().put('42', '43'));
    await refresh(redis, rows);
    await Promise.all([rows.schedule('42', HOUR), rows.schedule('43', HOUR)]);
    await isCached(rows, '42', '43');
    await rows.schedule('42', { everyMs });
    expect(await rows.get('42')).toBeNull();
    expect(await rows.get('43')).not.toBeNull();
    expect(await rows.stats()).toMatchObject({ scheduled: 1 });
  });

  test('that is refused changes nothing', async () => {
    const rows = cacheOf(redis, new Database());
    await rows.schedule('42', HOUR);
    await expect(rows.scheduleAll(['42'], { everyMs: Number.NaN })).rejects.toThrow(RangeError);
    await expect(rows.schedule('42', { everyMs: Number.NaN })).rejects.toThrow(
      'everyMs must be at most 315360000000 ms, 0 or less to remove the row, got NaN',
    );
    expect(await rows.stats()).toMatchObject({ scheduled: 1 });
  });

  test('takes effect in the order of the calls of a tick, beyond one script call', async () => {
    const rows = cacheOf(redis, new Database());
    const ids = Array.from({ length: 600 }, (_, index) => `row ${index}`);
    const results = await Promise.all([
      ...ids.map((id) => rows.schedule(id, HOUR)),
      rows.unschedule('row 0'),
      rows.refresh('row 0'),
      rows.refresh('row 1'),
      rows.unschedule('row 0'),
    ]);
    expect(results.slice(600)).toEqual([true, false, true, false]);
    expect(await rows.stats()).toMatchObject({ scheduled: 599, due: 599 });
  });
});

describe('unschedule', () => {
  test('says whether the row was scheduled, and removes its value', async () => {
    const rows = cacheOf(redis, new Database().put('42'));
    await refresh(redis, rows);
    expect(await rows.unschedule('42')).toBe(false);
    await rows.schedule('42', HOUR);
    await isCached(rows, '42');
    expect(await rows.unschedule('42')).toBe(true);
    expect(await rows.get('42')).toBeNull();
    expect(await rows.unschedule('42')).toBe(false);
  });
});

describe('refresh', () => {
  test('loads a scheduled row now, and no other', async () => {
    const database = new Database().put('42');
    const rows = cacheOf(redis, database);
    await refresh(redis, rows);
    await rows.schedule('42', HOUR);
    await isCached(rows, '42');
    database.items.set('42', { name: 'changed' });
    expect(await rows.refresh('42')).toBe(true);
    expect(await rows.refresh('43')).toBe(false);
    await until('the change', async () => (await rows.get('42'))?.name === 'changed');
    expect(await rows.stats()).toMatchObject({ scheduled: 1 });
  });
});

describe('get and getMany', () => {
  test('answer with what is there', async () => {
    const rows = cacheOf(redis, new Database().put('1', '2', '3'));
    await refresh(redis, rows);
    await rows.scheduleAll(['1', '2', '3'], HOUR);
    await isCached(rows, '1', '2', '3');
    expect(await rows.getMany(['3', 'x', '1', '3'])).toEqual(
      new Map([
        ['3', { name: 'item 3' }],
        ['1', { name: 'item 1' }],
      ]),
    );
    expect(await rows.getMany([])).toEqual(new Map());
  });

  test('count hits and misses', async () => {
    const rows = cacheOf(redis, new Database().put('1'));
    await refresh(redis, rows);
    await rows.schedule('1', HOUR);
    await isCached(rows, '1');
    const before = await rows.stats();
    await rows.getMany(['1', '2', '3']);
    await rows.get('1');
    await rows.inspect('1');
    await rows.inspect('2');
    const { hits, misses } = await rows.stats();
    expect([hits - before.hits, misses - before.misses]).toEqual([3, 3]);
  });

  test('take a value of another version for absent', async () => {
    const prefix = freshPrefix();
    const rows = cacheOf(redis, new Database(), { prefix });
    await redis.set(`${prefix}:cache:{items}:row:42`, '3{"name":"x"}', 'PX', 60_000);
    expect(await rows.get('42')).toBeNull();
  });
});

describe('any name', () => {
  test('is a row of its own', async () => {
    const database = new Database().put(...HOSTILE);
    const rows = cacheOf(redis, database);
    await refresh(redis, rows);
    await Promise.all(HOSTILE.map((id) => rows.schedule(id, HOUR)));
    await isCached(rows, ...HOSTILE);
    expect(database.loads.toSorted()).toEqual(HOSTILE.toSorted());
    for (const id of HOSTILE) expect(await rows.get(id)).toEqual({ name: `item ${id}` });
  });

  test('is a table of its own', async () => {
    const prefix = freshPrefix();
    for (const table of HOSTILE) {
      const rows = new RowCache(redis, table, { prefix, load: async () => new Map() });
      expect(await rows.stats()).toMatchObject({ scheduled: 0 });
      await rows.schedule('1', HOUR);
      expect(rows.table).toBe(table);
    }
  });
});

test('a RowCache without a loader schedules and reads rows that others load, and no refresher takes it', async () => {
  const prefix = freshPrefix();
  const reader = new RowCache<Item>(redis, 'items', { prefix });
  expect(() => new Refresher(redis, [reader])).toThrow(
    new TypeError('table "items" has no load, which a refresher needs'),
  );
  await reader.schedule('42', HOUR);
  await refresh(redis, cacheOf(redis, new Database().put('42'), { prefix }));
  await isCached(reader, '42');
  expect(await reader.get('42')).toEqual({ name: 'item 42' });
});
