import { describe, expect, jest, test } from '@jest/globals';
import { Refresher, RowCache } from '@mortise/cache/rows';
import type { LoadRows, RowLoadError } from '@mortise/cache/rows';
import { Waiter } from '@mortise/redis';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { BatchWindow } from '../../src/rows/batch-window.js';
import { cacheOf, Database, refresh } from '../fixture/tables.js';
import type { Item } from '../fixture/tables.js';

const redis = connect();
/** Each is another process to Redis. */
const others = [connect(), connect(), connect()];
const HOUR = { everyMs: 3_600_000 };

function idsUpTo(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `row ${index}`);
}

/** A loader that answers when the test lets it. */
class Gate {
  readonly calls: { ids: readonly string[]; signal: AbortSignal; open: (rows: Map<string, Item>) => void }[] =
    [];

  readonly load: LoadRows<Item> = (ids, signal) =>
    new Promise((open) => {
      this.calls.push({ ids, signal, open });
    });

  async call(index: number): Promise<(typeof this.calls)[number]> {
    return until(`load ${index}`, async () => this.calls[index]);
  }
}

describe('a due row', () => {
  test('is loaded in batches, one query for each', async () => {
    const ids = idsUpTo(600);
    const database = new Database().put(...ids);
    const rows = cacheOf(redis, database);
    await rows.scheduleAll(ids, HOUR);
    await refresh(redis, rows);
    await until('all rows', async () => (await rows.getMany(ids)).size === 600);
    expect(database.queries.map((query) => query.length).toSorted((a, b) => a - b)).toEqual([100, 250, 250]);
    expect(new Set(database.loads).size).toBe(600);
  });

  test('one after the other is gathered into batches', async () => {
    const prefix = freshPrefix();
    const ids = idsUpTo(200);
    const database = new Database().put(...ids);
    const rows = cacheOf(redis, database, { prefix });
    await rows.scheduleAll(ids, HOUR);
    const due = `${prefix}:cache:{items}:due`;
    const now = Number((await redis.zscore(due, 'row 0'))!) + 100;
    // One each millisecond.
    await redis.zadd(due, ...ids.flatMap((id, index) => [now + index, id]));
    await refresh(redis, rows);
    await until('all rows', async () => (await rows.getMany(ids)).size === 200);
    expect(database.queries.length).toBeLessThan(30);
    expect(database.loads).toHaveLength(200);
  });

  test('is loaded again and again, in step with its delay', async () => {
    const prefix = freshPrefix();
    const database = new Database().put('42');
    const rows = cacheOf(redis, database, { prefix });
    await rows.schedule('42', { everyMs: 50 });
    const first = Number(await redis.zscore(`${prefix}:cache:{items}:due`, '42'));
    await refresh(redis, rows);
    const last = await until('six loads', async () => {
      const due = Number(await redis.zscore(`${prefix}:cache:{items}:due`, '42'));
      // Between claim and commit the score is the end of the lease, at half a millisecond.
      return database.loads.length >= 6 && Number.isInteger(due) && due;
    });
    expect(last - first).toBeGreaterThanOrEqual(300);
    // A machine under load may miss a beat, which moves the step once.
    expect(database.loads.length).toBeLessThanOrEqual((last - first) / 50);
  });

  test.each([
    ['row', 5, 'due', 100_000],
    ['pack', 10, 'packs', 20_000],
  ])('is up to the jitter early, each %s by another part', async (_, batch, set, spread) => {
    const prefix = freshPrefix();
    const ids = idsUpTo(100);
    const rows = cacheOf(redis, new Database().put(...ids), { prefix, jitter: 0.2 });
    await rows.scheduleAll(ids, { everyMs: 1_000_000 });
    const [, at] = await redis.zrange(`${prefix}:cache:{items}:due`, '0', '0', 'WITHSCORES');
    await refresh(redis, rows, { batch });
    await until('all rows', async () => (await rows.stats()).loaded === 100);
    const due = await redis.zrange(`${prefix}:cache:{items}:${set}`, '0', '-1', 'WITHSCORES');
    const delays = due.filter((__, index) => index % 2 === 1).map((score) => Number(score) - Number(at));
    expect(delays).toHaveLength(set === 'due' ? 100 : 100 / batch);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(800_000);
    expect(Math.max(...delays)).toBeLessThanOrEqual(1_000_100);
    expect(Math.max(...delays) - Math.min(...delays)).toBeGreaterThan(spread);
  });

  test('is taken out when it is gone from the database, and comes back when it is scheduled again', async () => {
    const database = new Database().put('1', '2', '3');
    const rows = cacheOf(redis, database);
    await refresh(redis, rows);
    await rows.scheduleAll(['1', '2', '3', 'never there'], HOUR);
    await until('three rows', async () => (await rows.stats()).scheduled === 3);
    database.items.delete('1');
    database.items.set('2', null as unknown as Item);
    await Promise.all(['1', '2'].map((id) => rows.refresh(id)));
    await until('one row', async () => (await rows.stats()).scheduled === 1);
    expect([...(await rows.getMany(['1', '2', '3'])).keys()]).toEqual(['3']);
    database.put('1');
    await rows.schedule('1', HOUR);
    await until('the row', async () => (await rows.get('1')) !== null);
  });

  test('of several tables is loaded beside each other', async () => {
    const databases = [new Database().put('1'), new Database().put('1')];
    const prefix = freshPrefix();
    const tables = databases.map(
      (database, index) => new RowCache<Item>(redis, `t${index}`, { prefix, load: database.load }),
    );
    const refresher = new Refresher(redis, tables);
    await refresher.start();
    await Promise.all(tables.map((rows) => rows.schedule('1', HOUR)));
    await until('both rows', async () =>
      (await Promise.all(tables.map((rows) => rows.get('1')))).every(Boolean),
    );
    await refresher.stop();
    expect(databases.map(({ loads }) => loads)).toEqual([['1'], ['1']]);
  });
});

describe('a load that fails', () => {
  test('keeps the cached value, is reported, and is tried again after growing pauses', async () => {
    const database = new Database().put('42');
    const rows = cacheOf(redis, database);
    const { errors } = await refresh(redis, rows, { backoff: { delayMs: 20, maxDelayMs: 200 } });
    await rows.schedule('42', HOUR);
    await until('the row', async () => (await rows.get('42')) !== null);

    const failure = new Error('the database is away');
    database.failure = failure;
    await rows.refresh('42');
    await until('three failures', async () => database.loads.length >= 4);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({ code: 'ERR_ROW_LOAD', table: 'items', ids: ['42'], cause: failure });
    expect(await rows.get('42')).toEqual({ name: 'item 42' });
    expect(await rows.stats()).toMatchObject({ scheduled: 1, failing: 1 });

    database.items.set('42', { name: 'changed' });
    database.failure = undefined;
    await until('the change', async () => (await rows.get('42'))?.name === 'changed');
    expect(await rows.stats()).toMatchObject({ scheduled: 1, failing: 0 });
  });

  test('is reported once a minute for all rows of the table, and another cause at once', async () => {
    const database = new Database().put('1', '2', '3');
    const rows = cacheOf(redis, database);
    const { errors } = await refresh(redis, rows, { batch: 1, backoff: { delayMs: 1, maxDelayMs: 10 } });
    database.failure = new Error('the database is away');
    await rows.scheduleAll(['1', '2', '3'], HOUR);
    await until(
      'failures of each row',
      () => new Set(database.loads).size === 3 && database.loads.length > 9,
    );
    database.failure = new Error('the table is locked');
    await until('the other failure', () => errors.length > 1);
    expect(errors.map((error) => (error as RowLoadError).cause)).toEqual([
      new Error('the database is away'),
      new Error('the table is locked'),
    ]);
  });

  test('waits at least half of a pause that doubles, and not longer than the longest', async () => {
    const prefix = freshPrefix();
    const database = new Database();
    database.failure = new Error('unavailable');
    const rows = cacheOf(redis, database, { prefix });
    await refresh(redis, rows, { backoff: { delayMs: 400_000, maxDelayMs: 1_000_000 } });
    await rows.schedule('42', HOUR);
    const pauses: number[] = [];
    for (const failures of [1, 2, 3, 4]) {
      await rows.refresh('42');
      const due = await until('the failure', async () => {
        const score = Number(await redis.zscore(`${prefix}:cache:{items}:failed`, '42'));
        return (
          database.loads.length >= failures && Number.isInteger(score) && score > Date.now() + 1_000 && score
        );
      });
      pauses.push(due - Date.now());
    }
    const [first, second, third, fourth] = pauses.map((pause) => Math.round(pause / 1_000)) as [
      number,
      number,
      number,
      number,
    ];
    // Some seconds may have passed since it was planned.
    expect([first >= 180, first <= 400, second >= 380, second <= 800]).not.toContain(false);
    expect([third >= 480, third <= 1_000, fourth >= 480, fourth <= 1_000]).not.toContain(false);
  });

  test('is one for the batch when the result is not what was asked for, so that no row is taken for gone', async () => {
    const results: unknown[] = [
      new Map([[42, { name: 'x' }]]),
      new Map([['43', { name: 'x' }]]),
      { '42': { name: 'x' } },
      undefined,
    ];
    const rows = cacheOf(redis, { load: async () => results.shift() as Map<string, Item> });
    const { errors } = await refresh(redis, rows, { backoff: { delayMs: 1, maxDelayMs: 10 } });
    await rows.schedule('42', HOUR);
    await until('the failures', async () => results.length === 0 && errors.length >= 3);
    // The last two are the same failure.
    expect(errors.map((error) => (error as RowLoadError).cause)).toEqual([
      new TypeError('load returned a row with the number id 42, which was not requested'),
      new TypeError('load returned a row with the string id 43, which was not requested'),
      new TypeError('load must return a Map of rows by id'),
    ]);
    expect(await rows.stats()).toMatchObject({ scheduled: 1, failing: 1 });
  });

  test('is one for a single row that cannot be stored', async () => {
    const big = { name: 'x'.repeat(100) };
    const odd = { name: 1n as unknown as string };
    const database = new Database().put('1', '2', '3');
    database.items.set('2', big).set('3', odd);
    const rows = cacheOf(redis, database, { maxPayloadBytes: 50 });
    const { errors } = await refresh(redis, rows, { backoff: { delayMs: 60_000 } });
    await rows.scheduleAll(['1', '2', '3'], HOUR);
    await until('the row', async () => (await rows.get('1')) !== null);
    expect(await rows.stats()).toMatchObject({ scheduled: 3, failing: 2 });
    expect(errors).toHaveLength(2);
    expect(errors[0]).toMatchObject({
      code: 'ERR_ROW_TOO_LARGE',
      table: 'items',
      ids: ['2'],
      cause: 'it has 111 bytes, the limit is 50',
    });
    expect(errors[1]).toMatchObject({ code: 'ERR_ROW_LOAD', ids: ['3'] });
  });

  test('is one that takes as long as the lease; its signal is aborted', async () => {
    const gate = new Gate();
    const rows = cacheOf(redis, gate);
    const { errors } = await refresh(redis, rows, { leaseMs: 100, backoff: { delayMs: 60_000 } });
    await rows.schedule('42', HOUR);
    const { signal } = await gate.call(0);
    await until('the time-out', async () => errors.length > 0);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ code: 'ERR_ROW_LOAD_TIMEOUT' });
    expect(errors[0]).toMatchObject({
      code: 'ERR_ROW_LOAD',
      cause: { code: 'ERR_ROW_LOAD_TIMEOUT', table: 'items' },
    });
  });

  test('does no harm when the listener fails as well', async () => {
    const database = new Database().put('42');
    database.failure = new Error('unavailable');
    const rows = cacheOf(redis, database);
    const onError = (): void => {
      database.failure = undefined;
      throw new Error('so does the listener');
    };
    const log = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    await refresh(redis, rows, { backoff: { delayMs: 1 }, onError });
    await rows.schedule('42', HOUR);
    await until('the row', async () => (await rows.get('42')) !== null);
    expect(log).toHaveBeenCalledTimes(1);
    log.mockRestore();
    expect(database.loads).toEqual(['42', '42']);
  });
});

describe('a change during a load', () => {
  test('wins: refresh loads again', async () => {
    const gate = new Gate();
    const rows = cacheOf(redis, gate);
    await refresh(redis, rows);
    await rows.schedule('42', HOUR);
    const first = await gate.call(0);
    await rows.refresh('42');
    const second = await gate.call(1);
    second.open(new Map([['42', { name: 'new' }]]));
    await until('the row', async () => (await rows.get('42')) !== null);
    first.open(new Map([['42', { name: 'old' }]]));
    await rows.schedule('43', HOUR);
    (await gate.call(2)).open(new Map([['43', { name: 'other' }]]));
    await until('the other row', async () => (await rows.get('43')) !== null);
    expect(await rows.get('42')).toEqual({ name: 'new' });
  });

  test('wins: unschedule brings nothing back', async () => {
    const prefix = freshPrefix();
    const gate = new Gate();
    const rows = cacheOf(redis, gate, { prefix });
    const { refresher } = await refresh(redis, rows);
    await rows.schedule('42', HOUR);
    const { open } = await gate.call(0);
    await rows.unschedule('42');
    open(new Map([['42', { name: 'late' }]]));
    await refresher.stop();
    expect(await rows.get('42')).toBeNull();
    expect(await rows.stats()).toMatchObject({ scheduled: 0 });
  });
});

describe('refreshers side by side', () => {
  test('never load a row twice', async () => {
    const ids = idsUpTo(2_000);
    const prefix = freshPrefix();
    const databases = [1, 2, 3].map(() => new Database().put(...ids));
    const caches = databases.map((database) => cacheOf(redis, database, { prefix }));
    await Promise.all(
      caches.map((rows, index) => refresh(others[index]!, rows, { batch: 20, concurrency: 3 })),
    );
    await caches[0]!.scheduleAll(ids, HOUR);
    await until('all rows', async () => (await caches[0]!.getMany(ids)).size === ids.length);
    expect(databases.flatMap(({ loads }) => loads).toSorted()).toEqual(ids.toSorted());
    for (const { loads } of databases) expect(loads.length).toBeGreaterThan(0);
  });

  test('take over what a dead one had, when its lease ends', async () => {
    const prefix = freshPrefix();
    const client = redis.duplicate();
    const { errors } = await refresh(client, cacheOf(client, new Gate(), { prefix }), { leaseMs: 1_500 });
    const rows = cacheOf(redis, new Database().put('42'), { prefix });
    await rows.schedule('42', HOUR);
    const endsAt = await until('the claim', async () => {
      const score = Number(await redis.zscore(`${prefix}:cache:{items}:due`, '42'));
      // The end of a lease, at half a millisecond.
      return !Number.isInteger(score) && score;
    });
    client.disconnect();
    await refresh(redis, rows);
    await until('the row', async () => (await rows.get('42')) !== null);
    const [seconds, us] = (await redis.time()).map(Number) as [number, number];
    expect(seconds * 1_000 + us / 1_000).toBeGreaterThanOrEqual(endsAt);
    await until('the complaint of the dead one', async () => errors.length > 0);
  });

  test('leases of the same millisecond differ', async () => {
    const prefix = freshPrefix();
    const gate = new Gate();
    const rows = cacheOf(redis, gate, { prefix });
    await refresh(redis, rows, { batch: 1, concurrency: 20 });
    await rows.scheduleAll(idsUpTo(20), HOUR);
    await gate.call(19);
    const entries = await redis.zrange(`${prefix}:cache:{items}:due`, '0', '-1', 'WITHSCORES');
    const scores = entries.filter((_, index) => index % 2 === 1);
    expect(new Set(scores).size).toBe(20);
    expect(scores.filter((score) => !score.endsWith('.5'))).toEqual([]);
    for (const { ids, open } of gate.calls) open(new Map([[ids[0]!, { name: 'x' }]]));
  });
});

describe('sleep and wake-up', () => {
  test('a row that is scheduled while all sleep is loaded at once', async () => {
    const database = new Database().put('1', '2');
    const rows = cacheOf(redis, database);
    await refresh(redis, rows);
    await rows.schedule('1', HOUR);
    await until('the row', async () => (await rows.get('1')) !== null);
    const startedAt = performance.now();
    await rows.schedule('2', HOUR);
    await until('the row', async () => (await rows.get('2')) !== null);
    // The bounded re-check comes after 5 s.
    expect(performance.now() - startedAt).toBeLessThan(4_900);
  });

  test('a wake-up that was lost is made up for', async () => {
    const prefix = freshPrefix();
    const rows = cacheOf(redis, new Database().put('1', '2'), { prefix });
    await refresh(redis, rows);
    await rows.schedule('1', HOUR);
    await until('the row', async () => (await rows.get('1')) !== null);
    // As if the wake-up of the schedule were lost.
    await redis.hset(`${prefix}:cache:{items}:rows`, '2', `${'0'.repeat(29)}3600000`);
    await redis.zadd(`${prefix}:cache:{items}:due`, 0, '2');
    await until('the row', async () => (await rows.get('2')) !== null);
    expect((await rows.stats()).scheduled).toBe(2);
  });
});

describe('concurrency', () => {
  test('is the number of batches that are loaded at once', async () => {
    const gate = new Gate();
    const rows = cacheOf(redis, gate);
    await rows.scheduleAll(idsUpTo(10), HOUR);
    await refresh(redis, rows, { batch: 2, concurrency: 3 });
    await gate.call(2);
    expect((await rows.stats()).due).toBe(4);
    for (let index = 0; index < 5; index += 1) {
      const { ids, open } = await gate.call(index);
      expect(gate.calls.length).toBeLessThanOrEqual(index + 3);
      open(new Map(ids.map((id) => [id, { name: id }])));
    }
    await until('all rows', async () => (await rows.getMany(idsUpTo(10))).size === 10);
  });
});

describe('start and stop', () => {
  test('stop waits for the batch at hand and claims no other', async () => {
    const gate = new Gate();
    const rows = cacheOf(redis, gate);
    const { refresher } = await refresh(redis, rows);
    await rows.schedule('1', HOUR);
    const { open } = await gate.call(0);
    let isStopped = false;
    const stopping = refresher.stop().then(() => (isStopped = true));
    await rows.schedule('2', HOUR);
    await rows.stats();
    expect(isStopped).toBe(false);
    open(new Map([['1', { name: 'x' }]]));
    await stopping;
    expect((await rows.getMany(['1', '2'])).size).toBe(1);
    expect(gate.calls).toHaveLength(1);
  });

  test('stop gives its place at the hub up', async () => {
    const close = jest.spyOn(Waiter.prototype, 'close');
    const rows = cacheOf(redis, new Database().put('1'));
    const { refresher } = await refresh(redis, rows);
    await rows.schedule('1', HOUR);
    await until('the row', async () => (await rows.get('1')) !== null);
    await refresher.stop();
    expect(close).toHaveBeenCalledTimes(1);
    close.mockRestore();
  });

  test('are idempotent, and legal in any order', async () => {
    const database = new Database().put('1', '2');
    const rows = cacheOf(redis, database);
    const refresher = new Refresher(redis, [rows]);
    await refresher.stop();
    await refresher.start();
    await refresher.start();
    await rows.schedule('1', HOUR);
    await until('the row', async () => (await rows.get('1')) !== null);
    await Promise.all([refresher.stop(), refresher.stop()]);
    await rows.schedule('2', HOUR);
    expect(await rows.get('2')).toBeNull();
    await refresher.start();
    await until('the row', async () => (await rows.get('2')) !== null);
    await refresher.stop();
    expect(database.loads).toEqual(['1', '2']);
  });
});

/**
 * The batches of one process from a table whose rows are due one after another, on a simulated clock.
 *
 * @param perMs Rows that become due in a ms. @param batch Most rows of a batch.
 */
function leasesOf(perMs: number, batch: number): { sizes: number[]; lateMs: number[] } {
  const window = new BatchWindow();
  const found: { sizes: number[]; lateMs: number[] } = { sizes: [], lateMs: [] };
  let [now, taken] = [0, 0];
  for (let round = 0; round < 1_000; round += 1) {
    const rows = Math.min(batch, Math.floor(now * perMs) - taken);
    const lateMs = rows === 0 ? 0 : Math.floor(now - taken / perMs);
    taken += rows;
    window.leased({ rows, isFull: rows === batch, lateMs }, now, true);
    found.sizes.push(rows);
    found.lateMs.push(lateMs);
    // The reply takes a ms, and there is no call before a row is due.
    now = Math.max(now + 1, window.endsAt, (taken + 1) / perMs);
  }
  return found;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

describe('BatchWindow: rows that are due one after the other', () => {
  test('are claimed some 25 ms later, together', () => {
    const { sizes, lateMs } = leasesOf(2, 250);
    expect(mean(sizes)).toBeGreaterThan(45);
    expect(Math.max(...lateMs)).toBeLessThanOrEqual(30);
  });

  test('make full batches where a batch is a little less than what gathers, and wait no longer than twice as long', () => {
    const { sizes, lateMs } = leasesOf(10.5, 250);
    expect(mean(sizes)).toBeGreaterThan(245);
    expect(Math.max(...lateMs)).toBeLessThanOrEqual(55);
  });

  test('make full batches without a pause where there are far more', () => {
    const { sizes, lateMs } = leasesOf(100, 250);
    expect(mean(sizes)).toBeGreaterThan(245);
    expect(Math.max(...lateMs)).toBeLessThanOrEqual(80);
  });
});
