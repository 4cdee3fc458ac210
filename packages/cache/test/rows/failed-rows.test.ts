import { describe, expect, test } from '@jest/globals';
import type { RowCache } from '@mortise/cache/rows';
import { connect, until } from '@mortise/test-kit';
import { FailedRows } from '../../src/rows/failed-rows.js';
import type { LeasedRows } from '../../src/rows/leased-rows.js';
import { DEFAULTS } from '../../src/rows/options.js';
import type { Outcome, RowLeases } from '../../src/rows/row-leases.js';
import { Slots } from '../../src/rows/slots.js';
import {
  all,
  cacheOf,
  Database,
  keysOf,
  leasesOf,
  loaded,
  mark,
  refresh,
  shiftLease,
} from '../fixture/tables.js';
import type { Item } from '../fixture/tables.js';

const redis = connect();

function idsUpTo(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String(index + 1));
}

/** Rows 1 to `count`, all due; the load of some has failed `times` times. */
async function failing(
  count: number,
  isFailing: (id: string) => boolean,
  times = 1,
): Promise<RowCache<Item>> {
  const rows = cacheOf(redis, new Database());
  const leases = leasesOf(redis, rows, { batch: 500 });
  const { due, failures, packs, failed } = keysOf(rows);
  const ids = idsUpTo(count);
  await rows.scheduleAll(ids, { everyMs: 1 });
  const outcomes = new Map(ids.map((id): [string, Outcome] => [id, isFailing(id) ? 'failed' : loaded(rows)]));
  await leases.commit(await leases.lease(), { outcomes, isSourceDown: false });
  for (const id of ids.filter(isFailing)) await redis.hset(failures, id, times);
  for (const set of [due, packs, failed])
    for (const member of await redis.zrange(set, '0', '-1')) await redis.zadd(set, 1, member);
  return rows;
}

async function sizes(lease: () => Promise<LeasedRows>): Promise<number[]> {
  const found: number[] = [];
  for (;;) {
    const { ids } = await lease();
    if (ids.length === 0) return found;
    found.push(ids.length);
  }
}

describe('failed rows', () => {
  test.each([
    ['once are leased a few together', 1, [16, 16, 8]],
    ['again are leased alone', 2, Array.from({ length: 40 }, () => 1)],
  ])('%s, apart from others', async (_, times, expected) => {
    const rows = await failing(47, (id) => Number(id) <= 40, times);
    const leases = leasesOf(redis, rows);
    expect(await sizes(() => leases.lease())).toEqual([7]);
    expect(await sizes(() => leases.leaseFailed())).toEqual(expected);
  });

  test('are announced by leases and commits', async () => {
    const rows = await failing(20, (id) => id === '1');
    const { failed } = keysOf(rows);
    const leases = leasesOf(redis, rows);
    await redis.zadd(failed, Date.now() + 50_000, '1');
    const leased = await leases.lease();
    expect(leased.failedInMs).toBeGreaterThan(40_000);
    const outcomes = new Map(
      leased.ids.map((id): [string, Outcome] => [id, id === '2' ? 'failed' : loaded(rows)]),
    );
    const { failedInMs } = await leases.commit(leased, { outcomes, isSourceDown: false });
    expect(failedInMs).toBeLessThanOrEqual(500);
    expect(await redis.zrange(failed, '0', '-1')).toEqual(['2', '1']);
    await redis.del(failed);
    expect(await leases.lease()).toMatchObject({ failedInMs: Infinity });
  });

  test('with the fewest failures come first, so a healthy one waits for no row that keeps failing', async () => {
    const rows = await failing(300, (id) => Number(id) <= 250, 9);
    const { failed, failures } = keysOf(rows);
    await redis.zadd(failed, 2, '251');
    await redis.zadd(failed, 3, '252');
    await redis.hset(failures, '251', 2, '252', 1);
    const leases = leasesOf(redis, rows);
    expect(await leases.leaseFailed()).toMatchObject({ ids: ['252'], failures: 1 });
    expect(await leases.leaseFailed()).toMatchObject({ ids: ['251'], failures: 2 });
    expect(await leases.leaseFailed()).toMatchObject({ ids: ['1'], failures: 9 });
  });

  test('are tried in turn: none again before each other one that is due', async () => {
    const failingAlways = new Set(idsUpTo(40));
    const rows = await failing(41, () => true);
    const leases = leasesOf(redis, rows, { backoff: { ...DEFAULTS.backoff, delayMs: 1, maxDelayMs: 1 } });
    const attempts: string[][] = [];
    // The healthy row fails once beside others, and twice alone; by name it comes after many others.
    await until('the healthy row', async () => {
      const leased = await leases.leaseFailed();
      if (leased.ids.length === 0) return false;
      attempts.push([...leased.ids]);
      const isLoaded = leased.ids[0] === '41' && attempts.flat().filter((id) => id === '41').length === 4;
      await leases.commit(leased, all(leased.ids, isLoaded ? loaded(rows) : 'failed'));
      return isLoaded;
    });
    // Three batches, then 41 single rows, three times at most.
    expect(attempts.length).toBeLessThanOrEqual(3 + 41 + 41 + 41);
    const counts = new Map([...failingAlways].map((id): [string, number] => [id, 0]));
    await until('four rounds', async () => {
      const leased = await leases.leaseFailed();
      for (const id of leased.ids) counts.set(id, counts.get(id)! + 1);
      await leases.commit(leased, all(leased.ids, 'failed'));
      return [...counts.values()].reduce((sum, count) => sum + count, 0) === 4 * failingAlways.size;
    });
    for (const count of counts.values()) expect([3, 4, 5]).toContain(count);
  });

  test('stay apart when they are refreshed, scheduled or marked, and are counted', async () => {
    const rows = await failing(3, () => true);
    const { due, failed, failures } = keysOf(rows);
    const later = Date.now() + 900_000;
    const isDue = async (id: string): Promise<void> => {
      expect(Number(await redis.zscore(failed, id))).toBeLessThan(later);
      expect(await redis.exists(due)).toBe(0);
      await redis.zadd(failed, later, id);
    };
    expect(await rows.stats()).toMatchObject({ scheduled: 3, due: 3, failing: 3, lagMs: 0 });
    for (const id of idsUpTo(3)) await redis.zadd(failed, later, id);
    expect(await rows.stats()).toMatchObject({ scheduled: 3, due: 0, failing: 3 });
    expect((await rows.inspect('1'))?.nextInMs).toBeGreaterThan(800_000);
    await rows.refresh('1');
    await isDue('1');
    await rows.schedule('1', { everyMs: 1 });
    expect(Number(await redis.zscore(failed, '1'))).toBe(later);
    await rows.schedule('1', { everyMs: 5_000 });
    await isDue('1');
    expect(await mark(redis, rows, '9', '2')).toEqual([0, 1]);
    await isDue('2');
    await rows.unschedule('3');
    expect(await redis.zscore(failed, '3')).toBeNull();
    expect(await rows.stats()).toMatchObject({ scheduled: 2, failing: 2 });
    for (const key of [failed, failures])
      expect(await redis.pttl(key)).toBeGreaterThan(DEFAULTS.idleMs - 60_000);
  });

  test('are among the others again when they are loaded', async () => {
    const rows = await failing(1, () => true);
    const { due, failed, failures } = keysOf(rows);
    const leases = leasesOf(redis, rows);
    const refused = await leases.leaseFailed();
    await rows.refresh('1');
    expect(await leases.commit(refused, all(['1'], loaded(rows)))).toMatchObject({ held: 0 });
    expect(await rows.stats()).toMatchObject({ failing: 1, due: 1 });
    const leased = await leases.leaseFailed();
    expect(Number(leased.lease)).toBeGreaterThan(Number(refused.lease));
    expect(await leases.commit(leased, all(['1'], loaded(rows)))).toMatchObject({
      held: 1,
      failedInMs: Infinity,
    });
    expect(await redis.exists(failed, failures)).toBe(0);
    expect(await redis.zcard(due)).toBe(1);
    expect(await redis.pttl(due)).toBeGreaterThan(DEFAULTS.idleMs - 60_000);
  });

  test('are a half-open probe only if no others are due, and close the breaker', async () => {
    const rows = await failing(4, (id) => Number(id) <= 2);
    const { source, due } = keysOf(rows);
    await redis.hset(source, 'failures', 1, 'opensAt', 1, 'limit', 2);
    const leases = leasesOf(redis, rows);
    expect(await leases.leaseFailed()).toMatchObject({ ids: [], failedInMs: Infinity });
    const first = await leases.lease();
    expect(first).toMatchObject({ ids: ['3', '4'], isProbe: true, failures: 0 });
    const waiting = await leases.leaseFailed();
    expect(waiting.ids).toEqual([]);
    expect(waiting.failedInMs).toBeGreaterThan(10_000);
    await leases.commit(first, all(first.ids, loaded(rows)));
    await redis.hset(source, 'opensAt', 1, 'limit', 2);
    for (const id of ['3', '4']) await redis.zadd(due, Date.now() + 500_000, id);
    const second = await leases.leaseFailed();
    expect(second).toMatchObject({ ids: ['1', '2'], isProbe: true, failures: 1 });
    await leases.commit(second, all(second.ids, loaded(rows)));
    expect(await redis.exists(source)).toBe(0);
  });

  test('that fail again as a probe do not delay others, once they failed more than once', async () => {
    const rows = await failing(2, (id) => id === '1', 2);
    const { source, due } = keysOf(rows);
    await redis.hset(source, 'failures', 1, 'opensAt', 1, 'limit', 1);
    await redis.zadd(due, Date.now() + 500_000, '2');
    const leases = leasesOf(redis, rows);
    const leased = await leases.leaseFailed();
    expect(leased).toMatchObject({ ids: ['1'], isProbe: true, failures: 2 });
    await redis.zadd(due, 1, '2');
    // While it is being loaded, and after it has failed, another row is a probe at once.
    expect(await leases.lease()).toMatchObject({ ids: ['2'], isProbe: true });
    await redis.zadd(due, 1, '2');
    await redis.hset(source, 'opensAt', 1);
    await leases.commit(leased, { outcomes: new Map([['1', 'failed']]), isSourceDown: true });
    expect(await redis.hmget(source, 'failures', 'opensAt')).toEqual(['1', '1']);
    expect(await leases.lease()).toMatchObject({ ids: ['2'], isProbe: true });
  });

  test('with a lease of an earlier clock do not wait for it', async () => {
    const rows = await failing(2, () => true, 2);
    const keys = keysOf(rows);
    const leases = leasesOf(redis, rows);
    const old = await leases.leaseFailed();
    const other = old.ids[0] === '1' ? '2' : '1';
    const aheadMs = 3_600_000;
    for (const id of ['1', '2']) await redis.zincrby(keys.failed, aheadMs, id);
    await shiftLease(redis, keys, aheadMs);
    await redis.zadd(keys.failed, Date.now() + aheadMs, other);
    await leases.lease();
    const leased = await leases.leaseFailed();
    expect(leased.ids).toEqual(old.ids);
    const score = Number(await redis.zscore(keys.failed, other));
    expect(score - Date.now()).toBeLessThanOrEqual(DEFAULTS.backoff.maxDelayMs);
    // A present lease is left alone, although it is as far ahead.
    expect(Number(leased.lease)).toBeGreaterThan(Date.now() + aheadMs);
    for (let count = 0; count < 3; count += 1) await leases.lease();
    expect((await leases.leaseFailed()).ids).toEqual([]);
  });
});

describe('a half-open probe', () => {
  test('without a row is not waited for', async () => {
    const rows = cacheOf(redis, new Database().put('1'));
    const { source } = keysOf(rows);
    await rows.schedule('1', { everyMs: 200 });
    await redis.hset(source, 'failures', 1, 'opensAt', 1, 'limit', 1);
    await refresh(redis, rows);
    // Nine probes, each for twice as many rows; between any two of them nothing is due.
    await until('the source to be back', async () => (await redis.exists(source)) === 0);
    expect(await rows.stats()).toMatchObject({ shardsDown: 0, loaded: 1 });
  });

  test('that is answered lets the pauses begin anew', async () => {
    const rows = await failing(2, () => false);
    const { source, due } = keysOf(rows);
    const leases = leasesOf(redis, rows);
    await redis.hset(source, 'failures', 12, 'opensAt', 1, 'limit', 1);
    const answered = await leases.lease();
    await leases.commit(answered, all(answered.ids, loaded(rows)));
    await redis.zadd(due, 1, '1', 1, '2');
    const leased = await leases.lease();
    expect(leased).toMatchObject({ ids: ['1', '2'], isProbe: true });
    await leases.commit(leased, { outcomes: new Map(), isSourceDown: true });
    const [opensAt, limit] = (await redis.hmget(source, 'opensAt', 'limit')).map(Number);
    expect(opensAt! - Number(leased.leasedAt)).toBeLessThan(30_000);
    expect(limit).toBe(1);
  });
});

test('shards take the slots for failed rows in turn, also one with few such rows beside one with many', async () => {
  const slots = new Slots(2);
  const order: string[] = [];
  const ends: (() => void)[] = [];
  const shardOf = (name: string): FailedRows => {
    const leaseFailed = async (): Promise<unknown> => ({ ids: [name], failedInMs: 0 });
    return new FailedRows({ leaseFailed } as RowLeases, {
      name,
      slots,
      onError: (error) => order.push(String(error)),
      run: ({ ids }) => {
        order.push(ids[0]!);
        return new Promise<void>((resolve) => ends.push(resolve));
      },
    });
  };
  const shards = ['many', 'few', 'more'].map(shardOf);
  for (const shard of shards) {
    shard.start();
    shard.expect({ failedInMs: 0 });
  }
  for (let turn = 0; turn < 30; turn += 1) {
    const end = await until('a row', () => ends.shift());
    end();
  }
  await until('the last two', () => order.length >= 31);
  const stopped = Promise.all(shards.map((shard) => shard.stop()));
  for (const end of ends) end();
  await stopped;
  const turns = ['many', 'few', 'more'].map(
    (name) => order.slice(0, 30).filter((one) => one === name).length,
  );
  expect(Math.max(...turns) - Math.min(...turns)).toBeLessThanOrEqual(1);
  // Each slot is released.
  await Promise.all([slots.take(), slots.take()]);
});

test.each([
  ['refresh', (rows: RowCache<Item>): Promise<unknown> => rows.refresh('1')],
  ['schedule', (rows: RowCache<Item>): Promise<unknown> => rows.schedule('1', { everyMs: 5_000 })],
  ['a change feed', (rows: RowCache<Item>): Promise<unknown> => mark(redis, rows, '1')],
])('%s wakes refreshers for a failed row, also while others are due', async (_, act) => {
  const rows = await failing(20, (id) => id === '1');
  const { failed, wake } = keysOf(rows);
  await redis.zadd(failed, Date.now() + 50_000, '1');
  const listener = connect();
  let received = 0;
  listener.on('message', () => (received += 1));
  listener.on('smessage', () => (received += 1));
  await listener.subscribe(wake);
  await listener.ssubscribe(wake);
  await act(rows);
  await until('the wake-up', () => received > 0);
  expect(Number(await redis.zscore(failed, '1'))).toBeLessThanOrEqual(Date.now());
});
