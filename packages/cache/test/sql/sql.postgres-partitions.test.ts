/** Tables whose rows have several names: partitions and children. Triggers of a statement know only the name that it used. */
import { describe, expect, test } from '@jest/globals';
import { ChangeFeed, SqlSourceError } from '@mortise/cache/rows';
import { PostgresSource } from '@mortise/cache/postgres';
import type { PostgresSourceOptions } from '@mortise/cache/postgres';
import { connect, until } from '@mortise/test-kit';
import type { Pool } from 'pg';
import { closed, freshDatabase, poolOf, postgres } from './sql.databases.js';
import { MANY_ITEMS, rowsOf, watch } from './sql.feed.js';

const redis = connect();
const server = postgres();

const PARTITIONED = `create table items (id int primary key, name text) partition by range (id);
  create table low partition of items for values from (0) to (100);
  create table high partition of items for values from (100) to (1000) partition by range (id);
  create table highest partition of high for values from (500) to (1000);
  create table rest partition of high default;`;
const INHERITED = `create table items (id int, name text); create table other (extra int);
  create table children (more int) inherits (items); create table grandchildren () inherits (other, children);`;

interface Fresh {
  readonly url: string;
  readonly pool: Pool;
  readonly source: PostgresSource;
  /** Ids that were noted since it was asked before, each once for each time, in the order of texts. */
  readonly noted: () => Promise<string[]>;
}

async function fresh(sql: string, options: Partial<PostgresSourceOptions> = {}): Promise<Fresh> {
  const { url, pool } = await freshDatabase(server());
  await pool.query(sql);
  const source = closed(new PostgresSource({ url, table: 'items', outbox: 'notes', ...options }));
  await source.installOutbox();
  const noted = async (): Promise<string[]> => {
    const { rows } = await pool.query<{ id: string }>('delete from notes returning id');
    return rows.map(({ id }) => id).toSorted();
  };
  return { url, pool, source, noted };
}

describe('an outbox', () => {
  test('notes what is written to partitions, by whatever name, and what moves between them', async () => {
    const { pool, source, noted } = await fresh(PARTITIONED);
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

    // Those that come later have it from the table.
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
    const { pool, source, noted } = await fresh(INHERITED);
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
    const { pool, noted } = await fresh(PARTITIONED, { table: 'low' });
    await pool.query(`insert into items values (1, 'a'), (150, 'b'); update low set name = 'c'`);
    expect(await noted()).toEqual(['1', '1']);
    await pool.query(`update items set id = 160 where id = 1`);
    expect(await noted()).toEqual(['1']);
  });

  test('that is there notes rows when the table has got children and it is installed again', async () => {
    const { pool, source, noted } = await fresh('create table items (id int primary key, name text)');
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

describe('a feed', () => {
  test('learns of changes of partitions', async () => {
    const { pool, source } = await fresh(
      `${PARTITIONED} insert into items select n, 'item ' || n from generate_series(1, ${MANY_ITEMS}) as n`,
    );
    const { has, errors } = await watch(redis, source, { recheckMs: 60_000, leaseMs: 600_000 });
    await pool.query(`update low set name = 'direct' where id = 1`);
    await has('1', 'direct');
    expect(errors).toEqual([]);
  });

  test('tells once which children the outbox misses, and goes on', async () => {
    const { pool, source } = await fresh(`create table items (id int primary key, name text);
      insert into items select n, 'item ' || n from generate_series(1, ${MANY_ITEMS}) as n;`);
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
});

describe('the connection of a feed', () => {
  test('is none of those that loads have', async () => {
    const { url, pool } = await fresh(`create table items (id int primary key, name text);
      insert into items select n, 'item ' || n from generate_series(1, ${MANY_ITEMS}) as n;`);
    const source = closed(new PostgresSource({ url, table: 'items', outbox: 'notes', maxConnections: 1 }));
    const { has, errors } = await watch(redis, source);
    await pool.query(`update items set name = 'new' where id = 1`);
    await has('1', 'new');
    expect(errors).toEqual([]);
  });

  test('is one of a pool that is given, which has to have another one', async () => {
    const { url } = await fresh('create table items (id int primary key, name text)');
    const feedOn = (max: number): ChangeFeed => {
      const source = closed(new PostgresSource({ pool: poolOf(url, max), table: 'items' }));
      return new ChangeFeed(redis, source, rowsOf(redis, source));
    };
    expect(() => feedOn(1)).toThrow(expect.objectContaining({ name: 'RangeError', code: 'ERR_INVALID_ARG' }));
    await expect(feedOn(2).stop()).resolves.toBeUndefined();
  });
});
