import { describe, expect, test } from '@jest/globals';
import type { RowCache } from '@mortise/cache';
import { connect, until } from '@mortise/test-kit';
import type { ShardKeys } from '../src/keys.js';
import { DEFAULTS } from '../src/options.js';
import type { RefreshOptions } from '../src/options.js';
import { Claims } from '../src/rows/claims.js';
import type { Claim } from '../src/rows/claim.js';
import type { Outcome, Outcomes } from '../src/rows/claims.js';
import { tableOf } from '../src/rows/refreshed-table.js';
import { Retries } from '../src/rows/retries.js';
import type { TableWork } from '../src/rows/shard-refresher.js';
import { Slots } from '../src/rows/slots.js';
import { changeFeedMark } from '../src/scripts.gen.js';
import { cacheOf, Database, refresh, shiftLease } from './fixture.js';
import type { Item } from './fixture.js';

const redis = connect();

function idsUpTo(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String(index + 1));
}

function all(ids: readonly string[], value: Outcome): Outcomes {
  return { outcomes: new Map(ids.map((id) => [id, value])), isSourceDown: false };
}

function keysOf(rows: RowCache<Item>): ShardKeys {
  return tableOf(rows).keys.shards[0]!;
}

function claimsOf(rows: RowCache<Item>, options: Partial<RefreshOptions> = {}): Claims {
  return new Claims(redis, tableOf(rows), keysOf(rows), { ...DEFAULTS, ...options });
}

function loaded(rows: RowCache<Item>): Outcome {
  return tableOf(rows).codec.encode({ name: 'loaded' }, '1700000000000');
}

/** Rows 1 to `count`, of which those failed that are asked for. All are due. */
async function failing(
  count: number,
  isFailing: (id: string) => boolean,
  { times = 1, outcome = 'failed' }: { readonly times?: number; readonly outcome?: Outcome } = {},
): Promise<RowCache<Item>> {
  const rows = cacheOf(redis, new Database());
  const claims = claimsOf(rows, { batch: 500 });
  const { due, failures, packs, suspects, hung } = keysOf(rows);
  const ids = idsUpTo(count);
  await Promise.all(ids.map((id) => rows.schedule(id, { everyMs: 1 })));
  const claim = await claims.claim();
  const outcomes = new Map(ids.map((id): [string, Outcome] => [id, isFailing(id) ? outcome : loaded(rows)]));
  await claims.commit(claim, { outcomes, isSourceDown: false });
  for (const id of ids.filter(isFailing)) await redis.hset(failures, id, times);
  for (const set of [due, packs, suspects, hung])
    for (const member of await redis.zrange(set, '0', '-1')) await redis.zadd(set, 1, member);
  return rows;
}

async function sizes(claim: () => Promise<Claim>): Promise<number[]> {
  const found: number[] = [];
  for (;;) {
    const { ids } = await claim();
    if (ids.length === 0) return found;
    found.push(ids.length);
  }
}

describe('rows whose last load failed', () => {
  test.each([
    ['once are taken a few together', 1, [16, 16, 8]],
    ['again are taken alone', 2, Array.from({ length: 40 }, () => 1)],
  ])('%s, apart from others', async (_, times, expected) => {
    const rows = await failing(47, (id) => Number(id) <= 40, { times });
    const claims = claimsOf(rows);
    expect(await sizes(() => claims.claim())).toEqual([7]);
    expect(await sizes(() => claims.retry(true))).toEqual(expected);
  });

  test('are told of by claims and commits, which say when they are due', async () => {
    const rows = await failing(20, (id) => id === '1');
    const { suspects, hung } = keysOf(rows);
    const claims = claimsOf(rows);
    await redis.zadd(suspects, Date.now() + 50_000, '1');
    const claim = await claims.claim();
    expect(claim).toMatchObject({ hungInMs: Infinity });
    expect(claim.suspectInMs).toBeGreaterThan(40_000);
    const outcomes = new Map(
      claim.ids.map((id): [string, Outcome] => [id, id === '2' ? 'hung' : loaded(rows)]),
    );
    const { suspectInMs, hungInMs } = await claims.commit(claim, { outcomes, isSourceDown: false });
    expect(suspectInMs).toBeLessThanOrEqual(50_000);
    expect(hungInMs).toBeLessThanOrEqual(500);
    expect(await redis.zrange(hung, '0', '-1')).toEqual(['2']);
    await redis.del(suspects, hung);
    expect(await claims.claim()).toMatchObject({ suspectInMs: Infinity, hungInMs: Infinity });
  });

  test('that are known to hang are taken only where there is room for them, and then first', async () => {
    const rows = await failing(20, (id) => Number(id) <= 3, { times: 2, outcome: 'hung' });
    const { suspects, failures } = keysOf(rows);
    await redis.zrem(keysOf(rows).packs, ...(await redis.zrange(keysOf(rows).packs, '0', '-1')));
    await redis.zadd(suspects, 1, '20');
    await redis.hset(failures, '20', 2);
    const claims = claimsOf(rows);
    expect(await claims.retry(true)).toMatchObject({
      isHung: true,
      isRetry: true,
      hungInMs: 0,
      suspectInMs: 0,
    });
    expect(await claims.retry(false)).toMatchObject({ ids: ['20'], isHung: false });
    expect((await claims.retry(false)).ids).toEqual([]);
    expect(await sizes(() => claims.retry(true))).toEqual([1, 1]);
  });

  test('are tried in turn: none again before each other one that is due was tried', async () => {
    const hanging = new Set(idsUpTo(40));
    const rows = await failing(41, () => true);
    const claims = claimsOf(rows, { minBackoffMs: 1, maxBackoffMs: 1 });
    const attempts: string[][] = [];
    // The last one fails twice on its own as well; by name it is behind many others.
    await until('the good row', async () => {
      const claim = await claims.retry(false);
      if (claim.ids.length === 0) return false;
      attempts.push([...claim.ids]);
      const isLoaded =
        claim.ids.length === 1 &&
        claim.ids[0] === '41' &&
        attempts.flat().filter((id) => id === '41').length === 4;
      const hangs = claim.ids.length === 1 && hanging.has(claim.ids[0]!);
      await claims.commit(claim, all(claim.ids, isLoaded ? loaded(rows) : hangs ? 'hung' : 'failed'));
      return isLoaded;
    });
    // Three together, then 40 that hang, each once, and three of the good one.
    expect(attempts.length).toBeLessThanOrEqual(3 + 40 + 3);
    const { suspects } = keysOf(rows);
    await until('no suspects', async () => {
      const claim = await claims.retry(false);
      await claims.commit(claim, all(claim.ids, 'hung'));
      return (await redis.exists(suspects)) === 0;
    });
    // Those that are known to hang take turns as well.
    const counts = new Map([...hanging].map((id): [string, number] => [id, 0]));
    await until('four rounds', async () => {
      const claim = await claims.retry(true);
      for (const id of claim.ids) counts.set(id, counts.get(id)! + 1);
      await claims.commit(claim, all(claim.ids, 'hung'));
      return [...counts.values()].reduce((sum, count) => sum + count, 0) === 4 * hanging.size;
    });
    for (const count of counts.values()) expect([3, 4, 5]).toContain(count);
  });

  test.each(['failed', 'hung'] as const)(
    'stay apart when they are refreshed, scheduled or marked (%s), and are counted',
    async (outcome) => {
      const rows = await failing(3, () => true, { outcome });
      const keys = keysOf(rows);
      const set = outcome === 'hung' ? keys.hung : keys.suspects;
      const later = Date.now() + 900_000;
      const isDue = async (id: string): Promise<void> => {
        expect(Number(await redis.zscore(set, id))).toBeLessThan(later);
        expect(await redis.exists(keys.due)).toBe(0);
        await redis.zadd(set, later, id);
      };
      expect(await rows.stats()).toMatchObject({ scheduled: 3, due: 3, failing: 3, lagMs: 0 });
      for (const id of idsUpTo(3)) await redis.zadd(set, later, id);
      expect(await rows.stats()).toMatchObject({ scheduled: 3, due: 0, failing: 3 });
      expect((await rows.inspect('1'))?.nextInMs).toBeGreaterThan(800_000);
      await rows.refresh('1');
      await isDue('1');
      await rows.schedule('1', { everyMs: 1 });
      expect(Number(await redis.zscore(set, '1'))).toBe(later);
      await rows.schedule('1', { everyMs: 5_000 });
      await isDue('1');
      const { due, rows: states, packs, packed, suspects, hung, wake } = keys;
      const marked = await changeFeedMark.run(
        redis,
        { due, rows: states, packs, packed, suspects, hung, wake, values: [keys.row('9'), keys.row('2')] },
        { publish: 'publish', idleMs: DEFAULTS.idleMs, ids: ['9', '2'] },
      );
      expect(marked).toEqual([0, 1]);
      await isDue('2');
      await rows.unschedule('3');
      expect(await redis.zscore(set, '3')).toBeNull();
      expect(await rows.stats()).toMatchObject({ scheduled: 2, failing: 2 });
      for (const key of [set, keys.failures])
        expect(await redis.pttl(key)).toBeGreaterThan(DEFAULTS.idleMs - 60_000);
    },
  );

  test.each(['failed', 'hung'] as const)(
    'are among the others again when they are loaded (%s)',
    async (outcome) => {
      const rows = await failing(1, () => true, { outcome });
      const keys = keysOf(rows);
      const claims = claimsOf(rows);
      const refused = await claims.retry(true);
      await rows.refresh('1');
      expect(await claims.commit(refused, all(['1'], loaded(rows)))).toMatchObject({ held: 0 });
      expect(await rows.stats()).toMatchObject({ failing: 1, due: 1 });
      const claim = await claims.retry(true);
      expect(Number(claim.lease)).toBeGreaterThan(Number(refused.lease));
      expect(await claims.commit(claim, all(['1'], loaded(rows)))).toMatchObject({
        held: 1,
        suspectInMs: Infinity,
        hungInMs: Infinity,
      });
      expect(await redis.exists(keys.suspects, keys.hung, keys.failures)).toBe(0);
      expect(await redis.zcard(keys.due)).toBe(1);
      expect(await redis.pttl(keys.due)).toBeGreaterThan(DEFAULTS.idleMs - 60_000);
    },
  );

  test('are a probe only if no others are due, and end the search for a source that is back', async () => {
    const rows = await failing(4, (id) => Number(id) <= 3);
    const { source, due, suspects, hung } = keysOf(rows);
    await redis.zrem(suspects, '3');
    await redis.zadd(hung, 0, '3');
    await redis.hset(source, 'failures', 1, 'opensAt', 1, 'limit', 2);
    const claims = claimsOf(rows);
    expect(await claims.retry(true)).toMatchObject({ ids: [], suspectInMs: Infinity });
    const first = await claims.claim();
    expect(first).toMatchObject({ ids: ['4'], isProbe: true, isRetry: false });
    const waiting = await claims.retry(true);
    expect(waiting.ids).toEqual([]);
    expect(waiting.suspectInMs).toBeGreaterThan(10_000);
    await claims.commit(first, all(first.ids, loaded(rows)));
    await redis.hset(source, 'opensAt', 1, 'limit', 2);
    await redis.zadd(due, Date.now() + 500_000, '4');
    // What is known to hang comes last here.
    const second = await claims.retry(true);
    expect(second).toMatchObject({ ids: ['1', '2'], isProbe: true, isRetry: true, isHung: false });
    await claims.commit(second, all(second.ids, loaded(rows)));
    expect(await redis.exists(source)).toBe(0);
  });

  test('are no probe if they are known to hang and there are others, due now or later', async () => {
    const rows = await failing(2, (id) => id === '1', { outcome: 'hung', times: 2 });
    const { source, due, packs } = keysOf(rows);
    await redis.hset(source, 'failures', 1, 'opensAt', 1, 'limit', 1);
    for (const set of [due, packs])
      for (const member of await redis.zrange(set, '0', '-1'))
        await redis.zadd(set, Date.now() + 50_000, member);
    const claims = claimsOf(rows);
    // Whoever claims the others tells when these are due, so that nobody asks again and again.
    expect(await claims.retry(true)).toMatchObject({ ids: [], hungInMs: Infinity });
    await redis.del(due, packs);
    expect(await claims.retry(true)).toMatchObject({ ids: ['1'], isProbe: true, isHung: true });
  });

  test.each(['suspects', 'hung'] as const)(
    'whose lease is of the clock of before do not wait for it (%s)',
    async (part) => {
      const rows = await failing(2, () => true, { outcome: part === 'hung' ? 'hung' : 'failed', times: 2 });
      const keys = keysOf(rows);
      const claims = claimsOf(rows);
      const old = await claims.retry(true);
      const aheadMs = 3_600_000;
      for (const id of ['1', '2']) await redis.zincrby(keys[part], aheadMs, id);
      await shiftLease(redis, keys, aheadMs);
      await redis.zadd(keys[part], Date.now() + aheadMs, old.ids[0] === '1' ? '2' : '1');
      await claims.claim();
      const given = await claims.retry(true);
      expect(given.ids).toEqual(old.ids);
      const other = Number(await redis.zscore(keys[part], old.ids[0] === '1' ? '2' : '1'));
      expect(other - Date.now()).toBeLessThanOrEqual(DEFAULTS.maxBackoffMs);
      // A lease of now is left alone, although it is as far ahead.
      expect(Number(given.lease)).toBeGreaterThan(Date.now() + aheadMs);
      for (let count = 0; count < 3; count += 1) await claims.claim();
      expect((await claims.retry(true)).ids).toEqual([]);
    },
  );
});

describe('a probe', () => {
  test('that finds no row is not waited for', async () => {
    const rows = cacheOf(redis, new Database().put('1'));
    const { source } = keysOf(rows);
    await rows.schedule('1', { everyMs: 200 });
    await redis.hset(source, 'failures', 1, 'opensAt', 1, 'limit', 1);
    await refresh(redis, rows);
    // Nine loads, of twice as many rows each time that might be due; between any two of them nothing is.
    await until('the source to be back', async () => (await redis.exists(source)) === 0);
    expect(await rows.stats()).toMatchObject({ shardsDown: 0, loaded: 1 });
  });

  test('that is answered lets the pauses begin anew', async () => {
    const rows = await failing(2, () => false);
    const { source, due } = keysOf(rows);
    const claims = claimsOf(rows);
    await redis.hset(source, 'failures', 12, 'opensAt', 1, 'limit', 1);
    const answered = await claims.claim();
    await claims.commit(answered, all(answered.ids, loaded(rows)));
    await redis.zadd(due, 1, '1', 1, '2');
    const failed = await claims.claim();
    expect(failed).toMatchObject({ ids: ['1', '2'], isProbe: true });
    await claims.commit(failed, { outcomes: new Map(), isSourceDown: true });
    const [opensAt, limit] = (await redis.hmget(source, 'opensAt', 'limit')).map(Number);
    expect(opensAt! - Number(failed.claimedAt)).toBeLessThan(30_000);
    expect(limit).toBe(1);
  });
});

test('shards whose rows hang have the slots for them in turn, also one of few such rows beside one of many', async () => {
  const rows = cacheOf(redis, new Database());
  const work = { table: tableOf(rows), hungSlots: new Slots(2), retrySlots: new Slots(4) } as TableWork;
  const order: string[] = [];
  const ends: (() => void)[] = [];
  const shardOf = (name: string): Retries => {
    const nothing = { suspectInMs: Infinity, ids: [] as string[], isHung: false };
    const retry = (canHang: boolean): Promise<unknown> =>
      Promise.resolve({ ...nothing, hungInMs: 0, ...(canHang && { ids: [name], isHung: true }) });
    return new Retries({ retry } as Claims, work, {
      onError: (error) => order.push(String(error)),
      run: ({ ids }) => {
        order.push(ids[0]!);
        return new Promise((resolve) => ends.push(resolve));
      },
    });
  };
  const shards = ['many', 'few', 'more'].map(shardOf);
  for (const shard of shards) {
    shard.start();
    shard.expect({ suspectInMs: Infinity, hungInMs: 0 });
  }
  for (let turn = 0; turn < 30; turn += 1) {
    const end = await until('a row', () => ends.shift());
    end();
  }
  await until('the last two', () => order.length >= 31);
  await Promise.all(shards.map((shard) => shard.stop()));
  for (const end of ends) end();
  const turns = ['many', 'few', 'more'].map(
    (name) => order.slice(0, 30).filter((one) => one === name).length,
  );
  expect(Math.max(...turns) - Math.min(...turns)).toBeLessThanOrEqual(1);
  // Each slot is given back, also those that were asked for and not used.
  await until('all slots', async () => {
    const [one, two] = [work.hungSlots.take(), work.hungSlots.take()];
    await Promise.all([one, two]);
    work.hungSlots.free();
    work.hungSlots.free();
    return true;
  });
});

describe('who makes a row due that lies apart wakes refreshers, also while others are due', () => {
  test.each([
    ['refresh', (rows: RowCache<Item>): Promise<unknown> => rows.refresh('1')],
    ['schedule', (rows: RowCache<Item>): Promise<unknown> => rows.schedule('1', { everyMs: 5_000 })],
    [
      'a change feed',
      (rows: RowCache<Item>): Promise<unknown> => {
        const { due, rows: states, packs, packed, suspects, hung, wake } = keysOf(rows);
        const values = [keysOf(rows).row('1')];
        return changeFeedMark.run(
          redis,
          { due, rows: states, packs, packed, suspects, hung, wake, values },
          { publish: 'SPUBLISH', idleMs: 60_000, ids: ['1'] },
        );
      },
    ],
  ])('%s', async (_, act) => {
    const rows = await failing(20, (id) => id === '1');
    const { suspects, wake } = keysOf(rows);
    await redis.zadd(suspects, Date.now() + 50_000, '1');
    const listener = connect();
    let heard = 0;
    listener.on('message', () => (heard += 1));
    listener.on('smessage', () => (heard += 1));
    await listener.subscribe(wake);
    await listener.ssubscribe(wake);
    await act(rows);
    await until('the wake-up', () => heard > 0);
    expect(Number(await redis.zscore(suspects, '1'))).toBeLessThanOrEqual(Date.now());
  });
});
