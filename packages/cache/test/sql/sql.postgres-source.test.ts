import { describe, expect, test } from '@jest/globals';
import { PostgresSource } from '@mortise/cache/postgres';
import { until } from '@mortise/test-kit';
import { closed, freshDatabase, poolOf, postgres } from './sql.databases.js';

const server = postgres();

const ITEMS = `
create table items (id bigint primary key, name text not null, stock int not null);
insert into items values (1, 'sword', 7), (2, 'shield', 3), (9007199254740993, 'bow', 1);`;

describe('load', () => {
  test('gives the rows that are there, each under the id that was asked for', async () => {
    const { url, pool } = await freshDatabase(server());
    await pool.query(ITEMS);
    const source = closed(new PostgresSource({ url, table: 'items' }));

    const rows = await source.load([
      '9007199254740993',
      '1',
      '3',
      '01',
      ' 1',
      '+1',
      '1.0',
      'x',
      "1'; --",
      '',
      '\0',
      '99999999999999999999',
    ]);

    expect(rows).toEqual(
      new Map<string, unknown>([
        ['1', { id: 1, name: 'sword', stock: 7 }],
        ['9007199254740993', { id: '9007199254740993', name: 'bow', stock: 1 }],
      ]),
    );
    expect(await source.load(['x'])).toEqual(new Map());
    expect(await source.load([])).toEqual(new Map());
  });

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
    const { url, pool } = await freshDatabase(server());
    await pool.query(`create domain positive as int check (value > 0); create type mood as enum ('sad', 'glad');
      create table things ("the id" ${type} primary key)`);
    await pool.query('insert into things values ($1)', [id]);
    const source = closed(new PostgresSource({ url, table: 'things', id: 'the id' }));

    const rows = await source.load([id, other]);

    expect([...rows.keys()]).toEqual([id]);
    expect(await source.load([id])).toEqual(rows);
    expect(await source.load([other])).toEqual(new Map());
  });

  test('is one query for a batch, which uses the index of the id', async () => {
    const { pool } = await freshDatabase(server());
    await pool.query(`create table many (id varchar(20) primary key, n int);
      insert into many select n::text, n from generate_series(1, 200000) as n; analyze many`);
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
    const source = closed(new PostgresSource({ pool: watched, table: 'many', columns: ['n'] }));
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
    const { url, pool } = await freshDatabase(server());
    await pool.query(ITEMS);
    const source = closed(new PostgresSource({ url, table: 'items', where: '1 / (stock - 7) > 0' }));
    await expect(source.load(['1'])).rejects.toMatchObject({ code: '22012' });
    expect((await source.load(['3'])).size).toBe(0);
  });

  test('turns every value into JSON, by the documented rules, whatever the session is set to', async () => {
    const { url, pool } = await freshDatabase(server());
    await pool.query(`
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
      const source = closed(
        new PostgresSource({ url: `${url}?options=-c%20timezone=${zone}`, table: 'kinds' }),
      );
      const row = (await source.load(['1'])).get('1');
      expect(JSON.parse(JSON.stringify(row))).toEqual(expected);
    }
  });

  test('takes tables and columns of any name, and refuses those that are not there with a code', async () => {
    const hostile = `it"em's; drop table items --`;
    const { url, pool } = await freshDatabase(server());
    await pool.query(`${ITEMS} create schema "o.p""q";
      create table "o.p""q"."it""em's; drop table items --" ("i""d)" text primary key, "a'b" int, gone bool);
      insert into "o.p""q"."it""em's; drop table items --" values ('1', 2, false), ('2', 2, true)`);
    const named = { url, schema: 'o.p"q', table: hostile, id: 'i"d)', columns: ["a'b"] };
    const source = closed(new PostgresSource({ ...named, where: 'not gone -- yet' }));
    expect(await source.load(['1', '2'])).toEqual(new Map([['1', { "a'b": 2 }]]));

    const refused = async (options: object): Promise<unknown> =>
      closed(new PostgresSource({ url, table: 'items', ...options }))
        .load(['1'])
        .catch((error: unknown) => error);
    expect(await refused({ table: 'items"; drop table items; --' })).toMatchObject({
      code: 'ERR_SQL_SCHEMA',
    });
    expect(await refused({ schema: 'nowhere' })).toMatchObject({ code: 'ERR_SQL_SCHEMA' });
    expect(await refused({ id: 'name" is not null or "id' })).toMatchObject({ code: 'ERR_SQL_SCHEMA' });
    expect(await refused({ columns: ['(select 1)'] })).toMatchObject({ code: 'ERR_SQL_SCHEMA' });
    expect(await refused({ columns: ['ctid'] })).toMatchObject({ code: 'ERR_SQL_SCHEMA' });
    const names = [
      { table: '' },
      { table: 'x'.repeat(64) },
      { id: 'i\0d' },
      { columns: ['a\nb'] },
      { schema: '' },
    ];
    for (const options of names)
      await expect(refused(options)).rejects.toMatchObject({ code: 'ERR_SQL_IDENTIFIER' });
    expect((await pool.query('select from items')).rowCount).toBe(3);
  });

  test('sees a column that is added or renamed at the next load', async () => {
    const { url, pool } = await freshDatabase(server());
    await pool.query(ITEMS);
    const source = closed(new PostgresSource({ url, table: 'items' }));
    await source.load(['1']);

    await pool.query('alter table items rename stock to left_; alter table items add price int');

    expect((await source.load(['1'])).get('1')).toEqual({ id: 1, name: 'sword', left_: 7, price: null });
  });

  test('ends a query that takes too long in the server, and goes on', async () => {
    const { url, pool } = await freshDatabase(server());
    await pool.query(`${ITEMS} create view slow as select id, pg_sleep(600)::text as nap from items`);
    const slow = closed(new PostgresSource({ url, table: 'slow', queryTimeoutMs: 50 }));
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
    const { url, pool } = await freshDatabase(server());
    await pool.query(`${ITEMS} create view slow as select id, pg_sleep(600)::text as nap from items`);
    const source = closed(
      new PostgresSource({ url, table: 'slow', queryTimeoutMs: 600_000, maxConnections: 1 }),
    );
    const controller = new AbortController();
    const loads = [source.load(['1'], controller.signal), source.load(['1'], controller.signal)];
    await until('the query', async () => {
      const { rows } = await pool.query(`select from pg_stat_activity where wait_event = 'PgSleep'`);
      return rows.length === 1;
    });
    controller.abort(new Error('no longer wanted'));
    for (const load of loads) await expect(load).rejects.toThrow('no longer wanted');
    await pool.query(`select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'`);
  });

  test('cuts the connection to a server that answers nothing', async () => {
    const { url, pool } = await freshDatabase(server());
    await pool.query(`${ITEMS} create view slow as select id, pg_sleep(600)::text as nap from items`);
    const given = poolOf(url, 1);
    const source = new PostgresSource({ pool: given, table: 'slow', queryTimeoutMs: 50 });
    await expect(source.load(['1'])).rejects.toMatchObject({
      code: 'ERR_SQL_TIMEOUT',
      message: expect.stringContaining('50 ms'),
    });
    expect(given.totalCount).toBe(0);
    await pool.query(`select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'`);
    await source.close();
    expect((await given.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  test('fails while the server is down, and loads when it is back', async () => {
    const { url, pool } = await freshDatabase(server());
    await pool.query(ITEMS);
    const source = closed(new PostgresSource({ url, table: 'items' }));
    await source.load(['1']);

    await server().kill();
    await until('a refusal', async () => {
      const error: unknown = await source.load(['1']).catch((thrown: unknown) => thrown);
      return (error as { code?: string }).code === 'ECONNREFUSED';
    });
    await server().restart();

    expect((await source.load(['1'])).size).toBe(1);
  });

  test('ends with the source', async () => {
    const { url, pool } = await freshDatabase(server());
    await pool.query(ITEMS);
    const source = new PostgresSource({ url, table: 'items' });
    const load = source.load(['1']);
    await load;
    await source.close();
    await source.close();
    await expect(source.load(['1'])).rejects.toMatchObject({ code: 'ERR_SQL_CLOSED' });
  });
});
