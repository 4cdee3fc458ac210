/** Pages of a schedule, and the error of a row whose load failed. */
import { describe, expect, test } from '@jest/globals';
import type { ListedRow, ListRowsOptions, RowCache } from '@mortise/cache/rows';
import { connect, until } from '@mortise/test-kit';

import { errorText } from '../../src/rows/error-text.js';
import { cacheOf, Database, keysOf, refresh } from '../fixture/tables.js';
import type { Item } from '../fixture/tables.js';

const redis = connect();
const HOUR = { everyMs: 3_600_000 };
const HOSTILE = ['}x', '%', '\0', '😀', '__proto__', '@a 5', ' '];

/** All pages. */
async function listed(rows: RowCache<Item>, options: ListRowsOptions = {}): Promise<Map<string, ListedRow>> {
  const found = new Map<string, ListedRow>();
  let cursor: string | null | undefined;
  do {
    const page = await rows.list({ ...options, ...(cursor && { cursor }) });
    for (const row of page.rows) found.set(row.id, row);
    ({ cursor } = page);
  } while (cursor !== null);
  return found;
}

/** A table whose rows fail that begin with `bad`. */
function partlyBad(): { database: Database; load: Database['load'] } {
  const database = new Database();
  const load: Database['load'] = async (ids, signal) => {
    const bad = ids.find((id) => id.startsWith('bad'));
    if (bad !== undefined) throw new Error(`${bad} is locked`);
    return database.load(ids, signal);
  };
  return { database, load };
}

describe('list', () => {
  test('of a table without rows is one empty page', async () => {
    expect(await cacheOf(redis, new Database()).list()).toEqual({ rows: [], cursor: null });
  });

  test('has each row once it is scheduled, with its interval, its age and its lag, and hostile ids', async () => {
    const database = new Database().put('a', ...HOSTILE);
    const rows = cacheOf(redis, database);
    await rows.schedule('a', { everyMs: 60_000 });
    const before = (await listed(rows)).get('a');
    expect(before).toEqual({
      id: 'a',
      everyMs: 60_000,
      ageMs: null,
      nextInMs: 0,
      lagMs: expect.any(Number),
      failures: 0,
      lastError: null,
    });
    await until('a lag', async () => (await listed(rows)).get('a')!.lagMs > 20);
    for (const id of HOSTILE) await rows.schedule(id, HOUR);
    await refresh(redis, rows);
    await until('all', async () => (await rows.stats()).loaded === 1 + HOSTILE.length);
    const found = await listed(rows, { limit: 1 });
    expect([...found.keys()].toSorted()).toEqual(['a', ...HOSTILE].toSorted());
    for (const row of found.values()) expect(row).toMatchObject({ lagMs: 0, failures: 0, lastError: null });
    for (const id of ['a', '}x']) {
      const { ageMs, everyMs, nextInMs } = (await rows.inspect(id))!;
      const row = found.get(id)!;
      expect(row.everyMs).toBe(everyMs);
      expect(Math.abs(row.ageMs! - ageMs!)).toBeLessThan(10_000);
      expect(Math.abs(row.nextInMs - nextInMs!)).toBeLessThan(10_000);
    }
  });

  test('has the rows of packs, and of all shards, in pages', async () => {
    const ids = Array.from({ length: 1_500 }, (_, index) => `row-${index}`);
    const rows = cacheOf(redis, new Database().put(...ids), { shards: 3 });
    await rows.scheduleAll(ids, HOUR);
    await refresh(redis, rows);
    await until('all', async () => (await rows.stats()).loaded === ids.length);
    expect(await redis.zcard(keysOf(rows).packs)).toBeGreaterThan(0);
    const page = await rows.list({ limit: 10 });
    expect(page.rows.length).toBeLessThan(600);
    const found = await listed(rows, { limit: 200 });
    expect(found.size).toBe(ids.length);
    for (const row of found.values()) {
      expect(row).toMatchObject({ ...HOUR, lagMs: 0 });
      expect(row.ageMs).not.toBeNull();
      expect(row.nextInMs).toBeGreaterThan(1_000_000);
    }
  });

  test('writes nothing', async () => {
    const rows = cacheOf(redis, new Database());
    await rows.schedule('a', HOUR);
    const { rows: key } = keysOf(rows);
    await redis.pexpire(key, 60_000);
    await rows.list();
    expect(await redis.pttl(key)).toBeLessThanOrEqual(60_000);
    expect((await rows.stats()).misses).toBe(0);
  });

  test.each<[object, string]>([
    [{ limit: 0 }, 'limit'],
    [{ limit: 1_001 }, 'limit'],
    [{ failing: 1 }, 'failing'],
    [{ cursor: '' }, 'cursor'],
    [{ cursor: 'x' }, 'cursor'],
    [{ cursor: '1-0' }, 'cursor'],
    [{ cursor: '0-18446744073709551616' }, 'cursor'],
    [{ cursor: 5 }, 'cursor'],
    [{ match: '*' }, 'match'],
  ])('refuses %j', async (options, name) => {
    await expect(cacheOf(redis, new Database()).list(options as never)).rejects.toThrow(name);
  });
});

describe('the last error of a row', () => {
  test('is kept while its loads fail, and only its own', async () => {
    const { database, load } = partlyBad();
    database.put('good', 'bad-1');
    const rows = cacheOf(redis, { load });
    for (const id of ['good', 'bad-1', 'bad-2']) await rows.schedule(id, HOUR);
    await refresh(redis, rows, { backoff: { type: 'fixed', delayMs: 60_000, jitter: 0 } });
    await until('both to fail', async () => (await rows.stats()).failing === 2);
    expect(await rows.inspect('bad-1')).toMatchObject({ failures: 1, lastError: 'bad-1 is locked' });
    expect(await rows.inspect('good')).toMatchObject({ failures: 0, lastError: null });
    const found = await listed(rows, { failing: true });
    expect(found.size).toBe(2);
    for (const [id, { lastError }] of found) expect(lastError).toBe(`${id} is locked`);
    expect((await listed(rows)).size).toBe(3);
    const { errors } = keysOf(rows);
    expect(await redis.hlen(errors)).toBe(2);
    await rows.unschedule('bad-2');
    expect(await redis.hkeys(errors)).toEqual(['bad-1']);
  });

  test('goes away with the next load that succeeds', async () => {
    const database = new Database().put('a', 'b');
    const rows = cacheOf(redis, database);
    database.failure = new Error('the server has gone away');
    await rows.schedule('a', HOUR);
    await refresh(redis, rows, { backoff: { type: 'fixed', delayMs: 20, jitter: 0 } });
    await until('a failure', async () => (await rows.inspect('a'))!.failures > 0);
    expect((await rows.inspect('a'))!.lastError).toBe('the server has gone away');
    database.failure = undefined;
    await until('a load', async () => (await rows.inspect('a'))!.row !== null);
    expect(await rows.inspect('a')).toMatchObject({ failures: 0, lastError: null });
    expect(await redis.exists(keysOf(rows).errors)).toBe(0);
  });

  test('has at most 200 characters, and is one of any value', () => {
    expect(errorText(new Error('x'.repeat(500)))).toBe('x'.repeat(200));
    expect(errorText(new Error(`${'x'.repeat(199)}😀`))).toBe(`${'x'.repeat(199)}\uFFFD`);
    expect(errorText(new RangeError(''))).toBe('RangeError');
    expect(errorText('text')).toBe('text');
    expect(errorText(null)).toBe('null');
    expect(errorText({ code: 5 })).toBe('{ code: 5 }');
    const odd = Object.defineProperty(new Error('odd'), 'message', { get: () => Symbol('odd') });
    expect(errorText(odd)).toBe('an error that cannot be shown');
    expect(errorText(undefined)).toBe('');
  });
});
