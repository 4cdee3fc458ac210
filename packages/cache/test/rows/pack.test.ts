import { describe, expect, jest, test } from '@jest/globals';
import type { RowCache } from '@mortise/cache/rows';
import { connect, until } from '@mortise/test-kit';
import type { ShardKeys } from '../../src/rows/keys.js';
import { DEFAULTS } from '../../src/rows/options.js';
import type { ResolvedRefresherOptions } from '../../src/rows/options.js';
import type { LeasedRows } from '../../src/rows/leased-rows.js';
import type { Committed, Outcome, RowLeases } from '../../src/rows/row-leases.js';
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
const HOUR = { everyMs: 3_600_000 };
const IDS = [...Array.from({ length: 18 }, (_, index) => `row ${index}`), 'é1', '1'];

interface Options extends Partial<ResolvedRefresherOptions> {
  readonly missing?: 'tombstone';
}

/** Rows that were loaded once, together. */
class Packed {
  readonly rows: RowCache<Item>;
  readonly keys: ShardKeys;
  readonly leases: RowLeases;

  private constructor({ missing, ...options }: Options) {
    this.rows = cacheOf(redis, new Database(), { ...(missing && { missing }) });
    this.keys = keysOf(this.rows);
    this.leases = this.leasesWith(options);
  }

  static async make(options: Options = {}): Promise<Packed> {
    const made = new Packed(options);
    await made.rows.scheduleAll(IDS, HOUR);
    await made.commit(await made.leases.lease(), 'first');
    expect(await made.packs()).toHaveLength(1);
    expect(await redis.exists(made.keys.due)).toBe(0);
    return made;
  }

  leasesWith(options: Partial<ResolvedRefresherOptions>): RowLeases {
    return leasesOf(redis, this.rows, options);
  }

  value(name: string): Outcome {
    return loaded(this.rows, name);
  }

  /** Marks rows as a change feed does. */
  mark(...ids: string[]): Promise<unknown> {
    return mark(redis, this.rows, ...ids);
  }

  /** All rows of the lease with that name, but for those with an outcome of their own. */
  commit(leased: LeasedRows, name: string, others: Record<string, Outcome> = {}): Promise<Committed> {
    const outcomes = new Map(leased.ids.map((id) => [id, others[id] ?? this.value(name)]));
    return this.leases.commit(leased, { outcomes, isSourceDown: false });
  }

  packs(): Promise<string[]> {
    return redis.zrange(this.keys.packs, '0', '-1');
  }

  /** All that is not leased. */
  async makeDue(at = 1): Promise<void> {
    for (const pack of await this.packs()) await redis.zadd(this.keys.packs, at, pack);
  }

  async leaseDue(leases = this.leases): Promise<LeasedRows> {
    await this.makeDue();
    return leases.lease();
  }

  /** The names of the rows, with how many have each. */
  async names(): Promise<Record<string, number>> {
    const names: Record<string, number> = {};
    for (const { name } of (await this.rows.getMany(IDS)).values()) names[name] = (names[name] ?? 0) + 1;
    return names;
  }
}

describe('a pack', () => {
  test('is leased and committed as one, and each of its rows tells where it stands', async () => {
    const packed = await Packed.make();
    const { rows } = packed;
    expect(await rows.stats()).toMatchObject({ scheduled: 20, loaded: 20, due: 0, lagMs: 0 });
    const state = await rows.inspect('row 3');
    expect(state).toMatchObject({ row: { name: 'first' }, everyMs: HOUR.everyMs, failures: 0 });
    expect(state!.nextInMs).toBeGreaterThan(HOUR.everyMs - 60_000);
    expect(state!.ageMs).toBeLessThan(60_000);

    await packed.makeDue();
    expect(await rows.stats()).toMatchObject({ scheduled: 20, due: 20 });
    expect((await rows.stats()).lagMs).toBeGreaterThan(1_000_000);
    const leased = await packed.leases.lease();
    expect(leased.ids.toSorted()).toEqual(IDS.toSorted());
    expect(await packed.leases.lease()).toMatchObject({ ids: [], packs: [] });
    expect(await rows.stats()).toMatchObject({ due: 0 });
    const { held, unchanged, nextInMs } = await packed.commit(leased, 'first', {
      'row 5': packed.value('changed'),
    });
    expect([held, unchanged]).toEqual([20, 19]);
    expect(nextInMs).toBeGreaterThan(HOUR.everyMs - 60_000);
    expect(await packed.names()).toEqual({ first: 19, changed: 1 });
    const { unchanged: again } = await packed.commit(await packed.leaseDue(), 'first', {
      'row 5': packed.value('changed'),
    });
    expect(again).toBe(20);
  });

  test('is given again when its lease has ended, and the result of the old lease is refused', async () => {
    const packed = await Packed.make({ leaseMs: 500 });
    const old = await packed.leaseDue();
    const current = await until('the lease to end', async () => {
      const leased = await packed.leases.lease();
      return leased.ids.length > 0 && leased;
    });
    expect(current.ids).toHaveLength(20);
    for (const outcome of ['missing', 'failed', packed.value('old')] as const) {
      expect(await packed.leases.commit(old, all(IDS, outcome))).toMatchObject({ held: 0 });
    }
    expect(await packed.names()).toEqual({ first: 20 });
    expect(await packed.commit(current, 'new')).toMatchObject({ held: 20 });
    expect(await packed.commit(current, 'twice')).toMatchObject({ held: 0 });
    expect(await packed.names()).toEqual({ new: 20 });
    expect(await packed.rows.stats()).toMatchObject({ scheduled: 20, loaded: 20, failing: 0 });
  });

  test('loses rows that are changed while they are loaded, whose results are not stored', async () => {
    const packed = await Packed.make();
    const { rows } = packed;
    const leased = await packed.leaseDue();
    expect(await rows.unschedule('row 2')).toBe(true);
    expect(await rows.refresh('row 3')).toBe(true);
    await rows.schedule('row 4', { everyMs: 1_000 });
    await rows.schedule('row 5', HOUR);
    await rows.unschedule('row 6');
    await rows.schedule('row 6', HOUR);
    const { held, nextInMs } = await packed.commit(leased, 'late', {
      'row 2': packed.value('no'),
      'row 3': 'missing',
    });
    expect([held, nextInMs]).toEqual([16, 0]);
    expect(await packed.names()).toEqual({ late: 16, first: 2 });
    expect(await rows.stats()).toMatchObject({ scheduled: 19, loaded: 18, due: 3 });
    const second = await packed.leases.lease();
    expect(second.ids.toSorted()).toEqual(['row 3', 'row 4', 'row 6']);
    expect(await packed.commit(second, 'new')).toMatchObject({ held: 3 });
    expect(await rows.inspect('row 4')).toMatchObject({ row: { name: 'new' }, everyMs: 1_000 });
    // A row that has left is not leased with the pack again.
    expect((await packed.leaseDue()).ids).toHaveLength(16);
  });

  test('loses rows that are gone or failed, and keeps the others', async () => {
    const packed = await Packed.make();
    const { rows } = packed;
    const others = { 'row 1': 'missing', 'row 2': 'failed', 'row 3': 'skipped' } as const;
    const { held } = await packed.commit(await packed.leaseDue(), 'new', others);
    expect(held).toBe(20);
    expect(await rows.get('row 1')).toBeNull();
    expect(await packed.names()).toEqual({ new: 17, first: 2 });
    expect(await rows.inspect('row 2')).toMatchObject({ failures: 1, everyMs: HOUR.everyMs });
    expect(await rows.stats()).toMatchObject({ scheduled: 19, loaded: 19, failing: 1 });
    expect(await redis.pttl(packed.keys.due)).toBeGreaterThan(0);
    await redis.zadd(packed.keys.due, 'XX', 1, 'row 3');
    await redis.zadd(packed.keys.failed, 'XX', 1, 'row 2');
    for (const id of ['row 2', 'row 3']) {
      const rest = await (id === 'row 2' ? packed.leases.leaseFailed() : packed.leases.lease());
      expect(rest.ids).toEqual([id]);
      expect(rest.states[0]!.everyMs).toBe(HOUR.everyMs);
      await packed.commit(rest, 'new');
    }
    expect(await packed.names()).toEqual({ new: 19 });
    expect(await rows.stats()).toMatchObject({ failing: 0 });
  });

  test('keeps no tombstone', async () => {
    const packed = await Packed.make({ missing: 'tombstone' });
    await packed.commit(await packed.leaseDue(), 'first', { 'row 1': 'missing' });
    expect(await packed.rows.get('row 1')).toBeNull();
    expect(await packed.rows.stats()).toMatchObject({ scheduled: 20, due: 0 });
    expect((await packed.leaseDue()).ids).toHaveLength(19);
    expect(await redis.zcard(packed.keys.due)).toBe(1);
  });

  test('of which no row is left goes away', async () => {
    const packed = await Packed.make();
    await packed.leases.commit(await packed.leaseDue(), all(IDS, 'missing'));
    expect(await redis.exists(packed.keys.packs, packed.keys.packed, packed.keys.rows, packed.keys.due)).toBe(
      0,
    );
    const second = await Packed.make();
    await Promise.all(IDS.map((id) => second.rows.unschedule(id)));
    expect(await second.leaseDue()).toMatchObject({ ids: [], nextInMs: Infinity });
    expect(await redis.exists(second.keys.packs, second.keys.packed, second.keys.rows)).toBe(0);
  });

  test('stays as it is while the source is down, and a probe takes a single row', async () => {
    const packed = await Packed.make({ backoff: { ...DEFAULTS.backoff, delayMs: 1, maxDelayMs: 1 } });
    const { rows } = packed;
    const failed = { outcomes: new Map(), isSourceDown: true };
    expect(await packed.leases.commit(await packed.leaseDue(), failed)).toMatchObject({ held: 20 });
    expect(await packed.packs()).toHaveLength(1);
    expect(await rows.stats()).toMatchObject({ shardsDown: 1, due: 20, scheduled: 20, failing: 0 });
    const probe = await until('the end of the pause', async () => {
      const leased = await packed.leases.lease();
      return leased.ids.length > 0 && leased;
    });
    expect(probe).toMatchObject({ isProbe: true, nextInMs: 0 });
    expect(probe.ids).toHaveLength(1);
    await packed.commit(probe, 'back');
    expect(await packed.names()).toEqual({ back: 1, first: 19 });
    expect(await rows.stats()).toMatchObject({ due: 19, scheduled: 20 });
  });

  test('that is larger than a batch is dissolved, without those that have left', async () => {
    const packed = await Packed.make();
    const leases = packed.leasesWith({ batch: 6 });
    await packed.rows.unschedule('row 7');
    await packed.makeDue();
    const sizes: number[] = [];
    for (;;) {
      const { ids } = await leases.lease();
      if (ids.length === 0) break;
      sizes.push(ids.length);
    }
    expect(sizes).toEqual([6, 6, 6, 1]);
    expect(await packed.packs()).toEqual([]);
    expect(await redis.pttl(packed.keys.due)).toBeGreaterThan(0);
    expect(await packed.rows.inspect('row 8')).toMatchObject({
      row: { name: 'first' },
      everyMs: HOUR.everyMs,
    });
  });

  test('stays whole where another one has given a probe its row', async () => {
    const packed = await Packed.make();
    const { keys, leases } = packed;
    const more = Array.from({ length: 30 }, (_, index) => `more ${index}`);
    await packed.rows.scheduleAll(more, HOUR);
    await packed.commit(await leases.lease(), 'first');
    await packed.makeDue();
    expect(await packed.packs()).toHaveLength(2);
    await redis.hset(keys.source, 'failures', 1, 'opensAt', 1, 'limit', 1);
    const probe = await leases.lease();
    expect(probe).toMatchObject({ isProbe: true });
    expect(probe.ids).toHaveLength(1);
    expect(await packed.packs()).toHaveLength(1);
    await packed.commit(probe, 'again');
    expect((await leases.lease()).ids).toHaveLength(2);
    expect(await packed.packs()).toHaveLength(1);
  });

  test.each([
    [20, [20, 1], 'comes before a row that was due only a moment earlier'],
    [30, [1, 20], 'comes after a row that has been due for longer'],
  ])('for which there is no room beside a row (%d ms) %j: %s', async (earlierMs, expected) => {
    const packed = await Packed.make();
    const { keys } = packed;
    await packed.rows.schedule('single', HOUR);
    const at = Date.now() - 10_000;
    for (const pack of await packed.packs()) await redis.zadd(keys.packs, at, pack);
    await redis.zadd(keys.due, at - earlierMs, 'single');
    const leases = packed.leasesWith({ batch: 20 });
    expect([(await leases.lease()).ids.length, (await leases.lease()).ids.length]).toEqual(expected);
  });

  test('keeps a row whose id ends like that of one beyond ASCII that has left', async () => {
    const packed = await Packed.make();
    expect(await packed.rows.unschedule('é1')).toBe(true);
    const leased = await packed.leaseDue();
    expect(leased.ids).toHaveLength(19);
    expect(await packed.commit(leased, 'new')).toMatchObject({ held: 19 });
    expect(await packed.names()).toEqual({ new: 19 });
    expect((await packed.leaseDue()).ids).toContain('1');
  });

  test('under a lease that has ended is dissolved without it: its former holder holds none of the rows', async () => {
    const packed = await Packed.make({ leaseMs: 300 });
    await packed.rows.schedule('single', HOUR);
    const old = await packed.leaseDue();
    expect([old.ids.length, old.packs.length]).toEqual([21, 1]);
    await packed.rows.unschedule('single');
    const others = packed.leasesWith({ batch: 19 });
    const taken = await until('the lease to end', async () => {
      const { ids } = await others.lease();
      return ids.length > 0 && ids;
    });
    // One row keeps the score that all got: the old lease had as many rows outside a pack.
    expect(taken).toHaveLength(19);
    expect(await packed.commit(old, 'late')).toMatchObject({ held: 0 });
    expect(await packed.rows.get('single')).toBeNull();
    expect(await packed.rows.inspect('single')).toBeNull();
  });

  const MORE = Array.from({ length: 10 }, (_, index) => `more ${index}`);

  /** A pack beside another one of ten rows. */
  async function withMore(): Promise<{ packed: Packed; both: LeasedRows }> {
    const packed = await Packed.make({ batch: 100 });
    await packed.rows.scheduleAll(MORE, HOUR);
    await packed.commit(await packed.leases.lease(), 'first');
    expect(await packed.packs()).toHaveLength(2);
    return { packed, both: await packed.leaseDue() };
  }

  test('of few rows joins others', async () => {
    const { packed, both } = await withMore();
    expect(both.packs).toHaveLength(2);
    expect(await packed.commit(both, 'second')).toMatchObject({ held: 30 });
    expect(await packed.packs()).toHaveLength(1);
    expect((await packed.leaseDue()).ids.toSorted()).toEqual([...IDS, ...MORE].toSorted());
    expect(await redis.hlen(packed.keys.packed)).toBe(2);
  });

  test('joins no others when a row has left one of them', async () => {
    const { packed, both } = await withMore();
    await packed.rows.unschedule('more 3');
    expect(await packed.commit(both, 'second')).toMatchObject({ held: 29 });
    expect(await packed.packs()).toHaveLength(2);
    expect(await redis.hexists(packed.keys.rows, 'more 3')).toBe(0);
    const again = await packed.leaseDue();
    expect(again.ids).toHaveLength(29);
    await packed.commit(again, 'third');
    expect(await packed.packs()).toHaveLength(1);
    expect(await packed.rows.stats()).toMatchObject({ scheduled: 29, loaded: 29, due: 0 });
  });

  test('takes turns with rows that have none: what has been due for longest comes first', async () => {
    const packed = await Packed.make({ batch: 20 });
    const due = Array.from({ length: 25 }, (_, index) => `single ${index}`);
    await packed.rows.scheduleAll(due, HOUR);
    await packed.makeDue(Date.now() + 1_000_000);
    const first = await packed.leases.lease();
    expect(first.ids).toHaveLength(20);
    expect(first.packs).toEqual([]);
    const pack = await packed.leaseDue();
    expect(pack.ids).toHaveLength(20);
    expect(pack.packs).toHaveLength(1);
    expect(pack.nextInMs).toBe(0);
    expect((await packed.leases.lease()).ids).toHaveLength(5);
  });

  test('of more than a MiB is stored in several scripts', async () => {
    const packed = await Packed.make();
    const leased = await packed.leaseDue();
    await packed.rows.unschedule('row 4');
    const large = packed.value('x'.repeat(200_000));
    const calls = jest.spyOn(redis, 'call');
    expect(await packed.leases.commit(leased, all(IDS, large))).toMatchObject({ held: 19 });
    expect(calls.mock.calls.filter(([command]) => command === 'evalsha')).toHaveLength(4);
    calls.mockRestore();
    expect((await packed.rows.getMany(IDS)).size).toBe(19);
    const again = await packed.leaseDue();
    expect(again.ids).toHaveLength(19);
    expect(await packed.leases.commit(again, all(IDS, large))).toMatchObject({ unchanged: 19 });
  });

  test('whose values were stored in part is stored again, also where it is what it was before', async () => {
    const packed = await Packed.make();
    const text = 'x'.repeat(200_000);
    await packed.commit(await packed.leaseDue(), `${text}5`);
    const leased = await packed.leaseDue();
    const call = redis.call.bind(redis);
    let scripts = 0;
    const dying = jest.spyOn(redis, 'call').mockImplementation(async (...given: Parameters<typeof call>) => {
      scripts += Number(given[0] === 'evalsha');
      if (scripts > 1) throw new Error('killed');
      return call(...given);
    });
    await expect(packed.commit(leased, `${text}4`)).rejects.toThrow('killed');
    dying.mockRestore();
    const mixed = await packed.names();
    expect(Object.keys(mixed)).toHaveLength(2);
    await packed.commit(await packed.leaseDue(), `${text}5`);
    expect(await packed.names()).toEqual({ [`${text}5`]: 20 });
  });

  test('loads a value again that was lost', async () => {
    const packed = await Packed.make();
    const { keys, rows } = packed;
    await redis.del(keys.row('row 1'), keys.row('row 2'));
    await rows.refresh('row 1');
    await packed.commit(await packed.leases.lease(), 'first');
    expect(await rows.get('row 1')).toEqual({ name: 'first' });
    const [name] = await packed.packs();
    const header = (await redis.hget(keys.packed, name!))!;
    await redis.hset(keys.packed, name!, String(Number(header.slice(0, 13)) - 16_000) + header.slice(13));
    expect(await packed.commit(await packed.leaseDue(), 'first')).toMatchObject({ nextInMs: 0 });
    const lost = await packed.leases.lease();
    expect(lost.ids).toEqual(['row 2']);
    await packed.commit(lost, 'first');
    expect(await packed.names()).toEqual({ first: 20 });
    expect((await packed.leaseDue()).ids).toHaveLength(18);
  });

  test('does not wait for a clock that has run back', async () => {
    const packed = await Packed.make();
    const { keys, leases } = packed;
    const aheadMs = 6 * HOUR.everyMs;
    for (const pack of await packed.packs()) await redis.zincrby(keys.packs, aheadMs, pack);
    await shiftLease(redis, keys, aheadMs);
    expect((await leases.lease()).ids).toHaveLength(20);
  });
});

test.each([
  ['a row of a pack', 1],
  ['a row on its own', 20],
])('a change feed takes the lease that has ended from %s', async (_, alone) => {
  const packed = await Packed.make({ leaseMs: 100 });
  // Before the change; who has read it stands still.
  await Promise.all(IDS.slice(0, alone === 1 ? 0 : alone).map((id) => packed.rows.refresh(id)));
  const old = await (alone === 1 ? packed.leaseDue() : packed.leases.lease());
  expect(old.ids).toHaveLength(20);
  await until('the end of the lease', async () => {
    const [seconds] = await redis.time();
    return Number(seconds) * 1_000 > Number(old.lease);
  });
  expect(await packed.mark('row 4')).toEqual([1]);
  expect(await packed.commit(old, 'before')).toMatchObject({ held: 19 });
  expect(await packed.names()).toEqual({ before: 19, first: 1 });
  const leased = await packed.leases.lease();
  expect(leased.ids).toEqual(['row 4']);
  expect(await packed.commit(leased, 'after')).toMatchObject({ held: 1 });
  expect(await packed.rows.get('row 4')).toEqual({ name: 'after' });
});

test('a change feed leaves a row of a pack alone while it is loaded, then takes it out of it', async () => {
  const packed = await Packed.make();
  const { packs, packed: hash } = packed.keys;
  const leased = await packed.leaseDue();
  expect(await packed.mark('row 1', 'unknown')).toEqual([2, 0]);
  expect(await packed.commit(leased, 'new')).toMatchObject({ held: 20 });
  expect(await packed.mark('unknown', 'row 1', 'row 2')).toEqual([0, 1, 1]);
  const marked = await packed.leases.lease();
  expect(marked.ids).toEqual(['row 1', 'row 2']);
  // Their values are known, so what has not changed isn't stored again.
  expect(await packed.commit(marked, 'new', { 'row 2': packed.value('changed') })).toMatchObject({
    unchanged: 1,
  });
  expect(await packed.names()).toEqual({ new: 19, changed: 1 });
  expect((await packed.leaseDue()).ids).toHaveLength(18);
  await packed.makeDue();
  expect(await packed.mark('row 5')).toEqual([1]);
  await redis.del(packs, hash);
  expect(await packed.mark('row 6')).toEqual([0]);
});

describe('a pack with an evicted key', () => {
  test('is not loaded any more without the states of its rows', async () => {
    const packed = await Packed.make();
    await redis.del(packed.keys.rows);
    await packed.rows.schedule('row 1', HOUR);
    await packed.makeDue();
    expect((await packed.leases.lease()).ids).toEqual(['row 1']);
    expect(await packed.packs()).toEqual([]);
    expect(await redis.exists(packed.keys.packed)).toBe(0);
  });

  test.each(['packed', 'packs'] as const)('is mended by schedule without %s', async (key) => {
    const packed = await Packed.make();
    await redis.del(packed.keys[key]);
    await packed.rows.schedule('row 1', HOUR);
    await packed.rows.refresh('row 2');
    await packed.rows.unschedule('row 3');
    await packed.makeDue();
    const leased = await packed.leases.lease();
    expect(leased.ids).toEqual(['row 1', 'row 2']);
    await packed.commit(leased, 'new');
    expect(await packed.names()).toEqual({ new: 2, first: 17 });
    expect(await packed.rows.stats()).toMatchObject({ scheduled: 19, loaded: 19, due: 0 });
  });
});

test('a refresher sleeps until a pack is due, and is woken for a row of it', async () => {
  const database = new Database().put(...IDS);
  const rows = cacheOf(redis, database);
  await rows.scheduleAll(IDS, HOUR);
  await refresh(redis, rows);
  await until('a pack', async () => (await redis.zcard(keysOf(rows).packs)) === 1);
  database.items.set('row 9', { name: 'changed' });
  await rows.refresh('row 9');
  await until('the change', async () => (await rows.get('row 9'))?.name === 'changed');
  expect(database.loads.filter((id) => id === 'row 9')).toHaveLength(2);
  expect(database.loads).toHaveLength(21);
});
