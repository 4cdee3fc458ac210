import { describe, expect, test } from '@jest/globals';
import { PostgresSource, postgresOutboxSql } from '@mortise/cache/postgres';
import { connect, until } from '@mortise/test-kit';
import type { Pool, PoolClient } from 'pg';
import { outboxOf } from '../../src/outbox.js';
import { closed, freshDatabase, postgres } from './sql.databases.js';
import { feedOf, MANY_ITEMS, watch } from './sql.feed.js';

const redis = connect();
const server = postgres();

/** Only a notification, or what stands for one, can wake a feed. */
const DEAF = { recheckMs: 60_000, leaseMs: 600_000 };

interface Fresh {
  readonly url: string;
  readonly pool: Pool;
  readonly source: PostgresSource;
  readonly waiting: () => Promise<string[]>;
}

async function fresh(): Promise<Fresh> {
  const { url, pool } = await freshDatabase(server());
  await pool.query(`create table items (id int primary key, name text not null);
    insert into items select n, 'item ' || n from generate_series(1, ${MANY_ITEMS}) as n`);
  const source = closed(new PostgresSource({ url, table: 'items' }));
  await source.installOutbox();
  const waiting = async (): Promise<string[]> => {
    const { rows } = await pool.query<{ id: string }>('select id from items_mortise_outbox order by tx, seq');
    return rows.map(({ id }) => id);
  };
  return { url, pool, source, waiting };
}

/** A transaction that is under way until `commit`. */
async function begin(
  pool: Pool,
  ...statements: string[]
): Promise<{ client: PoolClient; commit(): Promise<void> }> {
  const client = await pool.connect();
  await client.query('begin');
  for (const statement of statements) await client.query(statement);
  const commit = async (): Promise<void> => {
    await client.query('commit');
    client.release();
  };
  return { client, commit };
}

/** Resolves when the feed is idle. */
async function untilAsleep(pool: Pool): Promise<void> {
  await until('an idle feed', async () => {
    const { rows } = await pool.query('select last_value from items_mortise_outbox_idle');
    return rows[0].last_value === '1';
  });
}

describe('an outbox', () => {
  test('notes each row that a statement changes, in its transaction', async () => {
    const { pool, waiting } = await fresh();
    await pool.query(`insert into items values (21, 'new')`);
    await pool.query(`update items set name = 'other' where id = 1`);
    await pool.query(`update items set name = 'nobody' where id = 77`);
    await pool.query('delete from items where id = 2');
    await pool.query(
      `insert into items values (4, 'four') on conflict (id) do update set name = excluded.name`,
    );
    expect(await waiting()).toEqual(['21', '1', '2', '4']);
    await pool.query('update items set id = 30 where id = 3');
    expect((await waiting()).slice(4).toSorted()).toEqual(['3', '30']);

    await pool.query('delete from items_mortise_outbox');
    await pool.query(`begin; update items set name = 'x' where id = 5; rollback`);
    expect(await waiting()).toEqual([]);
  });

  test('is installed and removed any number of times, also by several at once, and with hostile names', async () => {
    const { url, pool } = await freshDatabase(server());
    await pool.query(`create schema "o.p""q"; create table "o.p""q"."$mortise$ a""b'; --" ("i""d" text)`);
    const options = {
      schema: 'o.p"q',
      table: `$mortise$ a"b'; --`,
      id: 'i"d',
      outbox: `out"box' $mortise1$`,
    };
    const sources = Array.from({ length: 5 }, () => closed(new PostgresSource({ url, ...options })));
    await Promise.all(sources.map((source) => source.installOutbox()));
    await Promise.all(sources.map((source) => source.installOutbox()));
    await pool.query(`insert into "o.p""q"."$mortise$ a""b'; --" values ('x'), (null)`);
    expect((await pool.query(`select id from "o.p""q"."out""box' $mortise1$"`)).rows).toEqual([{ id: 'x' }]);

    await Promise.all(sources.map((source) => source.removeOutbox()));
    const { rows } =
      await pool.query(`select (select count(*) from pg_class where relnamespace = n.oid)::int as classes,
      (select count(*) from pg_proc where pronamespace = n.oid)::int as functions from pg_namespace n where nspname = 'o.p"q'`);
    expect(rows).toEqual([{ classes: 1, functions: 0 }]);
  });

  test('is not installed where its triggers would fail the writers of the table', async () => {
    const { url, pool } = await freshDatabase(server());
    await pool.query(`create table items (sku text primary key); create view best as select sku from items;
      create table taken (n int)`);
    const install = (options: object): Promise<void> =>
      closed(new PostgresSource({ url, table: 'items', id: 'sku', ...options })).installOutbox();
    const code = 'ERR_SQL_SCHEMA';
    await expect(install({ id: 'id' })).rejects.toMatchObject({ code, table: 'items' });
    await expect(install({ table: 'none' })).rejects.toMatchObject({ code, table: 'none' });
    await expect(install({ table: 'best' })).rejects.toMatchObject({ code, table: 'best' });
    await expect(install({ outbox: 'taken' })).rejects.toMatchObject({ code, table: 'taken' });
    await pool.query(`insert into items values ('a')`);
    const { rows } =
      await pool.query(`select relname from pg_class where relnamespace = 'public'::regnamespace
      and relkind in ('r', 'S') order by relname`);
    expect(rows).toEqual([{ relname: 'items' }, { relname: 'taken' }]);
  });

  test('lets transactions of two phases be, where it does not notify', async () => {
    const { url, pool, source, waiting } = await fresh();
    const twoPhases = `begin; update items set name = 'two phases' where id = 1; prepare transaction 'sale'`;
    await pool.query(`select setval('items_mortise_outbox_idle', 1)`);
    const client = await pool.connect();
    // The README warns of this, and the option `notify` avoids it.
    await expect(client.query(twoPhases)).rejects.toMatchObject({ code: '0A000' });
    await client.query('rollback');
    const silent = closed(new PostgresSource({ url, table: 'items', notify: false }));
    await silent.installOutbox();
    await silent.installOutbox();
    const { has, errors } = await watch(redis, silent);

    await pool.query(`select setval('items_mortise_outbox_idle', 1)`);
    await client.query(twoPhases);
    await client.query(`commit prepared 'sale'`);

    await has('1', 'two phases');
    await until('an empty outbox', async () => (await waiting()).length === 0);
    expect(errors).toEqual([]);
    // And back again.
    await source.installOutbox();
    await pool.query(
      `select setval('items_mortise_outbox_idle', 1); update items set name = 'x' where id = 2`,
    );
    await until('an idle feed', async () => {
      const { rows } = await pool.query('select last_value from items_mortise_outbox_idle');
      return rows[0].last_value === '2';
    });
    client.release();
  });

  test('is printed as SQL for a migration, and refuses a name that PostgreSQL would cut off', async () => {
    const { pool } = await freshDatabase(server());
    await pool.query('create table items (id int)');
    const { install, remove } = postgresOutboxSql({ table: 'items' });
    await pool.query(install);
    await pool.query(install);
    await pool.query('insert into items values (1)');
    expect((await pool.query('select id from items_mortise_outbox')).rows).toEqual([{ id: '1' }]);
    await pool.query(remove);
    await pool.query(remove);
    const long = { table: 'x'.repeat(60) };
    expect(() => postgresOutboxSql(long)).toThrow(expect.objectContaining({ code: 'ERR_SQL_IDENTIFIER' }));
    expect(postgresOutboxSql({ ...long, outbox: 'short' }).install).toContain('"short"');
  });

  test('notes what somebody changes who has no rights on it', async () => {
    const { pool, waiting } = await fresh();
    const role = `clerk_${Date.now()}`;
    await pool.query(`create role ${role}; grant select, update on items to ${role}`);
    await pool.query(`set role ${role}; update items set name = 'sold' where id = 1; reset role`);
    expect(await waiting()).toEqual(['1']);
  });

  test('notifies once for any number of transactions while no feed listens', async () => {
    const { pool } = await fresh();
    const client = await pool.connect();
    const notifications: unknown[] = [];
    client.on('notification', (message) => notifications.push(message));
    const { rows } = await client.query(`select 'items_mortise_outbox'::regclass::oid::text as oid`);
    await client.query(`listen mortise_${rows[0].oid}; listen last`);
    for (let round = 0; round < 50; round += 1) await pool.query(`update items set name = 'n ${round}'`);
    await pool.query('notify last');
    await until('the last notification', () =>
      notifications.some((message) => (message as { channel: string }).channel === 'last'),
    );
    expect(notifications).toHaveLength(2);
    client.release(true);
  });
});

describe('a feed', () => {
  test('refreshes changed rows when it is notified, and empties the outbox', async () => {
    const { pool, source, waiting } = await fresh();
    const { rows, has, errors } = await watch(redis, source, DEAF);
    for (const round of [1, 2, 3]) {
      await untilAsleep(pool);
      await pool.query(`update items set name = 'new ${round}' where id = 1`);
      await has('1', `new ${round}`);
    }
    await pool.query('delete from items where id = 2');
    await has('2', null);
    await until('an empty outbox', async () => (await waiting()).length === 0);
    expect((await rows.stats()).scheduled).toBe(MANY_ITEMS - 1);
    expect(errors).toEqual([]);
  });

  test('loses no change of a transaction that commits after a later one', async () => {
    const { pool, source, waiting } = await fresh();
    const { has, errors } = await watch(redis, source, DEAF);
    const early = await begin(pool, `update items set name = 'early' where id = 1`);
    await pool.query(`update items set name = 'late' where id = 2`);
    await has('2', 'late');
    await until('an empty outbox', async () => (await waiting()).length === 0);
    await untilAsleep(pool);

    await early.commit();

    await has('1', 'early');
    await until('an empty outbox', async () => (await waiting()).length === 0);
    expect(errors).toEqual([]);
  });

  test('loses no change of a transaction that commits while a later one is worked through', async () => {
    const { pool, source } = await fresh();
    const reader = await outboxOf(source).open(new AbortController().signal);
    try {
      const early = await begin(pool, `update items set name = 'early' where id = 1`);
      await pool.query(`insert into items select n, 'many' from generate_series(1001, 2200) as n`);
      const read = async (): Promise<string[]> => {
        const changes = await reader.read(500, []);
        await reader.remove(changes);
        return changes.map(({ id }) => id);
      };
      expect(await read()).toHaveLength(500);

      await early.commit();

      const later = [...(await read()), ...(await read()), ...(await read())];
      expect(later).toHaveLength(701);
      expect(later).toContain('1');
    } finally {
      await reader.close();
    }
  });

  test('loses no change of a transaction that saw it awake and commits when it sleeps', async () => {
    const { pool, source } = await fresh();
    await pool.query(`select setval('items_mortise_outbox_idle', 2)`);
    const early = await begin(
      pool,
      'set constraints all immediate',
      `update items set name = 'early' where id = 1`,
    );
    const { has, feed } = await watch(redis, source, DEAF);
    await untilAsleep(pool);
    expect(feed.stats().changes).toBe(0);

    await early.commit();

    expect(await has('1', 'early')).toBe(true);
  });

  test('stays behind a transaction that has not ended, and passes over those that have', async () => {
    const { pool, source, waiting } = await fresh();
    const { feed, has } = await watch(redis, source, DEAF);
    const open = await begin(pool, `update items set name = 'open' where id = 1`);
    for (let round = 1; round <= 30; round += 1) {
      await pool.query(`update items set name = 'round ${round}' where id = ${(round % 10) + 2}`);
    }
    await has('2', 'round 30');
    await until('an empty outbox', async () => (await waiting()).length === 0);
    await open.commit();
    await has('1', 'open');
    expect(feed.stats().changes).toBe(31);
  });

  test('works through more changes than it reads at once', async () => {
    const { pool, source, waiting } = await fresh();
    const { feed, has } = await watch(redis, source, DEAF);
    await pool.query(`insert into items select n, 'many' from generate_series(1001, 3000) as n`);
    await pool.query(`update items set name = 'last' where id = 20`);
    await has('20', 'last');
    await until('an empty outbox', async () => (await waiting()).length === 0);
    expect(feed.stats()).toMatchObject({ changes: 2_001, refreshed: 1 });
  });

  test('lets a load end that a change overtakes, and loads the row again', async () => {
    const { pool, source } = await fresh();
    let isHeld = false;
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const loads: string[][] = [];
    const load = async (ids: readonly string[]): Promise<Map<string, object>> => {
      const found = await source.load(ids);
      if (!isHeld) return found;
      loads.push([...ids]);
      if (loads.length === 1) await held;
      return found;
    };
    const { has, refresher, rows, feed } = await watch(redis, source, { ...DEAF, load });
    isHeld = true;
    await pool.query(`update items set name = 'first' where id = 1`);
    await until('the load', () => loads.length === 1);
    await pool.query(`update items set name = 'second' where id = 1`);
    await until('the second change to be read', () => feed.stats().changes === 2);
    expect(await rows.get('1')).toMatchObject({ name: 'item 1' });

    release();

    await has('1', 'second');
    expect(loads).toEqual([['1'], ['1']]);
    expect(refresher.stats().refused).toBe(0);
  });

  test('takes over when the one that reads is stopped', async () => {
    const { pool, source } = await fresh();
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
});
