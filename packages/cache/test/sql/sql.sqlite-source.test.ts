import { describe, expect, test } from '@jest/globals';
import { SqliteSource } from '@mortise/cache/sqlite';
import { RowCache } from '@mortise/cache/rows';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import Database from 'libsql';
import AsyncDatabase from 'libsql/promise';
import { refresh } from '../fixture/tables.js';
import { closed, freshFile } from './sql.databases.js';

const ITEMS = `
create table items (id integer primary key, name text not null, stock integer not null);
insert into items values (1, 'sword', 7), (2, 'shield', 3), (42, 'bow', 1);`;

describe('load', () => {
  test('gives the rows that are there, each under the id that was asked for', async () => {
    const source = closed(new SqliteSource({ path: freshFile(ITEMS).path, table: 'items' }));

    const rows = await source.load(['42', '1', '3', '042', ' 42', '1.0', 'x', "1'; --", '']);

    expect(rows).toEqual(
      new Map([
        ['1', { id: 1, name: 'sword', stock: 7 }],
        ['42', { id: 42, name: 'bow', stock: 1 }],
      ]),
    );
    expect(await source.load([])).toEqual(new Map());
  });

  test('takes text for ids, and only what is asked of columns and rows', async () => {
    const { path } = freshFile(`
      create table players (name text primary key, score integer, gone integer);
      insert into players values ('7', 1, null), ('Ann "A"', 2, null), ('é😀', 3, null), ('Bob', 4, 1);`);
    const where = 'players.gone is null -- they have left';
    const source = closed(
      new SqliteSource({ path, table: 'players', id: 'name', columns: ['score'], where }),
    );

    expect(await source.load(['7', 'Ann "A"', 'ann "a"', 'é😀', 'Bob'])).toEqual(
      new Map([
        ['7', { score: 1 }],
        ['Ann "A"', { score: 2 }],
        ['é😀', { score: 3 }],
      ]),
    );
  });

  test('turns every value into JSON, by the documented rules', async () => {
    const { path } = freshFile(`
      create table kinds (id integer primary key, big, exact, real, ends, bytes, text, "nothing", "__proto__");
      insert into kinds values (1, 9007199254740993, -9007199254740991, 1.5, -9e999, x'00ff10', 'a', null, 'own');`);
    const source = closed(new SqliteSource({ path, table: 'kinds' }));

    const row = (await source.load(['1'])).get('1');

    expect(JSON.parse(JSON.stringify(row))).toEqual(
      JSON.parse(`{"id":1,"big":"9007199254740993","exact":-9007199254740991,"real":1.5,"ends":"-Infinity",
        "bytes":"AP8Q","text":"a","nothing":null,"__proto__":"own"}`),
    );
  });

  test('takes tables and columns of any name, and refuses those that are not there with a code', async () => {
    const hostile = 'it"em\'s; drop table items --';
    const { path, database } = freshFile(`${ITEMS}
      create table "it""em's; drop table items --" ("i""d)" text primary key, "a'b" integer);
      insert into "it""em's; drop table items --" values ('1', 2);`);
    const source = closed(new SqliteSource({ path, table: hostile, id: 'i"d)', columns: ["a'b"] }));
    expect(await source.load(['1'])).toEqual(new Map([['1', { "a'b": 2 }]]));

    const refused = async (options: object): Promise<unknown> =>
      closed(new SqliteSource({ path, table: 'items', ...options }))
        .load(['1'])
        .catch((error: unknown) => error);
    expect(await refused({ table: 'items"; drop table items; --' })).toMatchObject({
      code: 'ERR_SQL_SCHEMA',
    });
    expect(await refused({ id: 'name" is not null or "id' })).toMatchObject({ code: 'ERR_SQL_SCHEMA' });
    expect(await refused({ columns: ['(select sql from sqlite_master)'] })).toMatchObject({
      code: 'ERR_SQL_SCHEMA',
    });
    for (const options of [{ table: '' }, { id: 'i\0d' }, { columns: ['a\nb'] }, { outbox: '\ud800' }]) {
      await expect(refused(options)).rejects.toMatchObject({ code: 'ERR_SQL_IDENTIFIER' });
    }
    expect(database.prepare('select count(*) as items from items').all()).toMatchObject([{ items: 3 }]);
  });

  test('refuses an id that SQLite would not find by its text', async () => {
    const { path } = freshFile('create table a (id); create table b (id blob); create table c (id real)');
    for (const table of ['a', 'b', 'c']) {
      const source = closed(new SqliteSource({ path, table }));
      await expect(source.load(['1'])).rejects.toMatchObject({ code: 'ERR_SQL_SCHEMA' });
    }
  });

  test('sees a column that is added or renamed at the next load', async () => {
    const { path, database } = freshFile(ITEMS);
    const source = closed(new SqliteSource({ path, table: 'items' }));
    await source.load(['1']);

    database.exec(
      'alter table items rename column stock to left; alter table items add column price integer',
    );

    expect((await source.load(['1'])).get('1')).toEqual({ id: 1, name: 'sword', left: 7, price: null });
  });

  test('keeps loads that come at once apart', async () => {
    const source = closed(new SqliteSource({ path: freshFile(ITEMS).path, table: 'items' }));
    const ids = Array.from({ length: 40 }, (_, index) => [['1'], ['2', '42'], ['9']][index % 3]!);
    const loaded = await Promise.all(ids.map((some) => source.load(some)));
    expect(loaded.map((rows) => rows.size)).toEqual(ids.map((some) => (some[0] === '9' ? 0 : some.length)));
  });

  test.each([
    ['libsql', Database],
    ['libsql/promise', AsyncDatabase],
  ])('works with a database of %s that is given, and leaves it open', async (_, Driver) => {
    const { path } = freshFile(ITEMS);
    const database = new Driver(path, {});
    const source = new SqliteSource({ database, table: 'items' });
    expect((await source.load(['1', '2'])).size).toBe(2);
    await expect(new SqliteSource({ database, table: 'none' }).load(['1'])).rejects.toMatchObject({
      code: 'ERR_SQL_SCHEMA',
    });
    expect((await source.load(['1'])).size).toBe(1);
    await source.close();
    const statement = await database.prepare('select 1 as one');
    expect(await statement.all()).toMatchObject([{ one: 1 }]);
  });

  test('ends a query that takes too long, or whose result is no longer wanted, and goes on', async () => {
    const { path } = freshFile(`${ITEMS}
      create view slow as with recursive n(x) as (select 1 union all select x + 1 from n limit 1000000000000)
        select items.id, (select count(*) from n) as total from items;`);
    const slow = closed(new SqliteSource({ path, table: 'slow', queryTimeoutMs: 50 }));
    await expect(slow.load(['1'])).rejects.toMatchObject({ code: 'ERR_SQL_TIMEOUT' });

    const patient = closed(new SqliteSource({ path, table: 'slow', queryTimeoutMs: 600_000 }));
    const controller = new AbortController();
    const load = patient.load(['1'], controller.signal);
    const next = patient.load(['1'], AbortSignal.abort(new Error('at once')));
    controller.abort(new Error('no longer wanted'));
    await expect(load).rejects.toThrow('no longer wanted');
    await expect(next).rejects.toThrow('at once');
  });

  test('waits for a file that is locked, then says so, and comes back when it is free', async () => {
    const { path, database } = freshFile(ITEMS);
    const source = closed(new SqliteSource({ path, table: 'items', busyTimeoutMs: 50 }));
    database.exec('pragma locking_mode = exclusive; begin exclusive; update items set stock = 8');
    await expect(source.load(['1'])).rejects.toMatchObject({ code: expect.stringMatching('^SQLITE_BUSY') });

    database.exec('commit; pragma locking_mode = normal; select 1 from items');
    const rows = await until('the row', () => source.load(['1']).catch(() => undefined));

    expect(rows.get('1')).toMatchObject({ stock: 8 });
  });

  test('ends with the source', async () => {
    const source = new SqliteSource({ path: freshFile(ITEMS).path, table: 'items' });
    const load = source.load(['1']);
    const behind = source.load(['1']);
    await Promise.all([load, behind]);
    await source.close();
    await source.close();
    await expect(source.load(['1'])).rejects.toMatchObject({ code: 'ERR_SQL_CLOSED' });
  });
});

test('fills a RowCache', async () => {
  const redis = connect();
  const { path, database } = freshFile(ITEMS);
  const source = closed(new SqliteSource<{ name: string; stock: number }>({ path, table: 'items' }));
  const rows = new RowCache(redis, 'items', { load: source.load, prefix: freshPrefix() });
  const { refresher, errors } = await refresh(redis, rows);
  await rows.scheduleAll(['1', '2', '3'], { everyMs: 50 });
  await until('the row', async () => (await rows.get('1'))?.stock === 7);

  database.exec('update items set stock = 6 where id = 1');

  await until('the change', async () => (await rows.get('1'))?.stock === 6);
  expect((await rows.stats()).scheduled).toBe(2);
  expect(errors).toEqual([]);
  await refresher.stop();
});
