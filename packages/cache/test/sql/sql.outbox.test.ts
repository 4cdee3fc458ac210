/** The triggers of both databases, which note changed rows in an outbox. */
import { describe, expect, test } from '@jest/globals';
import { postgresOutboxSql } from '@mortise/cache/postgres';
import type { PostgresSourceOptions } from '@mortise/cache/postgres';
import { sqliteOutboxSql } from '@mortise/cache/sqlite';
import { connect, until } from '@mortise/test-kit';
import Libsql from 'libsql';
import AsyncDatabase from 'libsql/promise';
import { SqliteSource } from '@mortise/cache/sqlite';
import type { Pool } from 'pg';
import { freshSqlite, ITEMS, KINDS, postgres } from './sql.databases.js';
import type { TestDatabase } from './sql.databases.js';
import { watch } from './sql.feed.js';

const redis = connect();
const { fresh, freshPostgres } = postgres();

/** The triggers, functions and tables in the schema of a test. */
const OBJECTS = {
  PostgreSQL: `select relname as name from pg_class where relkind in ('r', 'S') and relnamespace = 'public'::regnamespace
    union all select proname from pg_proc where pronamespace = 'public'::regnamespace order by 1`,
  SQLite: `select name from sqlite_schema where type in ('table', 'trigger') and name not like 'sqlite%' order by 1`,
};

describe.each(KINDS)('an outbox in %s', (kind) => {
  test('notes each row that a statement changes, in its transaction', async () => {
    const db = await fresh(kind, ITEMS);
    await db.source().installOutbox();
    await db.run(`insert into items values (21, 'new')`);
    await db.run(`update items set name = 'other' where id = 1`);
    await db.run(`update items set name = 'nobody' where id = 77`);
    await db.run('delete from items where id = 2');
    await db.run(`insert into items values (4, 'four') on conflict (id) do update set name = excluded.name`);
    await db.run('update items set name = name where id = 5');
    expect(await db.waiting()).toEqual(['21', '1', '2', '4', '5']);
    await db.run('update items set id = 30 where id = 3');
    expect((await db.waiting()).slice(5).toSorted()).toEqual(['3', '30']);

    await db.run('delete from items_mortise_outbox');
    await db.run(`begin; update items set name = 'x' where id = 5; rollback`);
    expect(await db.waiting()).toEqual([]);
  });

  test('is installed and removed any number of times, also by several at once, and with hostile names', async () => {
    const db = await fresh(kind, `create table "$mortise$ a""b'; --" ("i""d" text)`);
    const options = { table: `$mortise$ a"b'; --`, id: 'i"d', outbox: `out"box' $mortise1$` };
    const sources = Array.from({ length: 5 }, () => db.source(options));
    await Promise.all(sources.map((source) => source.installOutbox()));
    await Promise.all(sources.map((source) => source.installOutbox()));
    await db.run(`insert into "$mortise$ a""b'; --" values ('x'), (null)`);
    expect(await db.all(`select id from "out""box' $mortise1$"`)).toMatchObject([{ id: 'x' }]);

    await Promise.all(sources.map((source) => source.removeOutbox()));
    expect(await db.all(OBJECTS[kind])).toMatchObject([{ name: `$mortise$ a"b'; --` }]);
  });

  test('is printed as SQL for a migration, and refuses a name that cannot be one', async () => {
    const outboxSql = kind === 'SQLite' ? sqliteOutboxSql : postgresOutboxSql;
    const db = await fresh(kind, ITEMS);
    const { install, remove } = outboxSql({ table: 'items' });
    await db.run(install);
    await db.run(install);
    await db.run(`update items set name = 'x' where id = 5`);
    expect(await db.waiting()).toEqual(['5']);
    await db.run(remove);
    await db.run(remove);
    expect(() => outboxSql({ table: '' })).toThrow(expect.objectContaining({ code: 'ERR_SQL_IDENTIFIER' }));
  });
});

test.each([...KINDS, 'a given SQLite'] as const)(
  'an outbox is not installed where its triggers would fail the writers of the table: %s',
  async (what) => {
    const kind = what === 'PostgreSQL' ? what : 'SQLite';
    const db = await fresh(
      kind,
      `create table items (sku text primary key); create table taken (n int);
      create view best as select sku from items;`,
    );
    const given = what === 'a given SQLite' && { database: (db as ReturnType<typeof freshSqlite>).database };
    const install = (options: object): Promise<void> =>
      db.source({ id: 'sku', ...given, ...options }).installOutbox();
    const code = 'ERR_SQL_SCHEMA';
    await expect(install({ id: 'id' })).rejects.toMatchObject({ code, table: 'items' });
    await expect(install({ table: 'none' })).rejects.toMatchObject({ code, table: 'none' });
    await expect(install({ table: 'best' })).rejects.toMatchObject({ code, table: 'best' });
    await expect(install({ outbox: 'taken' })).rejects.toMatchObject({ code, table: 'taken' });
    await db.run(`insert into items values ('a')`);
    expect(await db.all(OBJECTS[kind])).toMatchObject([{ name: 'items' }, { name: 'taken' }]);
  },
);

describe('an outbox in PostgreSQL', () => {
  const installed = async (): Promise<Awaited<ReturnType<typeof freshPostgres>>> => {
    const db = await freshPostgres(ITEMS);
    await db.source().installOutbox();
    return db;
  };

  test('is in the schema of its table', async () => {
    const { pool, source: sourceOf } = await freshPostgres(
      'create schema "o.p""q"; create table "o.p""q".items (id int)',
    );
    const source = sourceOf({ schema: 'o.p"q' });
    await source.installOutbox();
    await pool.query('insert into "o.p""q".items values (1)');
    expect((await pool.query('select id from "o.p""q".items_mortise_outbox')).rows).toEqual([{ id: '1' }]);
    await source.removeOutbox();
    const { rows } =
      await pool.query(`select (select count(*) from pg_class where relnamespace = n.oid)::int as classes,
      (select count(*) from pg_proc where pronamespace = n.oid)::int as functions from pg_namespace n where nspname = 'o.p"q'`);
    expect(rows).toEqual([{ classes: 1, functions: 0 }]);
  });

  test('refuses a name that PostgreSQL would cut off', () => {
    const long = { table: 'x'.repeat(60) };
    expect(() => postgresOutboxSql(long)).toThrow(expect.objectContaining({ code: 'ERR_SQL_IDENTIFIER' }));
    expect(postgresOutboxSql({ ...long, outbox: 'short' }).install).toContain('"short"');
  });

  test('lets transactions of two phases be, where it does not notify', async () => {
    const { pool, source: sourceOf, waiting } = await installed();
    const twoPhases = `begin; update items set name = 'two phases' where id = 1; prepare transaction 'sale'`;
    await pool.query(`select setval('items_mortise_outbox_idle', 1)`);
    const client = await pool.connect();
    // docs/cache/change-feed.md warns of this, and the option `notify` avoids it.
    await expect(client.query(twoPhases)).rejects.toMatchObject({ code: '0A000' });
    await client.query('rollback');
    const silent = sourceOf({ notify: false });
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
    await sourceOf().installOutbox();
    await pool.query(
      `select setval('items_mortise_outbox_idle', 1); update items set name = 'x' where id = 2`,
    );
    await until('a notification', async () => {
      const { rows } = await pool.query('select last_value from items_mortise_outbox_idle');
      return rows[0].last_value === '2';
    });
    client.release();
  });

  test('notes what somebody changes who has no rights on it', async () => {
    const { pool, waiting } = await installed();
    const role = `clerk_${Date.now()}`;
    await pool.query(`create role ${role}; grant select, update on items to ${role}`);
    await pool.query(`set role ${role}; update items set name = 'sold' where id = 1; reset role`);
    expect(await waiting()).toEqual(['1']);
  });

  test('notifies once for any number of transactions while no feed listens', async () => {
    const { pool } = await installed();
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

describe('an outbox of a PostgreSQL table whose rows have several names', () => {
  // Triggers of a statement know only the name that it used.
  const PARTITIONED = `create table items (id int primary key, name text) partition by range (id);
    create table low partition of items for values from (0) to (100);
    create table high partition of items for values from (100) to (1000) partition by range (id);
    create table highest partition of high for values from (500) to (1000);
    create table rest partition of high default;`;
  const INHERITED = `create table items (id int, name text); create table other (extra int);
    create table children (more int) inherits (items); create table grandchildren () inherits (other, children);`;

  /** @returns `noted`: the ids that were noted since it was asked before, each once for each time, in the order of texts. */
  async function noting(
    sql: string,
    options: Partial<PostgresSourceOptions> = {},
  ): Promise<{ pool: Pool; source: ReturnType<TestDatabase['source']>; noted: () => Promise<string[]> }> {
    const { pool, source: sourceOf } = await freshPostgres(sql);
    const source = sourceOf({ outbox: 'notes', ...options });
    await source.installOutbox();
    const noted = async (): Promise<string[]> => {
      const { rows } = await pool.query<{ id: string }>('delete from notes returning id');
      return rows.map(({ id }) => id).toSorted();
    };
    return { pool, source, noted };
  }

  test('notes what is written to partitions, by whatever name, and what moves between them', async () => {
    const { pool, source, noted } = await noting(PARTITIONED);
    await pool.query(`insert into items values (1, 'a'), (150, 'b')`);
    expect(await noted()).toEqual(['1', '150']);
    await pool.query(`update items set name = 'c'`);
    expect(await noted()).toEqual(['1', '150']);
    await pool.query(
      `update low set name = 'd'; update rest set name = 'd'; insert into highest values (600, 'e')`,
    );
    expect(await noted()).toEqual(['1', '150', '600']);
    await pool.query(`update items set id = 700 where id = 1`);
    expect(await noted()).toEqual(['1', '700']);
    await pool.query(`update highest set id = 800 where id = 700; delete from high where id = 150`);
    expect(await noted()).toEqual(['150', '700', '800']);

    // Later partitions inherit the trigger from the table.
    await pool.query(`create table new partition of items for values from (1000) to (2000);
      create table old (id int primary key, name text); insert into old values (2000, 'f');
      alter table items attach partition old for values from (2000) to (3000)`);
    await pool.query(`insert into new values (1000, 'g'); update old set name = 'h'`);
    expect(await noted()).toEqual(['1000', '2000']);

    await source.installOutbox();
    await pool.query(`update new set name = 'i'`);
    expect(await noted()).toEqual(['1000']);
    await source.removeOutbox();
    await pool.query(`update new set name = 'j'; update items set name = 'k'`);
  });

  test('notes what is written to children, by whatever name, and no null', async () => {
    const { pool, source, noted } = await noting(INHERITED);
    await pool.query(`insert into items values (1, 'a'); insert into children values (2, 'b', 0), (null, 'n', 0);
      insert into grandchildren (id, name) values (3, 'c')`);
    expect(await noted()).toEqual(['1', '2', '3']);
    await pool.query(`update items set name = 'd'`);
    expect(await noted()).toEqual(['1', '2', '3']);
    await pool.query(
      `update children set id = 4 where id = 2; update other set extra = 5; delete from only children`,
    );
    expect(await noted()).toEqual(['2', '3', '4', '4']);
    await source.removeOutbox();
    await pool.query(`update items set name = 'e'; insert into grandchildren (id, name) values (6, 'f')`);
  });

  test('of a partition notes what is written to the whole table', async () => {
    const { pool, noted } = await noting(PARTITIONED, { table: 'low' });
    await pool.query(`insert into items values (1, 'a'), (150, 'b'); update low set name = 'c'`);
    expect(await noted()).toEqual(['1', '1']);
    await pool.query(`update items set id = 160 where id = 1`);
    expect(await noted()).toEqual(['1']);
  });

  test('that is there notes rows when the table has got children and it is installed again', async () => {
    const { pool, source, noted } = await noting('create table items (id int primary key, name text)');
    await pool.query(`create table children () inherits (items); insert into children values (1, 'a')`);
    expect(await noted()).toEqual([]);
    await source.installOutbox();
    await pool.query(
      `update children set name = 'b'; update items set name = 'c'; insert into items values (2, 'd')`,
    );
    expect(await noted()).toEqual(['1', '1', '2']);
    const { rows } = await pool.query(`select tgrelid::regclass::text as table, tgname as name from pg_trigger
      where tgname like 'notes%' and tgname <> 'notes_notify' order by 1`);
    expect(rows).toEqual([
      { table: 'children', name: 'notes_row' },
      { table: 'items', name: 'notes_row' },
    ]);
  });
});

describe('an outbox in SQLite', () => {
  test('notes what is replaced, and nothing of what is ignored', async () => {
    const { database, source, waiting } = freshSqlite(ITEMS);
    await source().installOutbox();
    database.exec(
      `insert or ignore into items values (7, 'seven'); insert or replace into items values (8, 'eight')`,
    );
    expect(await waiting()).toEqual(['8']);
  });

  test.each([
    ['libsql', Libsql],
    ['libsql/promise', AsyncDatabase],
  ])('leaves nothing open on a database of %s where its SQL fails', async (_, Driver) => {
    const { path, database: writer } = freshSqlite(ITEMS);
    // An index of the name that a table is to have.
    writer.exec('create index items_mortise_outbox on items (name); pragma busy_timeout = 0');
    const database = new Driver(path, {});
    const source = new SqliteSource({ database, table: 'items' });

    await expect(source.installOutbox()).rejects.toThrow('already an index');

    writer.exec(`update items set name = 'written' where id = 1`);
    await database.exec('begin');
    // Somebody else's transaction is left alone.
    await database.exec(`update items set name = 'kept' where id = 2`);
    await expect(source.installOutbox()).rejects.toThrow('within a transaction');
    await database.exec('commit');
    expect(writer.prepare('select name from items where id = 2').all()).toMatchObject([{ name: 'kept' }]);
  });
});
