import { describe, expect, test } from '@jest/globals';
import { maxQueriesOf } from '@mortise/cache/rows';
import type { RowLoadError, LoadRows, RowCache } from '@mortise/cache/rows';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { DEFAULT_CONNECTIONS, MAX_CONNECTIONS } from '../../src/sql/postgres/postgres-source.js';
import { cacheOf, Database, refresh } from '../fixture/tables.js';
import type { Item } from '../fixture/tables.js';

const redis = connect();
const others = [connect(), connect()];
const HOUR = { everyMs: 3_600_000 };

function idsUpTo(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `row ${index}`);
}

/** A table in which some rows make each query fail that asks for them. */
class Poisoned extends Database {
  readonly poison = new Set<string>();

  /** @param all Gets the queries of several in their order. */
  constructor(readonly all: string[][] = []) {
    super();
  }

  override readonly load: LoadRows<Item> = async (ids) => {
    this.queries.push([...ids]);
    this.all.push([...ids]);
    if (this.failure) throw this.failure;
    const bad = ids.find((id) => this.poison.has(id));
    if (bad !== undefined) throw new Error(`cannot read ${bad}`);
    return new Map(ids.map((id) => [id, this.items.get(id)]));
  };
}

describe('rows that fail every query they are in', () => {
  test.each([[1], [3], [20]])('%d of 200 do not keep the others from being loaded', async (count) => {
    const ids = idsUpTo(200);
    const database = new Poisoned().put(...ids);
    for (const id of ids.slice(-count)) database.poison.add(id);
    const rows = cacheOf(redis, database);
    await rows.scheduleAll(ids, HOUR);
    const { errors } = await refresh(redis, rows, { backoff: { delayMs: 60_000, maxDelayMs: 60_000 } });
    await until('the good rows', async () => (await rows.getMany(ids)).size === 200 - count);
    await until('the bad rows', async () => (await rows.stats()).failing === count);
    expect(await rows.stats()).toMatchObject({ scheduled: 200, loaded: 200 - count, shardsDown: 0 });
    expect(database.queries.length).toBeLessThanOrEqual(64);
    const named = errors.flatMap((error) => (error as RowLoadError).ids);
    expect(named.toSorted()).toEqual([...database.poison].toSorted());
  });

  test('a quarter of all, everywhere, are isolated in smaller batches', async () => {
    const ids = idsUpTo(64);
    const database = new Poisoned().put(...ids);
    for (const [index, id] of ids.entries()) if (index % 4 === 0) database.poison.add(id);
    const rows = cacheOf(redis, database);
    await rows.scheduleAll(ids, HOUR);
    await refresh(redis, rows, { backoff: { delayMs: 20, maxDelayMs: 40 } });
    await until('the good rows', async () => (await rows.getMany(ids)).size === 48);
    // Failing rows don't delay later ones.
    database.put('late');
    await rows.schedule('late', HOUR);
    await until('the late row', async () => (await rows.get('late')) !== null);
    expect((await rows.getMany(ids)).size).toBe(48);
  });
});

describe('a row whose query hangs', () => {
  /** A load of one of `hanging` waits until its signal is aborted. */
  class Locked extends Poisoned {
    readonly hanging = new Set<string>();
    /** Each query waits for it. */
    gate: (ids: readonly string[]) => Promise<void> = async () => undefined;

    override readonly load: LoadRows<Item> = async (ids, signal) => {
      this.queries.push([...ids]);
      await this.gate(ids);
      if (ids.some((id) => this.hanging.has(id)))
        await new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        });
      return new Map(ids.map((id) => [id, this.items.get(id)]));
    };

    /** How many were asked for, each time that it was one of them. */
    sizesWith(id: string): number[] {
      return this.queries.filter((query) => query.includes(id)).map(({ length }) => length);
    }
  }

  test.each([
    ['from the first fill on', false],
    ['after it had been loaded', true],
  ])('%s, is soon alone, and the others are on time', async (_, isFilled) => {
    const ids = idsUpTo(60);
    const database = new Locked().put(...ids);
    const rows = cacheOf(redis, database);
    if (!isFilled) database.hanging.add('row 7');
    await rows.scheduleAll(ids, { everyMs: 50 });
    const options = { leaseMs: 1_000, backoff: { delayMs: 100, maxDelayMs: 200 }, concurrency: 1 };
    const { errors } = await refresh(redis, rows, options);
    if (isFilled) {
      await until('all rows', async () => (await rows.getMany(ids)).size === 60);
      await until('a pack', () => database.queries.length > 5);
      database.queries.length = 0;
      database.hanging.add('row 7');
    }
    const isAlone = (query: readonly string[]): boolean => query.length === 1 && query[0] === 'row 7';
    await until('six queries of it', () => database.sizesWith('row 7').length >= 6);
    const [first, ...rest] = database.sizesWith('row 7');
    expect(first).toBeGreaterThan(16);
    // Beside that query, then as one of those that failed.
    const few = rest.slice(0, rest.indexOf(1));
    expect(few.length).toBeLessThanOrEqual(2);
    for (const size of few) expect(size).toBeLessThanOrEqual(16);
    expect(rest.slice(few.length)).toEqual(rest.slice(few.length).map(() => 1));
    // While it hangs alone, each of the others is loaded, though this process loads one batch at a time.
    const from = database.queries.findIndex(isAlone);
    const to = database.queries.findIndex((query, index) => index > from && isAlone(query));
    const meanwhile = database.queries.slice(from + 1, to).flat();
    expect(new Set(meanwhile).size).toBe(59);
    expect(await rows.stats()).toMatchObject({ failing: 1, shardsDown: 0 });
    expect(errors.map((error) => (error as RowLoadError).code)).toEqual(errors.map(() => 'ERR_ROW_LOAD'));
    // It comes back as soon as it can be loaded.
    database.hanging.clear();
    database.items.set('row 7', { name: 'free' });
    await until('the row', async () => (await rows.get('row 7'))?.name === 'free');
    await until('no failures', async () => (await rows.stats()).failing === 0);
  });

  test('is searched for beside its batch, whose other rows are stored at once', async () => {
    const ids = idsUpTo(200);
    const database = new Locked().put(...ids);
    const rows = cacheOf(redis, database);
    database.hanging.add('row 100');
    await rows.scheduleAll(ids, HOUR);
    const { errors } = await refresh(redis, rows, {
      leaseMs: 3_000,
      backoff: { delayMs: 60_000, maxDelayMs: 60_000 },
      concurrency: 1,
    });
    await until('the failure', async () => (await rows.stats()).failing > 0);
    const stats = await rows.stats();
    expect(stats).toMatchObject({ loaded: 200 - stats.failing, shardsDown: 0 });
    expect(stats.failing).toBeLessThanOrEqual(16);
    expect(database.queries.filter((query) => query.includes('row 100'))).toHaveLength(2);
    // One, two, four, eight, and then 16 at a time; so again after the part with the row.
    expect(database.queries.length).toBeLessThanOrEqual(1 + 4 + Math.ceil(200 / 16) + 5);
    expect(errors).toHaveLength(1);
    expect((errors[0] as RowLoadError).ids).toContain('row 100');
  });

  test('differs from one that is only slow, which is stored and not aborted', async () => {
    const ids = idsUpTo(40);
    const database = new Locked().put(...ids);
    let isAborted = false;
    const rows = cacheOf(redis, {
      load: async (asked, signal) => {
        if (asked.length === 40) {
          signal.addEventListener('abort', () => {
            isAborted = true;
          });
          await until('what is asked for beside it', () => database.queries.length >= 2);
          return database.load(asked, signal);
        }
        database.queries.push([...asked]);
        if (database.queries.length === 1) return new Map(asked.map((id) => [id, { name: 'beside' }]));
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        });
      },
    });
    await rows.scheduleAll(ids, HOUR);
    const { errors } = await refresh(redis, rows, { leaseMs: 3_000 });
    await until('all rows', async () => (await rows.getMany(ids)).size === 40);
    expect(isAborted).toBe(false);
    expect(errors).toEqual([]);
    expect(await rows.stats()).toMatchObject({ loaded: 40, failing: 0, shardsDown: 0 });
    // The later read counts.
    expect([...(await rows.getMany(ids)).values()].filter(({ name }) => name === 'beside')).toHaveLength(1);
  });

  test('and dozens like it: each good row beside them loads after three failures, others are on time', async () => {
    const ids = idsUpTo(200);
    const often = Array.from({ length: 20 }, (_, index) => `often ${index}`);
    const database = new Locked().put(...ids, ...often);
    const rows = cacheOf(redis, database);
    await rows.scheduleAll(ids, HOUR);
    await rows.scheduleAll(often, { everyMs: 50 });
    const options = { leaseMs: 1_000, backoff: { delayMs: 20, maxDelayMs: 100 }, batch: 200 };
    await refresh(redis, rows, options);
    await until('all rows', async () => (await rows.getMany([...ids, ...often])).size === 220);
    for (const [index, id] of ids.entries()) if (index % 5 === 2) database.hanging.add(id);
    for (const id of ids) database.items.set(id, { name: 'new' });
    // The others are being loaded when all of these are claimed, so they aren't in one batch.
    let isHeld = false;
    let isReleased = false;
    database.gate = async (query) => {
      if (isReleased || query.length !== 20 || !query.every((id) => often.includes(id))) return;
      isHeld = true;
      await until('the other query', () => isReleased);
    };
    await until('the others', () => isHeld);
    database.queries.length = 0;
    await Promise.all(ids.map((id) => rows.refresh(id)));
    await until('the query', () => database.queries.some((query) => query.length === 200));
    isReleased = true;
    const good = ids.filter((id) => !database.hanging.has(id));
    await until('the good rows', async () =>
      [...(await rows.getMany(good)).values()].every(({ name }) => name === 'new'),
    );
    const { queries, hanging } = database;
    const hangs = (query: readonly string[]): boolean => query.some((id) => hanging.has(id));
    // Rows that are known to hang were queried alone before. Only for them the number of queries isn't bounded by their number.
    const known = new Set<string>();
    const searches = queries.filter((query) => {
      if (!hangs(query)) return false;
      const [id] = query as [string];
      if (query.length > 1) return true;
      return known.size < known.add(id).size;
    });
    const first = queries.filter((query) => hangs(query) && query.length > 16);
    expect(searches.length).toBeLessThanOrEqual(first.length + Math.ceil(200 / 16) + 8 + hanging.size);
    for (const id of good) {
      expect(queries.filter((query) => query.includes(id) && hangs(query)).length).toBeLessThanOrEqual(3);
    }
    // No more of them than have half of the slots, though they are due again all the time.
    expect(queries.filter(hangs).length - searches.length).toBeLessThanOrEqual(searches.length);
    // While rows are searched for, those that did not fail beside them go on: some are loaded between any 16 queries that hang.
    const places = queries.flatMap((query, index) => (hangs(query) ? [index] : [])).slice(first.length);
    for (let at = 16; at < places.length; at += 16) {
      const between = new Set(queries.slice(places[at - 16], places[at]).flat());
      expect(often.filter((id) => !between.has(id))).toEqual([]);
    }
    expect(places.length).toBeGreaterThan(32);
    expect((await rows.stats()).shardsDown).toBe(0);
    // All that hang come back when they can be loaded.
    hanging.clear();
    await until('the rest', async () => (await rows.stats()).failing === 0);
    expect([...(await rows.getMany(ids)).values()].every(({ name }) => name === 'new')).toBe(true);
  });

  test('says nothing of a source that answers others', async () => {
    const database = new Locked().put('1', '2', '3');
    const rows = cacheOf(redis, database);
    for (const id of ['1', '2']) {
      database.hanging.add(id);
      await rows.schedule(id, HOUR);
    }
    await refresh(redis, rows, { leaseMs: 1_000, backoff: { delayMs: 60_000, maxDelayMs: 60_000 } });
    await until('its query', () => database.queries.length === 1);
    await rows.schedule('3', HOUR);
    await until('the other row', async () => (await rows.get('3')) !== null);
    await until('the end of the query', async () => (await rows.stats()).failing === 2);
    expect(await rows.stats()).toMatchObject({ failing: 2, shardsDown: 0 });
  });

  test('looks like a source that hangs, which is then queried for a single row', async () => {
    const ids = idsUpTo(60);
    const database = new Locked().put(...ids);
    for (const id of ids) database.hanging.add(id);
    const rows = cacheOf(redis, database);
    await rows.scheduleAll(ids, HOUR);
    await refresh(redis, rows, { leaseMs: 500, backoff: { delayMs: 100, maxDelayMs: 200 } });
    await until('the end of the query', async () => (await rows.stats()).shardsDown === 1);
    await until('probes', () => database.queries.length >= 3);
    expect(database.queries.slice(1).map(({ length }) => length)).toEqual(
      database.queries.slice(1).map(() => 1),
    );
    database.hanging.clear();
    await until('all rows', async () => (await rows.getMany(ids)).size === 60);
    await until('no failures', async () => (await rows.stats()).failing === 0);
    expect(await rows.stats()).toMatchObject({ loaded: 60, due: 0, shardsDown: 0 });
  });
});

describe('a loader', () => {
  test('may do with its ids what it likes', async () => {
    const ids = idsUpTo(40);
    const database = new Poisoned().put(...ids);
    database.poison.add('row 9');
    const rows = cacheOf(redis, {
      load: async (asked, signal) => {
        const own = asked as string[];
        const taken = own.toSorted().toReversed();
        own.splice(0, own.length, 'none of them');
        return database.load(taken, signal);
      },
    });
    await rows.scheduleAll(ids, HOUR);
    const { errors } = await refresh(redis, rows, { backoff: { delayMs: 60_000, maxDelayMs: 60_000 } });
    await until('the good rows', async () => (await rows.getMany(ids)).size === 39);
    await until('the bad row', async () => (await rows.stats()).failing === 1);
    expect(await rows.stats()).toMatchObject({ scheduled: 40, loaded: 39 });
    expect((errors[0] as RowLoadError).ids).toEqual(['row 9']);
  });

  test.each([
    ['has no text', Object.create(null) as unknown],
    ['is undefined', undefined],
    [
      'throws when it is read',
      {
        toString: () => {
          throw new Error('unreadable');
        },
      },
    ],
  ])('may reject with something that %s', async (_, thrown) => {
    const ids = idsUpTo(10);
    const database = new Database().put(...ids);
    const rows = cacheOf(redis, {
      load: async (asked, signal) => {
        if (asked.includes('row 3')) throw thrown;
        return database.load(asked, signal);
      },
    });
    await rows.scheduleAll(ids, HOUR);
    const { errors } = await refresh(redis, rows, { backoff: { delayMs: 60_000, maxDelayMs: 60_000 } });
    await until('the good rows', async () => (await rows.getMany(ids)).size === 9);
    await until('the bad row', async () => (await rows.stats()).failing === 1);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({ code: 'ERR_ROW_LOAD', ids: ['row 3'], cause: thrown });
  });
});

describe('a source that is down', () => {
  test('is asked for single rows, by one refresher of all; readers have what there was', async () => {
    const ids = idsUpTo(40);
    const prefix = freshPrefix();
    const queries: string[][] = [];
    const databases = [1, 2].map(() => new Poisoned(queries).put(...ids));
    const caches = databases.map((database, index) => cacheOf(others[index]!, database, { prefix }));
    const [rows] = caches as [RowCache<Item>];
    await Promise.all(
      caches.map((cache, index) =>
        refresh(others[index]!, cache, { backoff: { delayMs: 50, maxDelayMs: 200 }, concurrency: 1 }),
      ),
    );
    await rows.scheduleAll(ids, HOUR);
    await until('all rows', async () => (await rows.getMany(ids)).size === 40);
    for (const database of databases) database.failure = new Error('unavailable');
    queries.length = 0;
    await Promise.all(ids.map((id) => rows.refresh(id)));
    // Each refresher ends its bisection after 7 queries; then there are probes.
    await until('probes', () => queries.length >= 20);
    expect(queries.slice(14).map(({ length }) => length)).toEqual(queries.slice(14).map(() => 1));
    expect(await rows.stats()).toMatchObject({ shardsDown: 1, scheduled: 40 });
    expect((await rows.getMany(ids)).size).toBe(40);
    const state = await rows.inspect('row 0');
    expect(state?.ageMs).toBeGreaterThan(100);

    for (const database of databases) {
      database.failure = undefined;
      for (const id of ids) database.items.set(id, { name: 'new' });
    }
    queries.length = 0;
    await until('the new rows', async () =>
      [...(await rows.getMany(ids)).values()].every(({ name }) => name === 'new'),
    );
    // It isn't fallen upon: one row, then twice as many each time.
    const sizes = queries.map(({ length }) => length);
    expect(sizes.slice(0, 3)).toEqual([1, 2, 4]);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(40);
    expect(await rows.stats()).toMatchObject({ due: 0, scheduled: 40 });
  });

  test('is found out by loads of two single rows, not by one row that fails twice', async () => {
    const database = new Poisoned().put('1', '2');
    database.poison.add('1');
    const rows = cacheOf(redis, database);
    await refresh(redis, rows, { backoff: { delayMs: 5, maxDelayMs: 5 } });
    await rows.schedule('1', HOUR);
    await until('failures', () => database.loads.length >= 4);
    expect(await rows.stats()).toMatchObject({ failing: 1, shardsDown: 0 });
    database.poison.add('2');
    await rows.schedule('2', HOUR);
    await until('the source to be down', async () => (await rows.stats()).shardsDown === 1);
  });
});

/** Failed rows are queried in smaller batches. */
const BATCH = 40;

/** Some rows of each batch begin to hang in it: the query of the batch, the one that looks for them, and their own later. */
class Worsening {
  readonly #hanging = new Set<string>();
  isWorsening = false;
  queries = 0;
  underWay = 0;
  mostUnderWay = 0;

  readonly load: LoadRows<Item> = async (ids, signal) => {
    this.queries += 1;
    this.underWay += 1;
    this.mostUnderWay = Math.max(this.mostUnderWay, this.underWay);
    if (this.isWorsening && ids.length > BATCH / 2) for (const id of ids.slice(-4)) this.#hanging.add(id);
    if (ids.some((id) => this.#hanging.has(id))) {
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          this.underWay -= 1;
          reject(signal.reason as Error);
        });
      });
    }
    this.underWay -= 1;
    return new Map(ids.map((id) => [id, { name: id }]));
  };
}

test.each([1, 2, 3])(
  'with a concurrency of %d as many queries are under way as maxQueriesOf says, and no more',
  async (concurrency) => {
    const database = new Worsening();
    const rows = cacheOf(redis, database);
    const ids = Array.from({ length: 1_000 }, (_, index) => `row ${index}`);
    await rows.scheduleAll(ids, { everyMs: 50 });
    const options = { concurrency, batch: BATCH, leaseMs: 2_000, backoff: { delayMs: 1, maxDelayMs: 100 } };
    await refresh(redis, rows, options);
    await until('all rows', async () => (await rows.stats()).loaded === ids.length);
    database.isWorsening = true;

    await until('as many', () => database.mostUnderWay >= maxQueriesOf(options));

    const { queries } = database;
    await until('further queries', () => database.queries > queries + 60);
    expect(database.mostUnderWay).toBe(maxQueriesOf(options));
  },
);

test('maxQueriesOf checks its options, has the defaults of a refresher, and decides those of PostgresSource', () => {
  expect(maxQueriesOf()).toBe(maxQueriesOf({ concurrency: 2 }));
  expect(maxQueriesOf()).toBe(DEFAULT_CONNECTIONS);
  expect(maxQueriesOf({ concurrency: 100 })).toBe(MAX_CONNECTIONS);
  expect(() => maxQueriesOf({ concurrency: 0 })).toThrow(RangeError);
});
