import { describe, expect, test } from '@jest/globals';
import type { Codec } from '@mortise/cache/rows';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { jsonCodec } from '../../src/codec.js';
import { tableOf } from '../../src/rows/refreshed-table.js';
import { cacheOf, Database, refresh } from '../fixture/tables.js';
import type { Item } from '../fixture/tables.js';

const redis = connect();
const HOUR = { everyMs: 3_600_000 };

describe('inspect', () => {
  test('tells the age of a row, also of one that has not changed, and when it is due', async () => {
    const database = new Database().put('42');
    const rows = cacheOf(redis, database);
    expect(await rows.inspect('42')).toBeNull();
    await rows.schedule('42', HOUR);
    expect(await rows.inspect('42')).toEqual({
      row: null,
      etag: null,
      ageMs: null,
      everyMs: HOUR.everyMs,
      nextInMs: 0,
      failures: 0,
      lastError: null,
    });
    await refresh(redis, rows);
    await until('the row', async () => (await rows.get('42')) !== null);
    const first = await until('an age', async () => {
      const state = await rows.inspect('42');
      return state !== null && state.row !== null && state.ageMs! >= 50 && state;
    });
    expect(first.nextInMs).toBeGreaterThan(HOUR.everyMs - 60_000);
    await rows.refresh('42');
    const second = await until('the refresh', async () => {
      const state = await rows.inspect('42');
      return state !== null && state.nextInMs! > 0 && state;
    });
    expect(second.ageMs).toBeLessThan(first.ageMs! + HOUR.everyMs - second.nextInMs!);
    expect(second.etag).toBe(first.etag);
    database.items.set('42', { name: 'changed' });
    await rows.refresh('42');
    await until('the change', async () => (await rows.inspect('42'))?.etag !== first.etag);
  });

  test('counts failures, and the age grows on', async () => {
    const database = new Database().put('42');
    const rows = cacheOf(redis, database);
    await refresh(redis, rows, { backoff: { delayMs: 10, maxDelayMs: 10 } });
    await rows.schedule('42', HOUR);
    await until('the row', async () => (await rows.get('42')) !== null);
    database.failure = new Error('unavailable');
    await rows.refresh('42');
    await until('failures', () => database.loads.length >= 4);
    const state = await rows.inspect('42');
    expect(state).toMatchObject({ row: { name: 'item 42' }, everyMs: HOUR.everyMs });
    expect(state!.failures).toBeGreaterThanOrEqual(2);
  });
});

describe('a row that goes missing, with tombstones', () => {
  const options = { missing: 'tombstone' } as const;

  test('leaves the cache, is asked for again, and comes back', async () => {
    const database = new Database().put('42');
    const rows = cacheOf(redis, database, options);
    await refresh(redis, rows);
    await rows.schedule('42', { everyMs: 100 });
    await until('the row', async () => (await rows.get('42')) !== null);
    database.items.delete('42');
    await until('the row to be gone', async () => (await rows.get('42')) === null);
    expect(await rows.stats()).toMatchObject({ scheduled: 1, loaded: 1, failing: 0 });
    expect(await rows.inspect('42')).toMatchObject({ row: null, etag: null, everyMs: 100 });
    database.put('42');
    await until('the row', async () => (await rows.get('42')) !== null);
  });

  test('is taken out when it stays gone', async () => {
    const rows = cacheOf(redis, new Database(), { ...options, tombstoneMs: 300 });
    await refresh(redis, rows);
    await rows.schedule('42', { everyMs: 50 });
    await until('its tombstone', async () => (await rows.stats()).loaded === 1);
    await until('the end', async () => (await rows.stats()).scheduled === 0);
    expect(await rows.inspect('42')).toBeNull();
  });
});

describe('a codec', () => {
  const bytes: Codec<Item> = {
    encode: ({ name }) => Buffer.from([0, 255, ...Buffer.from(name)]),
    decode: (buffer) => ({ name: buffer.toString('utf8', 2) }),
  };

  test('may give bytes', async () => {
    const rows = cacheOf(redis, new Database().put('42'), { codec: bytes });
    await refresh(redis, rows);
    await rows.schedule('42', HOUR);
    await until('the row', async () => (await rows.get('42')) !== null);
    expect(await rows.get('42')).toEqual({ name: 'item 42' });
  });

  test.each([
    ['throws', 'item 2'],
    ['gets a value that would read as gone', Number.NaN],
  ])('that %s fails its row alone', async (_, bad) => {
    const database = new Database().put('1');
    database.items.set('2', { name: bad as string });
    const codec: Codec<Item> = {
      ...bytes,
      encode: ({ name }) => {
        if (name === 'item 2') throw new TypeError('no');
        return jsonCodec.encode(name);
      },
    };
    const rows = cacheOf(redis, database, { codec });
    const { errors } = await refresh(redis, rows, { backoff: { delayMs: 60_000 } });
    await rows.scheduleAll(['1', '2'], HOUR);
    await until('the row', async () => (await rows.get('1')) !== null);
    await until('the failure', async () => (await rows.stats()).failing === 1);
    expect(await rows.stats()).toMatchObject({ scheduled: 2, loaded: 1, shardsDown: 0 });
    expect(errors).toMatchObject([{ code: 'ERR_ROW_LOAD', ids: ['2'], cause: expect.any(TypeError) }]);
    expect((await rows.inspect('2'))?.failures).toBeGreaterThan(0);
  });
});

test('rows of another version read as absent until they are loaded again', async () => {
  const prefix = freshPrefix();
  const database = new Database().put('42');
  const old = cacheOf(redis, database, { prefix, version: 1 });
  const { refresher } = await refresh(redis, old);
  await old.schedule('42', HOUR);
  await until('the row', async () => (await old.get('42')) !== null);
  await refresher.stop();
  const rows = cacheOf(redis, database, { prefix, version: 2 });
  expect(await rows.get('42')).toBeNull();
  expect(await rows.inspect('42')).toMatchObject({ row: null, etag: null });
  await refresh(redis, rows);
  await rows.refresh('42');
  await until('the row', async () => (await rows.get('42')) !== null);
  expect(await old.get('42')).toBeNull();
});

describe('scheduleAll', () => {
  test('schedules what an iterable gives; stats tell how far the first fill is', async () => {
    const ids = Array.from({ length: 2_750 }, (_, index) => `row ${index}`);
    const rows = cacheOf(redis, new Database().put(...ids));
    async function* cursor(): AsyncGenerator<string> {
      yield* ids;
    }
    expect(await rows.scheduleAll(cursor(), HOUR)).toBe(2_750);
    expect(await rows.stats()).toMatchObject({ scheduled: 2_750, loaded: 0, due: 2_750 });
    await refresh(redis, rows);
    await until('all rows', async () => (await rows.stats()).loaded === 2_750);
    expect(await rows.scheduleAll(ids, { everyMs: 0 })).toBe(2_750);
    expect(await rows.stats()).toMatchObject({ scheduled: 0, loaded: 0 });
  });

  test('ends with its signal, and with an id that is none', async () => {
    const rows = cacheOf(redis, new Database());
    const controller = new AbortController();
    function* endless(): Generator<string> {
      for (let index = 0; ; index += 1) {
        if (index === 1_200) controller.abort(new Error('enough'));
        yield `row ${index}`;
      }
    }
    const ended = rows.scheduleAll(endless(), { ...HOUR, signal: controller.signal });
    await expect(ended).rejects.toThrow('enough');
    await expect(rows.scheduleAll(['1', ''], HOUR)).rejects.toThrow(RangeError);
  });
});

describe('shards', () => {
  test('spread the rows, and are refreshed together within the concurrency', async () => {
    const ids = Array.from({ length: 200 }, (_, index) => `row ${index}`);
    const database = new Database().put(...ids);
    let running = 0;
    let most = 0;
    const load: Database['load'] = async (asked, signal) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running -= 1;
      return database.load(asked, signal);
    };
    const rows = cacheOf(redis, { load }, { shards: 8 });
    await rows.scheduleAll(ids, HOUR);
    await refresh(redis, rows, { concurrency: 2 });
    await until('all rows', async () => (await rows.getMany(ids)).size === 200);
    await until('the counts', async () => (await rows.stats()).loaded === 200);
    const { keys } = tableOf(rows);
    const sizes = await Promise.all(keys.shards.map(({ rows: states }) => redis.hlen(states)));
    expect(sizes).toHaveLength(8);
    expect(Math.min(...sizes)).toBeGreaterThan(0);
    expect(new Set(keys.shards.map(({ due }) => /\{.*\}/.exec(due)![0])).size).toBe(8);
    expect(most).toBeLessThanOrEqual(2);
    expect(database.loads).toHaveLength(200);
    await rows.unschedule('row 7');
    expect(await rows.get('row 7')).toBeNull();
    expect(await rows.stats()).toMatchObject({ scheduled: 199, loaded: 199, due: 0 });
  });
});
