import { describe, expect, jest, test } from '@jest/globals';
import { connect, freshPrefix, transcript, until } from '@mortise/test-kit';
import type { RowCache, RowCacheOptions } from '@mortise/cache/rows';
import type { ShardKeys } from '../../src/rows/keys.js';
import type { Committed, RowLeases } from '../../src/rows/row-leases.js';
import { DEFAULTS } from '../../src/rows/options.js';
import type { ResolvedRefresherOptions } from '../../src/rows/options.js';
import { jsonCodec } from '../../src/codec.js';
import type { Codec } from '../../src/codec.js';
import { RowCodec } from '../../src/rows/row-codec.js';
import type { EncodedRow } from '../../src/rows/row-codec.js';
import * as scripts from '../../src/scripts.gen.js';
import { all, cacheOf, Database, keysOf, leasesOf, shiftLease } from '../fixture/tables.js';
import type { Item } from '../fixture/tables.js';

const redis = connect();
const HOUR = { everyMs: 3_600_000 };

/** A row as it is stored. */
function stored(row: string): EncodedRow {
  return new RowCodec<string>(jsonCodec as Codec<string>, 0).encode(row, '1700000000000');
}

/** A table that no refresher loads. `store` leases the rows that are due and commits them with one value. */
function table(
  options: Partial<ResolvedRefresherOptions> = {},
  rowOptions: Partial<RowCacheOptions<Item>> = {},
): {
  rows: RowCache<Item>;
  leases: RowLeases;
  keys: ShardKeys;
  store: (value: string) => Promise<Committed>;
} {
  const rows = cacheOf(redis, new Database(), rowOptions);
  const leases = leasesOf(redis, rows, options);
  const store = async (value: string): Promise<Committed> => {
    const leased = await leases.lease();
    return leases.commit(leased, all(leased.ids, stored(value)));
  };
  return { rows, leases, keys: keysOf(rows), store };
}

/** As if the row had been confirmed so much earlier. */
async function confirmedEarlier(rows: RowCache<Item>, id: string, ms: number): Promise<void> {
  const { rows: states } = keysOf(rows);
  const state = (await redis.hget(states, id))!;
  await redis.hset(states, id, String(Number(state.slice(0, 13)) - ms) + state.slice(13));
}

describe('a lease', () => {
  test('gives each due row to one, and says when the next is due', async () => {
    const { rows, leases } = table({ batch: 2 });
    expect(await leases.lease()).toMatchObject({ lease: '', ids: [], nextInMs: Infinity });
    await rows.scheduleAll(['1', '2', '3'], HOUR);
    const first = await leases.lease();
    expect(first.ids).toEqual(['1', '2']);
    expect(first.nextInMs).toBe(0);
    const second = await leases.lease();
    expect(second.ids).toEqual(['3']);
    expect(second.nextInMs).toBeGreaterThan(10_000);
    expect(second.nextInMs).toBeLessThanOrEqual(30_001);
    expect((await leases.lease()).ids).toEqual([]);
  });

  test('gives a row again when its lease has ended, and the result of the old lease is refused', async () => {
    const { rows, leases } = table({ leaseMs: 500 });
    await rows.schedule('42', HOUR);
    const old = await leases.lease();
    const current = await until('the lease to end', async () => {
      const leased = await leases.lease();
      return leased.ids.length > 0 && leased;
    });
    expect(Number(current.lease)).toBeGreaterThan(Number(old.lease));

    await leases.commit(old, all(['42'], stored('old')));
    await leases.commit(old, all(['42'], 'missing'));
    await leases.commit(old, all(['42'], 'failed'));
    expect(await rows.get('42')).toBeNull();
    expect(await rows.stats()).toMatchObject({ scheduled: 1, failing: 0 });

    await leases.commit(current, all(['42'], stored('new')));
    await leases.commit(current, all(['42'], stored('again')));
    expect(await rows.get('42')).toBe('new');
  });

  test('is followed by another even if the clock stands still or runs back', async () => {
    const { rows, leases, keys } = table();
    const { latest: leaseKey } = keys;
    await rows.schedule('42', HOUR);
    const first = await leases.lease();
    // As a lease by a master whose clock was a minute ahead.
    const ahead = (Number(first.lease) + 60_000).toFixed(1);
    await redis.set(leaseKey, `${ahead} 1700000000000`);
    await rows.refresh('42');
    const second = await leases.lease();
    expect(Number(second.lease)).toBe(Number(ahead) + 1);
  });
});

describe('a clock that went back', () => {
  test('leaves no row waiting for the time at which it would have been due', async () => {
    const { rows, leases, keys, store } = table();
    const { due, latest: leaseKey } = keys;
    const ids = ['1', '2', 'a day'];
    await Promise.all(ids.map((id) => rows.schedule(id, { everyMs: id === 'a day' ? 86_400_000 : 1_000 })));
    await store('x');
    const aheadMs = 3_600_000;
    for (const id of ['1', '2']) await redis.zincrby(due, aheadMs, id);
    const end = Number((await redis.get(leaseKey))!.split(' ')[0]);
    await shiftLease(redis, keys, aheadMs);
    const leased = await leases.lease();
    expect(leased.ids).toEqual(['1', '2']);
    expect(Number(leased.lease)).toBeGreaterThan(end + aheadMs);
    await leases.commit(leased, all(leased.ids, stored('y')));
    const scores = (await redis.zmscore(due, '1', '2')).map(Number);
    for (const score of scores) expect(score - Number(leased.leasedAt)).toBeLessThanOrEqual(60_000);
  });

  /** Rows of a lease each, with how many leases it takes until all are there. Each is committed. */
  async function leaseAll(
    leases: RowLeases,
    ids: ReadonlySet<string>,
  ): Promise<{ leases: number; others: string[] }> {
    const missing = new Set(ids);
    const others: string[] = [];
    for (let count = 1; count <= 60; count += 1) {
      const leased = await leases.lease();
      for (const id of leased.ids) if (!missing.delete(id) && !ids.has(id)) others.push(id);
      await leases.commit(leased, all(leased.ids, stored('y')));
      if (missing.size === 0) return { leases: count, others };
    }
    throw new Error(`never leased: ${[...missing].join(', ')}`);
  }

  test.each([
    ['rows on their own', 5, 600_000],
    ['rows on their own, an hour and more', 5, 4_000_000],
    ['packs', 8, 600_000],
  ])('leaves none of %s waiting, also beside rows that are due', async (_, batch, aheadMs) => {
    const { rows, leases, keys } = table({ batch });
    const ids = Array.from({ length: 40 }, (_each, index) => `row ${index}`);
    await rows.scheduleAll(ids, { everyMs: 10_000 });
    await leaseAll(leases, new Set(ids));
    for (const set of [keys.due, keys.packs])
      for (const member of await redis.zrange(set, '0', '-1')) await redis.zincrby(set, aheadMs, member);
    await shiftLease(redis, keys, aheadMs);
    await rows.scheduleAll(['a', 'b'], HOUR);
    const found = await leaseAll(leases, new Set([...ids, 'a', 'b']));
    // With as many looked at in each.
    expect(found.leases).toBeLessThanOrEqual(24);
    const planned = await Promise.all([
      redis.zmscore(keys.due, ...ids),
      ...(await redis.zrange(keys.packs, '0', '-1')).map((pack) => redis.zmscore(keys.packs, pack)),
    ]);
    const scores = planned.flat().filter((score) => score !== null);
    expect(Math.max(...scores.map(Number)) - Date.now()).toBeLessThanOrEqual(11_000);
    // The search ends.
    for (let count = 0; count < 60 && (await leases.lease()).nextInMs === 0; count += 1);
    expect((await leases.lease()).nextInMs).toBeGreaterThan(0);
  });

  test('is noticed although no lease knows of it, after rows that are due at one time', async () => {
    const { rows, leases, keys } = table({ batch: 2 });
    const { due, latest: leaseKey } = keys;
    const far = Array.from({ length: 9 }, (_, index) => `far ${index}`);
    const near = ['1', '2', '3', '4'];
    await rows.scheduleAll(far, { everyMs: 86_400_000 });
    await rows.scheduleAll(near, { everyMs: 1_000 });
    await leaseAll(leases, new Set([...far, ...near]));
    const now = Date.now();
    for (const id of far) await redis.zadd(due, now + 500_000, id);
    for (const id of near) await redis.zadd(due, now + 600_000, id);
    await redis.zadd(due, 'XX', now + 500_000, 'far 1', now + 600_000, '1');
    const [end, begin] = (await redis.get(leaseKey))!.split(' ') as [string, string];
    // Rows were last looked at long ago.
    await redis.set(leaseKey, `${end} ${begin} 0 0 0/0 0/0 0`);
    expect(await leaseAll(leases, new Set(near))).toMatchObject({ others: [] });
  });

  test('ends the leases of before, and none of those that are given since', async () => {
    const { rows, leases, keys } = table({ batch: 1 });
    await rows.scheduleAll(['1', '2'], { everyMs: 1_000 });
    const old = await leases.lease();
    const aheadMs = 10 * 3_600_000;
    await redis.zincrby(keys.due, aheadMs, old.ids[0]!);
    await shiftLease(redis, keys, aheadMs);
    const given = [];
    for (let count = 0; count < 10; count += 1) given.push(...(await leases.lease()).ids);
    expect(given.toSorted()).toEqual(['1', '2']);
  });

  test('tries a row that failed after the longest pause', async () => {
    const { rows, leases, keys } = table({ backoff: { ...DEFAULTS.backoff, maxDelayMs: 5_000 } });
    await rows.schedule('42', { everyMs: 1_000 });
    await leases.commit(await leases.lease(), all(['42'], 'failed'));
    await redis.zincrby(keys.failed, 600_000, '42');
    await shiftLease(redis, keys, 600_000);
    const { ids, leasedAt } = await leases.lease();
    expect(ids).toEqual([]);
    expect(Number(await redis.zscore(keys.failed, '42')) - Number(leasedAt)).toBe(5_000);
  });
});

describe('a commit', () => {
  test('stores more than a MiB in several scripts', async () => {
    const ids = Array.from({ length: 5 }, (_, index) => `row ${index}`);
    const { rows, leases } = table();
    await rows.scheduleAll(ids, HOUR);
    const value = stored('x'.repeat(600_000));
    const leased = await leases.lease();
    const calls = jest.spyOn(redis, 'call');
    const { nextInMs } = await leases.commit(leased, all(ids, value));
    expect(calls.mock.calls.filter(([command]) => command === 'evalsha')).toHaveLength(3);
    calls.mockRestore();
    expect(nextInMs).toBeGreaterThan(HOUR.everyMs - 60_000);
    expect((await rows.getMany(ids)).size).toBe(5);
    expect(await rows.stats()).toMatchObject({ scheduled: 5, due: 0 });
  });

  test('keeps the step of a batch that is on time, and drops the beats that one has missed', async () => {
    const { rows, keys, store } = table({ batch: 1 });
    const { due } = keys;
    await rows.scheduleAll(['on time', 'late'], { everyMs: 10_000 });
    const now = Number(await redis.zscore(due, 'on time'));
    await redis.zadd(due, now - 3_000, 'on time', now - 400_000, 'late');
    for (let batch = 0; batch < 2; batch += 1) await store('x');
    const [onTime, late] = (await redis.zmscore(due, 'on time', 'late')).map(Number);
    expect(onTime).toBe(now + 7_000);
    expect(late! - now).toBeGreaterThanOrEqual(10_000);
    expect(late! - now).toBeLessThan(60_000);
  });

  test('makes no row due later because the lease was long on its way', async () => {
    const { rows, leases, keys } = table();
    await rows.schedule('42', { everyMs: 1_000 });
    const [call, now] = [redis.call.bind(redis), performance.now.bind(performance)];
    // As if the process froze before it sent the lease, or lost its connection: its clock runs on.
    let frozenMs = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + frozenMs);
    const send = jest.spyOn(redis, 'call').mockImplementationOnce((...args: Parameters<typeof call>) => {
      frozenMs = 5_000;
      return call(...args);
    });
    const leased = await leases.lease();
    send.mockRestore();
    await leases.commit(leased, all(['42'], stored('x')));
    clock.mockRestore();
    const dueAt = Number(await redis.zscore(keys.due, '42'));
    expect(dueAt - Number(leased.leasedAt)).toBeLessThan(4_000);
  });

  test('does not send or touch a value that has not changed, but notes that it was loaded', async () => {
    const prefix = freshPrefix();
    const { rows, keys, store } = table({}, { prefix });
    await rows.schedule('42', HOUR);
    expect(await store('x')).toMatchObject({ unchanged: 0 });
    const { rows: states } = keys;
    const row = keys.row('42');
    const [value, state] = [await redis.get(row), await redis.hget(states, '42')];
    await rows.refresh('42');
    const lines = await transcript(redis, { prefix, scripts }, async () => {
      expect(await store('x')).toMatchObject({ held: 1, unchanged: 1 });
    });
    // Once in 16 s it is looked for.
    const touches = lines.filter((line) => line.endsWith(':row:42') && line.startsWith(' '));
    expect(touches.filter((line) => !line.startsWith('  exists '))).toEqual([]);
    expect(await redis.get(row)).toBe(value);
    const confirmed = await redis.hget(states, '42');
    expect(Number(confirmed!.slice(0, 13))).toBeGreaterThanOrEqual(Number(state!.slice(0, 13)));
    expect(confirmed!.slice(13)).toBe(state!.slice(13));
    await rows.refresh('42');
    expect(await store('y')).toMatchObject({ unchanged: 0 });
    expect(await rows.get('42')).toBe('y');
  });

  test('loads a value again that has not changed, but was lost, when it has not been looked for in 16 s', async () => {
    const { rows, keys, store } = table();
    await rows.scheduleAll(['1', '2', '3'], HOUR);
    await store('x');
    await redis.del(keys.row('2'));
    for (const id of ['1', '2', '3']) await confirmedEarlier(rows, id, 16_000);
    await redis.zadd(keys.due, 1, '1', 1, '2', 1, '3');
    expect((await store('x')).nextInMs).toBe(0);
    expect(await rows.get('2')).toBeNull();
    expect((await store('x')).nextInMs).toBeGreaterThan(1_000_000);
    expect((await rows.getMany(['1', '2', '3'])).size).toBe(3);
  });

  test('stores a value that has not changed, but was lost before refresh was called', async () => {
    const { rows, keys, store } = table();
    await rows.schedule('42', HOUR);
    await store('x');
    await redis.del(keys.row('42'));
    await rows.refresh('42');
    await store('x');
    expect(await rows.get('42')).toBe('x');
  });

  test('stores a value again that has not changed for half the time it is kept', async () => {
    const { rows, store } = table({}, { keepMs: 60_000 });
    await rows.schedule('42', { everyMs: 1_000 });
    await store('x');
    await confirmedEarlier(rows, '42', 30_000);
    await rows.refresh('42');
    expect(await store('x')).toMatchObject({ held: 1, unchanged: 0 });
  });

  test('puts the expiry of a value that changes off once in half the time it is kept', async () => {
    const { rows, leases, keys, store } = table({}, { keepMs: 36_000_000 });
    const key = keys.row('42');
    const expiryOf = async (row: string): Promise<number> => {
      await rows.refresh('42');
      await store(row);
      expect(await rows.get('42')).toBe(row);
      return redis.pttl(key);
    };
    await rows.schedule('42', { everyMs: 1_000 });
    expect(await expiryOf('a')).toBeGreaterThan(35_000_000);
    await redis.pexpire(key, 20_000_000);
    const kept = await expiryOf('b');
    expect(kept).toBeLessThanOrEqual(20_000_000);
    expect(kept).toBeGreaterThan(19_000_000);
    await confirmedEarlier(rows, '42', 18_000_000);
    expect(await expiryOf('c')).toBeGreaterThan(35_000_000);
    // A lost value has no expiry to keep.
    await rows.refresh('42');
    const leased = await leases.lease();
    await redis.del(key);
    await leases.commit(leased, all(['42'], stored('d')));
    expect(await redis.pttl(key)).toBeGreaterThan(35_000_000);
  });

  test('gives a row that comes back its own expiry, not that of its tombstone', async () => {
    const { rows, leases, keys, store } = table(
      {},
      { missing: 'tombstone', tombstoneMs: 7_200_000, keepMs: 60_000 },
    );
    await rows.schedule('42', { everyMs: 1_000 });
    await store('x');
    for (const value of ['missing', stored('x')] as const) {
      await rows.refresh('42');
      await leases.commit(await leases.lease(), all(['42'], value));
    }
    expect(await rows.get('42')).toBe('x');
    expect(await redis.pttl(keys.row('42'))).toBeLessThanOrEqual(60_000);
  });

  test('stores a value again that has not changed when its row is refreshed more rarely than it would live', async () => {
    const { rows, keys, store } = table({}, { keepMs: 60_000 });
    await rows.schedule('42', { everyMs: 1_000 });
    for (const everyMs of [1_000, 3_600_000, 1_800_000]) {
      await rows.schedule('42', { everyMs });
      const { unchanged } = await store('x');
      expect(unchanged).toBe(everyMs === 1_800_000 ? 1 : 0);
      expect(await redis.pttl(keys.row('42'))).toBeGreaterThan(everyMs === 1_000 ? 50_000 : 35_000_000);
    }
  });

  test('leaves rows of the batch alone that were changed meanwhile', async () => {
    const { rows, leases } = table();
    const ids = ['1', '2', '3', '4'];
    await rows.scheduleAll(ids, HOUR);
    const leased = await leases.lease();
    await rows.unschedule('2');
    await rows.refresh('3');
    const { held, nextInMs } = await leases.commit(leased, all(ids, stored('x')));
    expect([held, nextInMs]).toEqual([2, 0]);
    expect([...(await rows.getMany(ids)).keys()]).toEqual(['1', '4']);
    expect(await rows.stats()).toMatchObject({ scheduled: 3, loaded: 2, due: 1 });
  });
});

describe('a row without an evicted key', () => {
  test('is taken out by a commit, or mended by schedule', async () => {
    const { rows, keys, store } = table();
    const { due, rows: states } = keys;
    await rows.schedule('42', HOUR);
    await redis.del(states);
    await store('x');
    expect(await rows.stats()).toMatchObject({ scheduled: 0 });
    await rows.schedule('42', HOUR);
    await redis.del(due);
    await rows.schedule('42', HOUR);
    expect(await rows.stats()).toMatchObject({ scheduled: 1, due: 1 });
  });
});
