import { describe, expect, jest, test } from '@jest/globals';
import { connect, until } from '@mortise/test-kit';
import { Claims } from '../src/claims.js';
import type { Outcome } from '../src/claims.js';
import { DEFAULTS } from '../src/options.js';
import { tableOf } from '../src/refreshed-table.js';
import { cacheOf, Database } from './fixture.js';

const redis = connect();
const HOUR = { everyMs: 3_600_000 };

function outcome(id: string, value: Outcome): Map<string, Outcome> {
  return new Map([[id, value]]);
}

describe('a claim', () => {
  test('gives each due row to one, and says when the next is due', async () => {
    const rows = cacheOf(redis, new Database());
    const claims = new Claims(redis, tableOf(rows), { ...DEFAULTS, batch: 2 });
    expect(await claims.claim()).toEqual({ lease: '', rows: [], nextInMs: Infinity });
    await Promise.all(['1', '2', '3'].map((id) => rows.schedule(id, HOUR)));
    const first = await claims.claim();
    expect(first.rows.map(({ id }) => id)).toEqual(['1', '2']);
    expect(first.nextInMs).toBe(0);
    const second = await claims.claim();
    expect(second.rows.map(({ id }) => id)).toEqual(['3']);
    expect(second.nextInMs).toBeGreaterThan(10_000);
    expect(second.nextInMs).toBeLessThanOrEqual(30_001);
    expect((await claims.claim()).rows).toEqual([]);
  });

  test('gives a row again when its lease has ended, and the result of the old lease is refused', async () => {
    const rows = cacheOf(redis, new Database());
    const claims = new Claims(redis, tableOf(rows), { ...DEFAULTS, leaseMs: 500 });
    await rows.schedule('42', HOUR);
    const old = await claims.claim();
    const current = await until('the lease to end', async () => {
      const claim = await claims.claim();
      return claim.rows.length > 0 && claim;
    });
    expect(Number(current.lease)).toBeGreaterThan(Number(old.lease));

    await claims.commit(old, outcome('42', { value: '1"old"' }));
    await claims.commit(old, outcome('42', 'gone'));
    await claims.commit(old, outcome('42', 'failed'));
    expect(await rows.get('42')).toBeNull();
    expect(await rows.stats()).toMatchObject({ scheduled: 1, failing: 0 });

    await claims.commit(current, outcome('42', { value: '1"new"' }));
    await claims.commit(current, outcome('42', { value: '1"again"' }));
    expect(await rows.get('42')).toBe('new');
  });

  test('is followed by another even if the clock stands still or runs back', async () => {
    const rows = cacheOf(redis, new Database());
    const claims = new Claims(redis, tableOf(rows), DEFAULTS);
    const { lease: leaseKey } = tableOf(rows).keys;
    await rows.schedule('42', HOUR);
    const first = await claims.claim();
    // As a claim by a master whose clock was a minute ahead.
    const ahead = (Number(first.lease) + 60_000).toFixed(1);
    await redis.set(leaseKey, ahead);
    await rows.refresh('42');
    const second = await claims.claim();
    expect(Number(second.lease)).toBe(Number(ahead) + 1);
  });
});

describe('a commit', () => {
  test('stores more than a MiB in several scripts', async () => {
    const ids = Array.from({ length: 5 }, (_, index) => `row ${index}`);
    const rows = cacheOf(redis, new Database());
    const claims = new Claims(redis, tableOf(rows), DEFAULTS);
    await Promise.all(ids.map((id) => rows.schedule(id, HOUR)));
    const value = `1${JSON.stringify('x'.repeat(600_000))}`;
    const claim = await claims.claim();
    const calls = jest.spyOn(redis, 'call');
    const nextInMs = await claims.commit(claim, new Map(ids.map((id) => [id, { value }])));
    expect(calls.mock.calls.filter(([command]) => command === 'evalsha')).toHaveLength(3);
    calls.mockRestore();
    expect(nextInMs).toBeGreaterThan(HOUR.everyMs - 60_000);
    expect((await rows.getMany(ids)).size).toBe(5);
    expect(await rows.stats()).toMatchObject({ scheduled: 5, due: 0 });
  });

  test('keeps the step of a row that is on time, and drops the beats that one has missed', async () => {
    const rows = cacheOf(redis, new Database());
    const { due, every } = tableOf(rows).keys;
    const claims = new Claims(redis, tableOf(rows), DEFAULTS);
    await Promise.all(['on time', 'late'].map((id) => rows.schedule(id, { everyMs: 10_000 })));
    const now = Number(await redis.zscore(due, 'on time'));
    await redis.zadd(due, now - 4_000, 'on time', now - 400_000, 'late');
    const claim = await claims.claim();
    await claims.commit(claim, new Map(claim.rows.map(({ id }) => [id, { value: '1"x"' }])));
    const [onTime, late] = (await redis.zmscore(due, 'on time', 'late')).map(Number);
    expect(onTime).toBe(now + 6_000);
    expect(late! - now).toBeGreaterThanOrEqual(10_000);
    expect(late! - now).toBeLessThan(60_000);
    expect(await redis.zcard(every)).toBe(2);
  });
});

describe('what an evicted key leaves behind', () => {
  test('is taken out by a commit, or mended by schedule', async () => {
    const rows = cacheOf(redis, new Database());
    const { due, every } = tableOf(rows).keys;
    const claims = new Claims(redis, tableOf(rows), DEFAULTS);
    await rows.schedule('42', HOUR);
    await redis.del(every);
    await claims.commit(await claims.claim(), outcome('42', { value: '1"x"' }));
    expect(await rows.stats()).toMatchObject({ scheduled: 0 });
    await rows.schedule('42', HOUR);
    await redis.del(due);
    await rows.schedule('42', HOUR);
    expect(await rows.stats()).toMatchObject({ scheduled: 1, due: 1 });
  });
});
