/** Rows loaded from PostgreSQL and from SQLite: first what both promise, then what only one of them has. */
import { describe, expect, test } from '@jest/globals';
import { PostgresSource } from '@mortise/cache/postgres';
import { SqliteSource } from '@mortise/cache/sqlite';
import { until } from '@mortise/test-kit';
import Database from 'libsql';
import AsyncDatabase from 'libsql/promise';
import { freshSqlite, KINDS, poolOf, postgres } from './sql.databases.js';

const { server, fresh, freshPostgres } = postgres();

const ITEMS = `create table items (id bigint primary key, name text not null, stock int not null);
insert into items values (1, 'sword', 7), (2, 'shield', 3), (9007199254740993, 'bow', 1);`;

describe.each(KINDS)('load from %s', (kind) => {
  test('gives the rows that are there, each under the id that was asked for', async () => {
    const source = (await fresh(kind, ITEMS)).source();
    const big = '9007199254740993';
    const others = ['3', '01', ' 1', '+1', '1.0', 'x', "1'; --", '', '\0', '99999999999999999999'];

    expect(await source.load([big, '1', ...others])).toEqual(
      new Map<string, unknown>([
        ['1', { id: 1, name: 'sword', stock: 7 }],
        [big, { id: big, name: 'bow', stock: 1 }],
      ]),
    );
    expect(await source.load(['x'])).toEqual(new Map());
    expect(await source.load([])).toEqual(new Map());
  });

  test('takes text for ids, and only what is asked of columns and rows', async () => {
    const db = await fresh(
      kind,
      `create table players (name text primary key, score integer, gone integer);
      insert into players values ('7', 1, null), ('Ann "A"', 2, null), ('é😀', 3, null), ('Bob', 4, 1);`,
    );
    const where = 'players.gone is null -- they have left';
    const source = db.source({ table: 'players', id: 'name', columns: ['score'], where });

    expect(await source.load(['7', 'Ann "A"', 'ann "a"', 'é😀', 'Bob'])).toEqual(
      new Map([
        ['7', { score: 1 }],
        ['Ann "A"', { score: 2 }],
        ['é😀', { score: 3 }],
      ]),
    );
  });

  test('takes tables and columns of any name, and refuses those that are not there with a code', async () => {
    const db = await fresh(
      kind,
      `${ITEMS} create table "it""em's; drop table items --" ("i""d)" text primary key, "a'b" integer);
      insert into "it""em's; drop table items --" values ('1', 2);`,
    );
    const hostile = db.source({ table: `it"em's; drop table items --`, id: 'i"d)', columns: ["a'b"] });
    expect(await hostile.load(['1'])).toEqual(new Map([['1', { "a'b": 2 }]]));

    const load = async (options: object): Promise<unknown> => db.source(options).load(['1']);
    const isPostgres = kind === 'PostgreSQL';
    for (const options of [
      { table: 'items"; drop table items; --' },
      { id: 'name" is not null or "id' },
      { columns: ['(select 1)'] },
      ...(isPostgres ? [{ schema: 'nowhere' }, { columns: ['ctid'] }] : []),
    ])
      await expect(load(options)).rejects.toMatchObject({ code: 'ERR_SQL_SCHEMA' });
    for (const options of [
      { table: '' },
      { id: 'i\0d' },
      { columns: ['a\nb'] },
      { outbox: '\ud800' },
      ...(isPostgres ? [{ table: 'x'.repeat(64) }, { schema: '' }] : []),
    ])
      await expect(load(options)).rejects.toMatchObject({ code: 'ERR_SQL_IDENTIFIER' });
    expect(await db.all('select * from items')).toHaveLength(3);
  });

  test('sees a column that is added or renamed at the next load', async () => {
    const db = await fresh(kind, ITEMS);
    const source = db.source();
    await source.load(['1']);

    await db.run(
      'alter table items rename column stock to left_; alter table items add column price integer',
    );

    expect((await source.load(['1'])).get('1')).toEqual({ id: 1, name: 'sword', left_: 7, price: null });
  });

  test('keeps loads that come at once apart', async () => {
    const source = (await fresh(kind, ITEMS)).source();
    const ids = Array.from({ length: 40 }, (_, index) => [['1'], ['2', '1'], ['9']][index % 3]!);
    const loaded = await Promise.all(ids.map((some) => source.load(some)));
    expect(loaded.map((rows) => rows.size)).toEqual(ids.map((some) => (some[0] === '9' ? 0 : some.length)));
  });

  test('ends with the source', async () => {
    const source = (await fresh(kind, ITEMS)).source();
    await Promise.all([source.load(['1']), source.load(['1'])]);
    await source.close();
    await source.close();
    await expect(source.load(['1'])).rejects.toMatchObject({ code: 'ERR_SQL_CLOSED' });
  });
});

describe('load from PostgreSQL', () => {
  test.each([
    ['smallint', '-32768', '-32769'],
    ['uuid', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'],
    ['text', 'é"{a,b}\\', 'nul\0'],
    ['varchar(20)', 'null', 'NULL'],
    ['char(9)', 'padded', 'padded '],
    ['positive', '7', '0x7'],
    ['mood', 'sad', 'angry'],
    ['numeric', '1.50', 'x'],
    ['float8', '1.5', '1e999'],
    ['date', '2026-03-29', '2026-02-30'],
    ['bool', 'true', 'x'],
    ['inet', '10.0.0.1/8', 'x'],
  ])('finds ids of the type %s', async (type, id, other) => {
    const { pool, source: sourceOf } = await freshPostgres(
      `create domain positive as int check (value > 0); create type mood as enum ('sad', 'glad');
      create table things ("the id" ${type} primary key)`,
    );
    await pool.query('insert into things values ($1)', [id]);
    const source = sourceOf({ table: 'things', id: 'the id' });

    const rows = await source.load([id, other]);

    expect([...rows.keys()]).toEqual([id]);
    expect(await source.load([id])).toEqual(rows);
    expect(await source.load([other])).toEqual(new Map());
  });

  test('finds the table in its schema', async () => {
    const { source } = await freshPostgres(
      `create schema "o.p""q"; create table "o.p""q".items (id int, gone bool);
      insert into "o.p""q".items values (1, false), (2, true)`,
    );
    const columns = ['id'];
    expect(await source({ schema: 'o.p"q', columns, where: 'not gone -- yet' }).load(['1', '2'])).toEqual(
      new Map([['1', { id: 1 }]]),
    );
  });

  test('is one query for a batch, which uses the index of the id', async () => {
    const { pool, source: sourceOf } = await freshPostgres(
      `create table many (id varchar(20) primary key, n int);
      insert into many select n::text, n from generate_series(1, 200000) as n; analyze many`,
    );
    const queries: { text: string; values: unknown[] }[] = [];
    const watched = {
      connect: async () => {
        const client = await pool.connect();
        return Object.assign(Object.create(client) as typeof client, {
          query: async (config: { text: string; values: unknown[] }) => {
            queries.push(config);
            return client.query(config);
          },
        });
      },
    };
    const source = sourceOf({ pool: watched, table: 'many', columns: ['n'] });
    await source.load(['1']);
    queries.length = 0;

    const ids = Array.from({ length: 250 }, (_, index) => String(index * 7 + 1));
    expect((await source.load(ids)).size).toBe(250);

    const [{ text, values }, ...others] = queries as [{ text: string; values: unknown[] }];
    expect(others).toEqual([]);
    const plan = await pool.query(`explain ${text}`, values);
    expect(JSON.stringify(plan.rows)).toContain('many_pkey');
  });

  test('fails as its condition does, and by one query', async () => {
    const source = (await freshPostgres(ITEMS)).source({ where: '1 / (stock - 7) > 0' });
    await expect(source.load(['1'])).rejects.toMatchObject({ code: '22012' });
    expect((await source.load(['3'])).size).toBe(0);
  });

  test('turns every value into JSON, by the documented rules, whatever the session is set to', async () => {
    const { url, source } = await freshPostgres(`
      create table kinds (id int primary key, big bigint, safe bigint, n numeric, f float8, ends float8[], b boolean,
        bytes bytea, d date, t timestamp, tz timestamptz, wait interval, j jsonb, bigs bigint[], days date[],
        instants timestamptz[], sums numeric[], texts text[], u uuid, addr inet, "__proto__" text, nothing int);
      insert into kinds values (1, 9007199254740993, -9007199254740991, 12.500, 1.5, '{NaN,Infinity,-Infinity}', true,
        '\\x00ff10', '2026-03-29', '2026-03-29 02:30:00.5', '2026-03-29 02:30:00.123456+02', '1 day 2 hours', '{"a": [1, null]}',
        '{{1,9007199254740993},{null,3}}', '{2026-01-01,infinity}', '{2026-01-01 00:00+01,infinity}', '{1.10,NaN}', '{"a,b",NULL}',
        'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '10.0.0.1/8', 'own', null)`);
    const expected =
      JSON.parse(`{"id":1,"big":"9007199254740993","safe":-9007199254740991,"n":"12.500","f":1.5,
      "ends":["NaN","Infinity","-Infinity"],"b":true,"bytes":"AP8Q","d":"2026-03-29","t":"2026-03-29T02:30:00.5",
      "tz":"2026-03-29T00:30:00.123456Z","wait":"1 day 02:00:00","j":{"a":[1,null]},
      "bigs":[[1,"9007199254740993"],[null,3]],"days":["2026-01-01","infinity"],
      "instants":["2025-12-31T23:00:00Z","infinity"],"sums":["1.10","NaN"],"texts":["a,b",null],
      "u":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","addr":"10.0.0.1/8","__proto__":"own","nothing":null}`);

    for (const zone of ['UTC', 'Asia/Kathmandu', 'America/St_Johns']) {
      const rows = source({ url: `${url}?options=-c%20timezone=${zone}`, table: 'kinds' });
      const row = (await rows.load(['1'])).get('1');
      expect(JSON.parse(JSON.stringify(row))).toEqual(expected);
    }
  });

  const SLOW = `${ITEMS} create view slow as select id, pg_sleep(600)::text as nap from items`;
  const END_SLEEPERS = `select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'`;

  test('ends a query that takes too long in the server, and goes on', async () => {
    const { pool, source } = await freshPostgres(SLOW);
    const slow = source({ table: 'slow', queryTimeoutMs: 50 });
    await expect(slow.load(['1'])).rejects.toMatchObject({ code: 'ERR_SQL_TIMEOUT' });
    await until('the query to end', async () => {
      const { rows } =
        await pool.query(`select from pg_stat_activity where state = 'active' and query like '%slow%'
        and pid <> pg_backend_pid()`);
      return rows.length === 0;
    });

    await pool.query('drop view slow; create view slow as select * from items');
    expect((await slow.load(['1'])).size).toBe(1);
  });

  test('ends what the signal ends, also while it waits for a connection', async () => {
    const { pool, source: sourceOf } = await freshPostgres(SLOW);
    const source = sourceOf({ table: 'slow', queryTimeoutMs: 600_000, maxConnections: 1 });
    const controller = new AbortController();
    const loads = [source.load(['1'], controller.signal), source.load(['1'], controller.signal)];
    await until('the query', async () => {
      const { rows } = await pool.query(`select from pg_stat_activity where wait_event = 'PgSleep'`);
      return rows.length === 1;
    });
    controller.abort(new Error('no longer wanted'));
    for (const load of loads) await expect(load).rejects.toThrow('no longer wanted');
    await pool.query(END_SLEEPERS);
  });

  test('cuts the connection to a server that answers nothing', async () => {
    const { url, pool } = await freshPostgres(SLOW);
    const given = poolOf(url, 1);
    const source = new PostgresSource({ pool: given, table: 'slow', queryTimeoutMs: 50 });
    await expect(source.load(['1'])).rejects.toMatchObject({
      code: 'ERR_SQL_TIMEOUT',
      message: expect.stringContaining('50 ms'),
    });
    expect(given.totalCount).toBe(0);
    await pool.query(END_SLEEPERS);
    await source.close();
    expect((await given.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  test('fails while the server is down, and loads when it is back', async () => {
    const source = (await freshPostgres(ITEMS)).source();
    await source.load(['1']);

    await server().kill();
    await until('a refusal', async () => {
      const error: unknown = await source.load(['1']).catch((thrown: unknown) => thrown);
      return (error as { code?: string }).code === 'ECONNREFUSED';
    });
    await server().restart();

    expect((await source.load(['1'])).size).toBe(1);
  });
});

describe('load from SQLite', () => {
  test('turns every value into JSON, by the documented rules', async () => {
    const source = freshSqlite(`
      create table kinds (id integer primary key, big, exact, real, ends, bytes, text, "nothing", "__proto__");
      insert into kinds values (1, 9007199254740993, -9007199254740991, 1.5, -9e999, x'00ff10', 'a', null, 'own');`).source(
      {
        table: 'kinds',
      },
    );

    const row = (await source.load(['1'])).get('1');

    expect(JSON.parse(JSON.stringify(row))).toEqual(
      JSON.parse(`{"id":1,"big":"9007199254740993","exact":-9007199254740991,"real":1.5,"ends":"-Infinity",
        "bytes":"AP8Q","text":"a","nothing":null,"__proto__":"own"}`),
    );
  });

  test.each(['', 'blob', 'real'])(
    'refuses an id of the type "%s", which SQLite would not find by its text',
    async (type) => {
      const { source } = freshSqlite(`create table items (id ${type})`);
      await expect(source().load(['1'])).rejects.toMatchObject({ code: 'ERR_SQL_SCHEMA' });
    },
  );

  test.each([
    ['libsql', Database],
    ['libsql/promise', AsyncDatabase],
  ])('works with a database of %s that is given, and leaves it open', async (_, Driver) => {
    const { path } = freshSqlite(ITEMS);
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
    const { source } = freshSqlite(`${ITEMS}
      create view slow as with recursive n(x) as (select 1 union all select x + 1 from n limit 1000000000000)
        select items.id, (select count(*) from n) as total from items;`);
    const slow = source({ table: 'slow', queryTimeoutMs: 50 });
    await expect(slow.load(['1'])).rejects.toMatchObject({ code: 'ERR_SQL_TIMEOUT' });

    const patient = source({ table: 'slow', queryTimeoutMs: 600_000 });
    const controller = new AbortController();
    const load = patient.load(['1'], controller.signal);
    const next = patient.load(['1'], AbortSignal.abort(new Error('at once')));
    controller.abort(new Error('no longer wanted'));
    await expect(load).rejects.toThrow('no longer wanted');
    await expect(next).rejects.toThrow('at once');
  });

  test('waits for a file that is locked, then says so, and comes back when it is free', async () => {
    const { database, source: sourceOf } = freshSqlite(ITEMS);
    const source = sourceOf({ busyTimeoutMs: 50 });
    database.exec('pragma locking_mode = exclusive; begin exclusive; update items set stock = 8');
    await expect(source.load(['1'])).rejects.toMatchObject({ code: expect.stringMatching('^SQLITE_BUSY') });

    database.exec('commit; pragma locking_mode = normal; select 1 from items');
    const rows = await until('the row', () => source.load(['1']).catch(() => undefined));

    expect(rows.get('1')).toMatchObject({ stock: 8 });
  });
});
