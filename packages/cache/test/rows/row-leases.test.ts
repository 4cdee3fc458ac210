import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, jest, test } from '@jest/globals';
import type { CommandArgument, RedisConnection } from '@mortise/redis';
import { connect, freshPrefix, transcript, until } from '@mortise/test-kit';
import { RowLeases } from '../../src/rows/row-leases.js';
import type { Outcome, Outcomes } from '../../src/rows/row-leases.js';
import type { RowCache } from '@mortise/cache/rows';
import type { ShardKeys } from '../../src/rows/keys.js';
import { DEFAULTS } from '../../src/rows/options.js';
import type { ResolvedRefresherOptions } from '../../src/rows/options.js';
import { jsonCodec } from '../../src/codec.js';
import type { Codec } from '../../src/codec.js';
import { tableOf } from '../../src/rows/refreshed-table.js';
import { RowCodec } from '../../src/rows/row-codec.js';
import type { EncodedRow } from '../../src/rows/row-codec.js';
import * as scripts from '../../src/scripts.gen.js';
import { cacheOf, Database, shiftLease } from '../fixture/tables.js';
import type { Item } from '../fixture/tables.js';

const redis = connect();
const HOUR = { everyMs: 3_600_000 };

function outcome(id: string, value: Outcome): Outcomes {
  return all([id], value);
}

function all(ids: readonly string[], value: Outcome): Outcomes {
  return { outcomes: new Map(ids.map((id) => [id, value])), isSourceDown: false };
}

/** A row as it is stored. */
function stored(row: string): EncodedRow {
  return new RowCodec<string>(jsonCodec as Codec<string>, 0).encode(row, '1700000000000');
}

function keysOf(rows: RowCache<Item>): ShardKeys {
  return tableOf(rows).keys.shards[0]!;
}

function leasesOf(rows: RowCache<Item>, options: ResolvedRefresherOptions = DEFAULTS): RowLeases {
  return new RowLeases(redis, tableOf(rows), keysOf(rows), options);
}

/** As if the row had been confirmed so much earlier. */
async function confirmedEarlier(rows: RowCache<Item>, id: string, ms: number): Promise<void> {
  const { rows: states } = keysOf(rows);
  const state = (await redis.hget(states, id))!;
  await redis.hset(states, id, String(Number(state.slice(0, 13)) - ms) + state.slice(13));
}

describe('a lease', () => {
  test('gives each due row to one, and says when the next is due', async () => {
    const rows = cacheOf(redis, new Database());
    const leases = leasesOf(rows, { ...DEFAULTS, batch: 2 });
    expect(await leases.lease()).toMatchObject({ lease: '', ids: [], nextInMs: Infinity });
    await Promise.all(['1', '2', '3'].map((id) => rows.schedule(id, HOUR)));
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
    const rows = cacheOf(redis, new Database());
    const leases = leasesOf(rows, { ...DEFAULTS, leaseMs: 500 });
    await rows.schedule('42', HOUR);
    const old = await leases.lease();
    const current = await until('the lease to end', async () => {
      const leased = await leases.lease();
      return leased.ids.length > 0 && leased;
    });
    expect(Number(current.lease)).toBeGreaterThan(Number(old.lease));

    await leases.commit(old, outcome('42', stored('old')));
    await leases.commit(old, outcome('42', 'missing'));
    await leases.commit(old, outcome('42', 'failed'));
    expect(await rows.get('42')).toBeNull();
    expect(await rows.stats()).toMatchObject({ scheduled: 1, failing: 0 });

    await leases.commit(current, outcome('42', stored('new')));
    await leases.commit(current, outcome('42', stored('again')));
    expect(await rows.get('42')).toBe('new');
  });

  test('is followed by another even if the clock stands still or runs back', async () => {
    const rows = cacheOf(redis, new Database());
    const leases = leasesOf(rows);
    const { latest: leaseKey } = keysOf(rows);
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
    const rows = cacheOf(redis, new Database());
    const leases = leasesOf(rows);
    const { due, latest: leaseKey } = keysOf(rows);
    const ids = ['1', '2', 'a day'];
    await Promise.all(ids.map((id) => rows.schedule(id, { everyMs: id === 'a day' ? 86_400_000 : 1_000 })));
    await leases.commit(await leases.lease(), all(ids, stored('x')));
    const aheadMs = 3_600_000;
    for (const id of ['1', '2']) await redis.zincrby(due, aheadMs, id);
    const end = Number((await redis.get(leaseKey))!.split(' ')[0]);
    await shiftLease(redis, keysOf(rows), aheadMs);
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
    const rows = cacheOf(redis, new Database());
    const leases = leasesOf(rows, { ...DEFAULTS, batch });
    const keys = keysOf(rows);
    const ids = Array.from({ length: 40 }, (_each, index) => `row ${index}`);
    await Promise.all(ids.map((id) => rows.schedule(id, { everyMs: 10_000 })));
    await leaseAll(leases, new Set(ids));
    for (const set of [keys.due, keys.packs])
      for (const member of await redis.zrange(set, '0', '-1')) await redis.zincrby(set, aheadMs, member);
    await shiftLease(redis, keys, aheadMs);
    await Promise.all(['a', 'b'].map((id) => rows.schedule(id, HOUR)));
    const found = await leaseAll(leases, new Set([...ids, 'a', 'b']));
    // With as many looked at in each.
    expect(found.leases).toBeLessThanOrEqual(24);
    const planned = await Promise.all([
      redis.zmscore(keys.due, ...ids),
      ...(await redis.zrange(keys.packs, '0', '-1')).map((pack) => redis.zmscore(keys.packs, pack)),
    ]);
    const scores = planned.flat().filter((score) => score !== null);
    expect(Math.max(...scores.map(Number)) - Date.now()).toBeLessThanOrEqual(11_000);
    // And the search comes to its end.
    for (let count = 0; count < 60 && (await leases.lease()).nextInMs === 0; count += 1);
    expect((await leases.lease()).nextInMs).toBeGreaterThan(0);
  });

  test('is noticed although no lease knows of it, behind rows that are due at one time', async () => {
    const rows = cacheOf(redis, new Database());
    const leases = leasesOf(rows, { ...DEFAULTS, batch: 2 });
    const { due, latest: leaseKey } = keysOf(rows);
    const far = Array.from({ length: 9 }, (_, index) => `far ${index}`);
    const near = ['1', '2', '3', '4'];
    await Promise.all(far.map((id) => rows.schedule(id, { everyMs: 86_400_000 })));
    await Promise.all(near.map((id) => rows.schedule(id, { everyMs: 1_000 })));
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
    const rows = cacheOf(redis, new Database());
    const leases = leasesOf(rows, { ...DEFAULTS, batch: 1 });
    const keys = keysOf(rows);
    await Promise.all(['1', '2'].map((id) => rows.schedule(id, { everyMs: 1_000 })));
    const old = await leases.lease();
    const aheadMs = 10 * 3_600_000;
    await redis.zincrby(keys.due, aheadMs, old.ids[0]!);
    await shiftLease(redis, keys, aheadMs);
    const given = [];
    for (let count = 0; count < 10; count += 1) given.push(...(await leases.lease()).ids);
    expect(given.toSorted()).toEqual(['1', '2']);
  });

  test('tries a row that failed after the longest pause', async () => {
    const rows = cacheOf(redis, new Database());
    const leases = leasesOf(rows, { ...DEFAULTS, backoff: { ...DEFAULTS.backoff, maxDelayMs: 5_000 } });
    const keys = keysOf(rows);
    await rows.schedule('42', { everyMs: 1_000 });
    await leases.commit(await leases.lease(), outcome('42', 'failed'));
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
    const rows = cacheOf(redis, new Database());
    const leases = leasesOf(rows);
    await Promise.all(ids.map((id) => rows.schedule(id, HOUR)));
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
    const rows = cacheOf(redis, new Database());
    const { due } = keysOf(rows);
    const leases = leasesOf(rows, { ...DEFAULTS, batch: 1 });
    await Promise.all(['on time', 'late'].map((id) => rows.schedule(id, { everyMs: 10_000 })));
    const now = Number(await redis.zscore(due, 'on time'));
    await redis.zadd(due, now - 3_000, 'on time', now - 400_000, 'late');
    for (const id of ['late', 'on time']) await leases.commit(await leases.lease(), outcome(id, stored('x')));
    const [onTime, late] = (await redis.zmscore(due, 'on time', 'late')).map(Number);
    expect(onTime).toBe(now + 7_000);
    expect(late! - now).toBeGreaterThanOrEqual(10_000);
    expect(late! - now).toBeLessThan(60_000);
  });

  test('makes no row due later because the lease was long on its way', async () => {
    const rows = cacheOf(redis, new Database());
    const leases = leasesOf(rows);
    await rows.schedule('42', { everyMs: 1_000 });
    const call = redis.call.bind(redis) as (command: string, args: CommandArgument[]) => Promise<unknown>;
    // As a process that is frozen before it has sent the leased, or a connection that is lost.
    const send = jest
      .spyOn(redis as RedisConnection, 'call')
      .mockImplementationOnce(async (command, args) => {
        await pause(5_000);
        return call(command, args);
      });
    const leased = await leases.lease();
    send.mockRestore();
    await leases.commit(leased, outcome('42', stored('x')));
    const dueAt = Number(await redis.zscore(keysOf(rows).due, '42'));
    expect(dueAt - Number(leased.leasedAt)).toBeLessThan(4_000);
  });

  test('does not send or touch a value that has not changed, but notes that it was loaded', async () => {
    const prefix = freshPrefix();
    const rows = cacheOf(redis, new Database(), { prefix });
    const leases = leasesOf(rows);
    await rows.schedule('42', HOUR);
    expect(await leases.commit(await leases.lease(), outcome('42', stored('x')))).toMatchObject({
      unchanged: 0,
    });
    const { rows: states } = keysOf(rows);
    const row = keysOf(rows).row('42');
    const [value, state] = [await redis.get(row), await redis.hget(states, '42')];
    await rows.refresh('42');
    const lines = await transcript(redis, { prefix, scripts }, async () => {
      expect(await leases.commit(await leases.lease(), outcome('42', stored('x')))).toMatchObject({
        held: 1,
        unchanged: 1,
      });
    });
    // Once in 16 s it is looked for.
    const touches = lines.filter((line) => line.endsWith(':row:42') && line.startsWith(' '));
    expect(touches.filter((line) => !line.startsWith('  exists '))).toEqual([]);
    expect(await redis.get(row)).toBe(value);
    const confirmed = await redis.hget(states, '42');
    expect(Number(confirmed!.slice(0, 13))).toBeGreaterThanOrEqual(Number(state!.slice(0, 13)));
    expect(confirmed!.slice(13)).toBe(state!.slice(13));
    await rows.refresh('42');
    expect(await leases.commit(await leases.lease(), outcome('42', stored('y')))).toMatchObject({
      unchanged: 0,
    });
    expect(await rows.get('42')).toBe('y');
  });

  test('loads a value again that has not changed, but was lost, when it has not been looked for in 16 s', async () => {
    const rows = cacheOf(redis, new Database());
    const leases = leasesOf(rows);
    await Promise.all(['1', '2', '3'].map((id) => rows.schedule(id, HOUR)));
    const commit = async (): Promise<number> => {
      const leased = await leases.lease();
      return (await leases.commit(leased, all(leased.ids, stored('x')))).nextInMs;
    };
    await commit();
    const { due } = keysOf(rows);
    await redis.del(keysOf(rows).row('2'));
    for (const id of ['1', '2', '3']) await confirmedEarlier(rows, id, 16_000);
    await redis.zadd(due, 1, '1', 1, '2', 1, '3');
    expect(await commit()).toBe(0);
    expect(await rows.get('2')).toBeNull();
    expect(await commit()).toBeGreaterThan(1_000_000);
    expect((await rows.getMany(['1', '2', '3'])).size).toBe(3);
  });

  test('stores a value that has not changed, but was lost before refresh was called', async () => {
    const rows = cacheOf(redis, new Database());
    const leases = leasesOf(rows);
    await rows.schedule('42', HOUR);
    await leases.commit(await leases.lease(), outcome('42', stored('x')));
    await redis.del(keysOf(rows).row('42'));
    await rows.refresh('42');
    await leases.commit(await leases.lease(), outcome('42', stored('x')));
    expect(await rows.get('42')).toBe('x');
  });

  test('stores a value again that has not changed for half the time it is kept', async () => {
    const rows = cacheOf(redis, new Database(), { keepMs: 60_000 });
    const leases = leasesOf(rows);
    await rows.schedule('42', { everyMs: 1_000 });
    await leases.commit(await leases.lease(), outcome('42', stored('x')));
    await confirmedEarlier(rows, '42', 30_000);
    await rows.refresh('42');
    expect(await leases.commit(await leases.lease(), outcome('42', stored('x')))).toMatchObject({
      held: 1,
      unchanged: 0,
    });
  });

  test('puts the expiry of a value that changes off once in half the time it is kept', async () => {
    const rows = cacheOf(redis, new Database(), { keepMs: 36_000_000 });
    const leases = leasesOf(rows);
    const key = keysOf(rows).row('42');
    const store = async (row: string): Promise<number> => {
      await rows.refresh('42');
      await leases.commit(await leases.lease(), outcome('42', stored(row)));
      expect(await rows.get('42')).toBe(row);
      return redis.pttl(key);
    };
    await rows.schedule('42', { everyMs: 1_000 });
    expect(await store('a')).toBeGreaterThan(35_000_000);
    await redis.pexpire(key, 20_000_000);
    const kept = await store('b');
    expect(kept).toBeLessThanOrEqual(20_000_000);
    expect(kept).toBeGreaterThan(19_000_000);
    await confirmedEarlier(rows, '42', 18_000_000);
    expect(await store('c')).toBeGreaterThan(35_000_000);
    // A lost value has no expiry to keep.
    await rows.refresh('42');
    const leased = await leases.lease();
    await redis.del(key);
    await leases.commit(leased, outcome('42', stored('d')));
    expect(await redis.pttl(key)).toBeGreaterThan(35_000_000);
  });

  test('gives a row that comes back its own expiry, not that of its tombstone', async () => {
    const rows = cacheOf(redis, new Database(), {
      missing: 'tombstone',
      tombstoneMs: 7_200_000,
      keepMs: 60_000,
    });
    const leases = leasesOf(rows);
    await rows.schedule('42', { everyMs: 1_000 });
    await leases.commit(await leases.lease(), outcome('42', stored('x')));
    for (const value of ['missing', stored('x')] as const) {
      await rows.refresh('42');
      await leases.commit(await leases.lease(), outcome('42', value));
    }
    expect(await rows.get('42')).toBe('x');
    expect(await redis.pttl(keysOf(rows).row('42'))).toBeLessThanOrEqual(60_000);
  });

  test('stores a value again that has not changed when its row is refreshed more rarely than it would live', async () => {
    const rows = cacheOf(redis, new Database(), { keepMs: 60_000 });
    const leases = leasesOf(rows);
    await rows.schedule('42', { everyMs: 1_000 });
    for (const everyMs of [1_000, 3_600_000, 1_800_000]) {
      await rows.schedule('42', { everyMs });
      const { unchanged } = await leases.commit(await leases.lease(), outcome('42', stored('x')));
      expect(unchanged).toBe(everyMs === 1_800_000 ? 1 : 0);
      expect(await redis.pttl(keysOf(rows).row('42'))).toBeGreaterThan(
        everyMs === 1_000 ? 50_000 : 35_000_000,
      );
    }
  });

  test('leaves rows of the batch alone that were changed meanwhile', async () => {
    const rows = cacheOf(redis, new Database());
    const leases = leasesOf(rows);
    const ids = ['1', '2', '3', '4'];
    await Promise.all(ids.map((id) => rows.schedule(id, HOUR)));
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
    const rows = cacheOf(redis, new Database());
    const { due, rows: states } = keysOf(rows);
    const leases = leasesOf(rows);
    await rows.schedule('42', HOUR);
    await redis.del(states);
    await leases.commit(await leases.lease(), outcome('42', stored('x')));
    expect(await rows.stats()).toMatchObject({ scheduled: 0 });
    await rows.schedule('42', HOUR);
    await redis.del(due);
    await rows.schedule('42', HOUR);
    expect(await rows.stats()).toMatchObject({ scheduled: 1, due: 1 });
  });
});
