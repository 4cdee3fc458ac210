import { describe, expect, test } from '@jest/globals';
import { ChangeFeed } from '@mortise/cache/rows';
import { SqliteSource, sqliteOutboxSql } from '@mortise/cache/sqlite';
import { connect, transcript, until } from '@mortise/test-kit';
import type Database from 'libsql';
import Libsql from 'libsql';
import AsyncDatabase from 'libsql/promise';
import * as scripts from '../../src/scripts.gen.js';
import { closed, freshFile } from './sql.databases.js';
import { feedOf, MANY_ITEMS, rowsOf, watch } from './sql.feed.js';

const redis = connect();

const ITEMS = `
create table items (id integer primary key, name text not null unique);
with recursive n(x) as (select 1 union all select x + 1 from n limit ${MANY_ITEMS})
insert into items select x, 'item ' || x from n;`;

async function fresh(options: object = {}): Promise<{
  path: string;
  database: Database.Database;
  source: SqliteSource;
  waiting: () => string[];
}> {
  const { path, database } = freshFile(ITEMS);
  const source = closed(new SqliteSource({ path, table: 'items', ...options }));
  await source.installOutbox();
  const ids = database.prepare('select id from items_mortise_outbox order by seq');
  return { path, database, source, waiting: () => ids.all().map((line) => (line as { id: string }).id) };
}

describe('an outbox', () => {
  test('notes each row that a statement changes, in its transaction', async () => {
    const { database, waiting } = await fresh();
    database.exec(`insert into items values (21, 'new'); update items set name = 'other' where id = 1;
      delete from items where id = 2; update items set id = 30 where id = 3; update items set name = name where id = 4;`);
    expect(waiting()).toEqual(['21', '1', '2', '30', '3', '4']);
    database.exec(
      `delete from items_mortise_outbox; begin; update items set name = 'x' where id = 5; rollback`,
    );
    expect(waiting()).toEqual([]);
    database.exec(`insert into items values (6, 'six') on conflict (id) do update set name = excluded.name;
      insert or ignore into items values (7, 'seven'); insert or replace into items values (8, 'eight')`);
    expect(waiting()).toEqual(['6', '8']);
  });

  test('is installed and removed any number of times, also by several at once, and with hostile names', async () => {
    const { path, database } = freshFile(`create table "a""b'; --" ("i""d" text primary key);`);
    const options = { path, table: `a"b'; --`, id: 'i"d', outbox: `out"box'` };
    const sources = Array.from({ length: 5 }, () => closed(new SqliteSource(options)));
    await Promise.all(sources.map((source) => source.installOutbox()));
    await Promise.all(sources.map((source) => source.installOutbox()));
    database.exec(`insert into "a""b'; --" values ('x'), (null)`);
    expect(database.prepare(`select id from "out""box'"`).all()).toMatchObject([{ id: 'x' }]);

    await Promise.all(sources.map((source) => source.removeOutbox()));
    const left = database.prepare(
      `select count(*) as objects from sqlite_schema where name not like 'sqlite%'`,
    );
    expect(left.all()).toMatchObject([{ objects: 1 }]);
  });

  test.each(['path', 'database'] as const)(
    'is not installed where its triggers would fail the writers of the table (%s)',
    async (kind) => {
      const { path, database } = freshFile(`create table items (sku text primary key); create table taken (n);
        create view best as select sku from items;`);
      const target = kind === 'path' ? { path } : { database };
      const install = (options: object): Promise<void> =>
        closed(new SqliteSource({ ...target, table: 'items', id: 'sku', ...options })).installOutbox();
      const code = 'ERR_SQL_SCHEMA';
      await expect(install({ id: 'id' })).rejects.toMatchObject({ code, table: 'items' });
      await expect(install({ table: 'none' })).rejects.toMatchObject({ code, table: 'none' });
      await expect(install({ table: 'best' })).rejects.toMatchObject({ code, table: 'best' });
      await expect(install({ outbox: 'taken' })).rejects.toMatchObject({ code, table: 'taken' });
      database.exec(`insert into items values ('a')`);
      const { length } = database.prepare(`select name from sqlite_schema where type = 'trigger'`).all();
      expect(length).toBe(0);
    },
  );

  test.each([
    ['libsql', Libsql],
    ['libsql/promise', AsyncDatabase],
  ])('leaves nothing open on a database of %s where its SQL fails', async (_, Driver) => {
    const { path, database: writer } = freshFile(ITEMS);
    // An index of the name that a table is to have.
    writer.exec('create index items_mortise_outbox on items (name); pragma busy_timeout = 0');
    const database = new Driver(path, {});
    const source = closed(new SqliteSource({ database, table: 'items' }));

    await expect(source.installOutbox()).rejects.toThrow('already an index');

    writer.exec(`update items set name = 'written' where id = 1`);
    await database.exec('begin');
    // Somebody else's transaction is left alone.
    await database.exec(`update items set name = 'kept' where id = 2`);
    await expect(source.installOutbox()).rejects.toThrow('within a transaction');
    await database.exec('commit');
    expect(writer.prepare('select name from items where id = 2').all()).toMatchObject([{ name: 'kept' }]);
  });

  test('is printed as SQL for a migration', async () => {
    const { database } = freshFile(ITEMS);
    const { install, remove } = sqliteOutboxSql({ table: 'items' });
    database.exec(install);
    database.exec(install);
    database.exec(`update items set name = 'x' where id = 5`);
    expect(database.prepare('select id from items_mortise_outbox').all()).toMatchObject([{ id: '5' }]);
    database.exec(remove);
    database.exec(remove);
    expect(() => sqliteOutboxSql({ table: '' })).toThrow(
      expect.objectContaining({ code: 'ERR_SQL_IDENTIFIER' }),
    );
  });
});

describe('a feed', () => {
  test('refreshes what changes, whichever connection changes it, and empties the outbox', async () => {
    const { database, source, waiting } = await fresh();
    const { rows, has, errors } = await watch(redis, source);

    database.exec(`update items set name = 'new' where id = 1; delete from items where id = 2;
      insert into items values (99, 'nobody asked for');`);

    await has('1', 'new');
    await has('2', null);
    await until('an empty outbox', () => waiting().length === 0);
    expect((await rows.stats()).scheduled).toBe(MANY_ITEMS - 1);
    expect(await rows.get('99')).toBeNull();
    expect(errors).toEqual([]);
  });

  test('goes on after the file was locked for longer than it waits', async () => {
    const { database, source, waiting } = await fresh({ busyTimeoutMs: 20 });
    const { has, errors } = await watch(redis, source);
    database.exec(`begin immediate; update items set name = 'locked' where id = 3; commit;
      begin immediate; update items set name = 'uncommitted' where id = 4`);
    await until('an error', () => errors.length > 0);
    expect(errors).toContainEqual(expect.objectContaining({ code: 'SQLITE_BUSY' }));

    database.exec('commit');

    await has('3', 'locked');
    await has('4', 'uncommitted');
    await until('an empty outbox', () => waiting().length === 0);
  });

  test('works through more changes than it reads at once', async () => {
    const { database, source, waiting } = await fresh();
    const { feed, has } = await watch(redis, source);
    database.exec(`with recursive n(x) as (select 1 union all select x + 1 from n limit 2000)
      insert into items_mortise_outbox (id) select 'other ' || x from n; update items set name = 'last' where id = 20`);
    await has('20', 'last');
    await until('an empty outbox', () => waiting().length === 0);
    expect(feed.stats()).toMatchObject({ changes: 2_001, refreshed: 1 });
  });

  test('says that there is no outbox, and reads it when there is', async () => {
    const { path, database } = freshFile(ITEMS);
    const source = closed(new SqliteSource({ path, table: 'items' }));
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
    database.exec(`update items set name = 'x' where id = 5`);
    await until('the change', () => feed.stats().changes === 1);
  });

  test('sends a lease and marks, and leaves nothing behind', async () => {
    const { database, source, waiting } = await fresh();
    const { feed, rows, refresher, prefix } = await watch(redis, source, { leaseMs: 600_000 });
    await refresher.stop();
    expect(await redis.pttl(`${prefix}:cache:{items}:feed`)).toBeGreaterThan(500_000);
    await feed.stop();
    expect(await redis.exists(`${prefix}:cache:{items}:feed`)).toBe(0);
    database.exec(`update items set name = name || '!'; insert into items values (99, 'new')`);

    const lines = await transcript(redis, { prefix, scripts }, async () => {
      await feed.start();
      await until('an empty outbox', () => waiting().length === 0);
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

  test('stops before its start, and again', async () => {
    const { source } = await fresh();
    const rows = rowsOf(redis, source);
    const feed = new ChangeFeed(redis, source, rows);
    await feed.stop();
    await feed.stop();
    expect(feed.stats()).toEqual({ isReading: false, changes: 0, refreshed: 0 });
  });
});
