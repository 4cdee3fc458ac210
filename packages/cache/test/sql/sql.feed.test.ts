/** Feeds of changes from PostgreSQL and from SQLite. */
import { describe, expect, test } from '@jest/globals';
import { ChangeFeed, SqlSourceError } from '@mortise/cache/rows';
import { connect, gate, transcript, until } from '@mortise/test-kit';
import fc from 'fast-check';
import type { Pool, PoolClient } from 'pg';
import { outboxOf } from '../../src/outbox.js';
import * as scripts from '../../src/scripts.gen.js';
import { freshSqlite, ITEMS, KINDS, MANY_ITEMS, poolOf, postgres } from './sql.databases.js';
import type { TestDatabase } from './sql.databases.js';
import { DEAF, feedOf, rowsOf, watch } from './sql.feed.js';

const redis = connect();
const { fresh, freshPostgres } = postgres();

/** SQLite sends no notifications, so its feeds read at short intervals. */
const WATCHING = { PostgreSQL: DEAF, SQLite: {} };

/** Rows 1 to 20 of PostgreSQL with an outbox. */
async function installed(): Promise<
  Awaited<ReturnType<typeof freshPostgres>> & { items: ReturnType<TestDatabase['source']> }
> {
  const db = await freshPostgres(ITEMS);
  const items = db.source();
  await items.installOutbox();
  return { ...db, items };
}

async function untilEmpty({ waiting }: Pick<TestDatabase, 'waiting'>): Promise<void> {
  await until('an empty outbox', async () => (await waiting()).length === 0);
}

/** Resolves when the feed is idle. */
async function untilAsleep({ kind, all }: TestDatabase): Promise<void> {
  if (kind === 'SQLite') return;
  await until('an idle feed', async () => {
    const [state] = await all('select last_value from items_mortise_outbox_idle');
    return (state as { last_value: string }).last_value === '1';
  });
}

describe.each(KINDS)('a feed from %s', (kind) => {
  test('refreshes what changes, and empties the outbox', async () => {
    const db = await fresh(kind, ITEMS);
    const source = db.source();
    await source.installOutbox();
    const { rows, has, errors } = await watch(redis, source, WATCHING[kind]);
    for (const round of [1, 2, 3]) {
      await untilAsleep(db);
      await db.run(`update items set name = 'new ${round}' where id = 1`);
      await has('1', `new ${round}`);
    }
    await db.run(`delete from items where id = 2; insert into items values (99, 'nobody asked for')`);
    await has('2', null);
    await untilEmpty(db);
    expect((await rows.stats()).scheduled).toBe(MANY_ITEMS - 1);
    expect(await rows.get('99')).toBeNull();
    expect(errors).toEqual([]);
  });

  test('works through more changes than it reads at once', async () => {
    const db = await fresh(kind, ITEMS);
    const source = db.source();
    await source.installOutbox();
    const { feed, has } = await watch(redis, source, WATCHING[kind]);
    await db.run(`with recursive n(x) as (select 1001 union all select x + 1 from n where x < 3000)
      insert into items select x, 'many' from n`);
    await db.run(`update items set name = 'last' where id = 20`);
    await has('20', 'last');
    await untilEmpty(db);
    expect(feed.stats()).toMatchObject({ changes: 2_001, refreshed: 1 });
  });

  test('says that there is no outbox, and reads it when there is', async () => {
    const db = await fresh(kind, ITEMS);
    const source = db.source();
    const errors: unknown[] = [];
    const feed = feedOf(redis, source, rowsOf(redis, source), errors);
    await feed.start();
    await until('an error', () => errors.length > 0);
    expect(errors[0]).toMatchObject({
      code: 'ERR_SQL_OUTBOX',
      table: 'items',
      message: expect.stringContaining('items_mortise_outbox'),
    });

    await source.installOutbox();

    await until('the feed to read', () => feed.stats().isReading);
    await db.run(`update items set name = 'x' where id = 5`);
    await until('the change', () => feed.stats().changes === 1);
  });
});

describe('a feed from PostgreSQL', () => {
  /** A transaction that is under way until it is committed. */
  async function begin(pool: Pool, ...statements: string[]): Promise<() => Promise<void>> {
    const client = await pool.connect();
    await client.query('begin');
    for (const statement of statements) await client.query(statement);
    return async () => {
      await client.query('commit');
      client.release();
    };
  }

  test('loses no change of a transaction that commits after a later one', async () => {
    const db = await installed();
    const { has, errors } = await watch(redis, db.items, DEAF);
    const commit = await begin(db.pool, `update items set name = 'early' where id = 1`);
    await db.pool.query(`update items set name = 'late' where id = 2`);
    await has('2', 'late');
    await untilEmpty(db);
    await untilAsleep(db);

    await commit();

    await has('1', 'early');
    await untilEmpty(db);
    expect(errors).toEqual([]);
  });

  test('loses no change of a transaction that commits while a later one is worked through', async () => {
    const { pool, items } = await installed();
    const reader = await outboxOf(items).open(new AbortController().signal);
    try {
      const commit = await begin(pool, `update items set name = 'early' where id = 1`);
      await pool.query(`insert into items select n, 'many' from generate_series(1001, 2200) as n`);
      const read = async (): Promise<string[]> => {
        const changes = await reader.read(500, []);
        await reader.remove(changes);
        return changes.map(({ id }) => id);
      };
      expect(await read()).toHaveLength(500);

      await commit();

      const later = [...(await read()), ...(await read()), ...(await read())];
      expect(later).toHaveLength(701);
      expect(later).toContain('1');
    } finally {
      await reader.close();
    }
  });

  test('loses no change of a transaction that saw it awake and commits when it sleeps', async () => {
    const db = await installed();
    await db.pool.query(`select setval('items_mortise_outbox_idle', 2)`);
    const commit = await begin(
      db.pool,
      'set constraints all immediate',
      `update items set name = 'early' where id = 1`,
    );
    const { has, feed } = await watch(redis, db.items, DEAF);
    await untilAsleep(db);
    expect(feed.stats().changes).toBe(0);

    await commit();

    expect(await has('1', 'early')).toBe(true);
  });

  test('stays behind a transaction that has not ended, and passes over those that have', async () => {
    const db = await installed();
    const { feed, has } = await watch(redis, db.items, DEAF);
    const commit = await begin(db.pool, `update items set name = 'open' where id = 1`);
    for (let round = 1; round <= 30; round += 1) {
      await db.pool.query(`update items set name = 'round ${round}' where id = ${(round % 10) + 2}`);
    }
    await has('2', 'round 30');
    await untilEmpty(db);
    await commit();
    await has('1', 'open');
    expect(feed.stats().changes).toBe(31);
  });

  test('lets a load end that a change overtakes, and loads the row again', async () => {
    const { pool, items: source } = await installed();
    let isHeld = false;
    const held = gate();
    const loads: string[][] = [];
    const load = async (ids: readonly string[]): Promise<Map<string, object>> => {
      const found = await source.load(ids);
      if (!isHeld) return found;
      loads.push([...ids]);
      if (loads.length === 1) await held.passed;
      return found;
    };
    const { has, refresher, rows, feed } = await watch(redis, source, { ...DEAF, load });
    isHeld = true;
    await pool.query(`update items set name = 'first' where id = 1`);
    await until('the load', () => loads.length === 1);
    await pool.query(`update items set name = 'second' where id = 1`);
    await until('the second change to be read', () => feed.stats().changes === 2);
    expect(await rows.get('1')).toMatchObject({ name: 'item 1' });

    held.open();

    await has('1', 'second');
    expect(loads).toEqual([['1'], ['1']]);
    expect(refresher.stats().refused).toBe(0);
  });

  test('takes over when the one that reads is stopped', async () => {
    const { pool, items: source } = await installed();
    const { rows, feed, errors, has } = await watch(redis, source, DEAF);
    const other = feedOf(redis, source, rows, errors, DEAF);
    await other.start();
    await pool.query(`update items set name = 'by the first' where id = 1`);
    await has('1', 'by the first');
    expect(other.stats()).toEqual({ isReading: false, changes: 0, refreshed: 0 });

    await feed.stop();

    await until('the other one to read', () => other.stats().isReading);
    await pool.query(`update items set name = 'by the second' where id = 1`);
    await has('1', 'by the second');
    await other.stop();
    const { rows: listening } = await pool.query(
      `select from pg_stat_activity where query like 'listen mortise%'`,
    );
    expect(listening).toEqual([]);
    expect(errors).toEqual([]);
  });

  test('learns of changes of partitions', async () => {
    const { pool, source: sourceOf } = await freshPostgres(`
      create table items (id int primary key, name text) partition by range (id);
      create table low partition of items for values from (0) to (100);
      insert into items select n, 'item ' || n from generate_series(1, ${MANY_ITEMS}) as n`);
    const source = sourceOf();
    await source.installOutbox();
    const { has, errors } = await watch(redis, source, DEAF);
    await pool.query(`update low set name = 'direct' where id = 1`);
    await has('1', 'direct');
    expect(errors).toEqual([]);
  });

  test('tells once which children the outbox misses, and goes on', async () => {
    const { pool, items: source } = await installed();
    const { has, errors, feed } = await watch(redis, source, { recheckMs: 10 });
    expect(errors).toEqual([]);

    await pool.query('create table "other children" () inherits (items)');

    await until('a report', () => errors.length > 0);
    const missed = ['"other children"', 'items'];
    expect(errors).toEqual([expect.any(SqlSourceError)]);
    expect(errors[0]).toMatchObject({ code: 'ERR_SQL_OUTBOX', table: 'items', missed });
    await pool.query(`update items set name = 'new' where id = 1`);
    await has('1', 'new');
    await pool.query('create table latest () inherits (items)');
    await until('another report', () => errors.length > 1);
    expect(errors[1]).toMatchObject({ missed: ['"other children"', 'items', 'latest'] });
    await source.installOutbox();
    await feed.stop();
    await feed.start();
    await until('the feed to read', () => feed.stats().isReading);
    await pool.query(`insert into latest values (2, 'child')`);
    await until('the change', () => feed.stats().changes === 2);
    expect(errors).toHaveLength(2);
  });

  test('has a connection that is none of those that loads have', async () => {
    const { pool, source } = await installed();
    const { has, errors } = await watch(redis, source({ maxConnections: 1 }));
    await pool.query(`update items set name = 'new' where id = 1`);
    await has('1', 'new');
    expect(errors).toEqual([]);
  });

  test('uses a pool that is given, which has to have another connection, and gives it its own back', async () => {
    const { url, source: sourceOf } = await installed();
    const given = (max: number) => sourceOf({ pool: poolOf(url, max) });
    const single = given(1);
    expect(() => new ChangeFeed(redis, single, rowsOf(redis, single))).toThrow(
      expect.objectContaining({ name: 'RangeError', code: 'ERR_INVALID_ARG' }),
    );
    const pool = poolOf(url, 2);
    const { has, feed } = await watch(redis, sourceOf({ pool }), DEAF);
    await poolOf(url).query(`update items set name = 'changed' where id = 1`);
    await has('1', 'changed');
    await feed.stop();
    expect(pool.waitingCount).toBe(0);
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });
});

describe('a feed from SQLite', () => {
  test('goes on after the file was locked for longer than it waits', async () => {
    const db = freshSqlite(ITEMS);
    const source = db.source({ busyTimeoutMs: 20 });
    await source.installOutbox();
    const { has, errors } = await watch(redis, source);
    db.database.exec(`begin immediate; update items set name = 'locked' where id = 3; commit;
      begin immediate; update items set name = 'uncommitted' where id = 4`);
    await until('an error', () => errors.length > 0);
    expect(errors).toContainEqual(expect.objectContaining({ code: 'SQLITE_BUSY' }));

    db.database.exec('commit');

    await has('3', 'locked');
    await has('4', 'uncommitted');
    await untilEmpty(db);
  });

  test('sends a lease and marks, and leaves nothing behind', async () => {
    const { database, source: sourceOf, waiting } = freshSqlite(ITEMS);
    const source = sourceOf();
    await source.installOutbox();
    const { feed, rows, refresher, prefix } = await watch(redis, source, { leaseMs: 600_000 });
    await refresher.stop();
    expect(await redis.pttl(`${prefix}:cache:{items}:feed`)).toBeGreaterThan(500_000);
    await feed.stop();
    expect(await redis.exists(`${prefix}:cache:{items}:feed`)).toBe(0);
    database.exec(`update items set name = name || '!'; insert into items values (99, 'new')`);

    const lines = await transcript(redis, { prefix, scripts }, async () => {
      await feed.start();
      await untilEmpty({ waiting });
      await feed.stop();
    });

    const ids = Array.from({ length: MANY_ITEMS }, (_, index) => String(index + 1));
    const values = [...ids, '99'].map((id) => `cache:{items}:row:${id}`);
    expect(lines).toEqual([
      'evalsha change-feed.take cache:{items}:feed',
      '  get cache:{items}:feed',
      '  set cache:{items}:feed',
      `evalsha change-feed.mark ${['due', 'rows', 'packs', 'packed', 'failed', 'wake'].map((key) => `cache:{items}:${key}`).join(' ')} ${values.join(' ')}`,
      '  time',
      '  zrange cache:{items}:due',
      '  zrange cache:{items}:packs',
      '  exists cache:{items}:failed',
      '  zmscore cache:{items}:due',
      '  hmget cache:{items}:rows',
      // They are a pack, which each of them leaves.
      '  zscore cache:{items}:packs',
      '  hget cache:{items}:packed',
      ...ids.map((id) => `  getrange cache:{items}:row:${id}`),
      '  hset cache:{items}:rows',
      '  hget cache:{items}:packed',
      '  hset cache:{items}:packed',
      '  zadd cache:{items}:due',
      '  pexpire cache:{items}:due',
      '  publish cache:{items}:wake',
      'evalsha change-feed.release cache:{items}:feed',
      '  get cache:{items}:feed',
      '  unlink cache:{items}:feed',
      '  publish cache:{items}:feed',
    ]);
    expect((await rows.stats()).due).toBe(MANY_ITEMS);
  });
});

test('a feed stops before its start, and again', async () => {
  const source = freshSqlite(ITEMS).source();
  const feed = new ChangeFeed(redis, source, rowsOf(redis, source));
  await feed.stop();
  await feed.stop();
  expect(feed.stats()).toEqual({ isReading: false, changes: 0, refreshed: 0 });
});

describe('any transactions, with any readers', () => {
  const WRITERS = 4;
  const writer = fc.integer({ min: 0, max: WRITERS - 1 });
  /** Each writer has its own rows, so that none waits for another. */
  const stepOf = (type: 'update' | 'commit' | 'rollback' | 'cut' | 'hand over', weight: number) => ({
    weight,
    arbitrary: fc.record({ type: fc.constant(type), writer, row: fc.nat(4) }),
  });
  const step = fc.oneof(
    stepOf('update', 6),
    stepOf('commit', 2),
    stepOf('rollback', 1),
    stepOf('cut', 1),
    stepOf('hand over', 1),
  );

  test('make the cache equal to the database', async () => {
    const { pool, items: source, waiting } = await installed();
    const { rows, feed, errors } = await watch(redis, source, DEAF);
    const feeds = [feed, feedOf(redis, source, rows, errors, DEAF)] as const;
    await feeds[1].start();
    let version = 0;

    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 40, maxLength: 80 }), async (steps) => {
        const open: (PoolClient | undefined)[] = Array.from({ length: WRITERS });
        const end = async (index: number, how: string): Promise<void> => {
          await open[index]?.query(how);
          open[index]?.release();
          open[index] = undefined;
        };
        for (const { type, writer: index, row } of steps) {
          if (type === 'update') {
            const client = (open[index] ??= await pool.connect());
            version += 1;
            const id = index * 5 + row + 1;
            await client.query(`begin; update items set name = 'version ${version}' where id = ${id}`);
          } else if (type === 'cut') {
            await pool.query(`select pg_terminate_backend(pid) from pg_stat_activity
              where datname = current_database() and query like '%mortise_outbox%' and application_name = 'mortise'`);
          } else if (type === 'hand over') {
            for (const one of feeds.filter((other) => other.stats().isReading)) {
              await one.stop();
              await one.start();
            }
          } else await end(index, type);
        }
        for (let index = 0; index < WRITERS; index += 1) await end(index, 'commit');

        const { rows: items } = await pool.query<{ id: number; name: string }>('select * from items');
        await until('the cache to be the database', async () => {
          const cached = await rows.getMany(items.map(({ id }) => String(id)));
          return items.every(({ id, name }) => cached.get(String(id))?.name === name);
        });
        await untilEmpty({ waiting });
      }),
      { numRuns: 10, endOnFailure: true },
    );
    expect(version).toBeGreaterThan(100);
  });
});
