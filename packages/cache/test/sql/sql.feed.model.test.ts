import { expect, test } from '@jest/globals';
import { PostgresSource } from '@mortise/cache/postgres';
import { connect, until } from '@mortise/test-kit';
import fc from 'fast-check';
import type { PoolClient } from 'pg';
import { closed, freshDatabase, postgres } from './sql.databases.js';
import { feedOf, MANY_ITEMS, watch } from './sql.feed.js';

const redis = connect();
const server = postgres();
const WRITERS = 4;

const writer = fc.integer({ min: 0, max: WRITERS - 1 });
/** Each writer has its own rows, so that none waits for another. */
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('update' as const), writer, row: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('commit' as const), writer, row: fc.constant(0) }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('rollback' as const), writer, row: fc.constant(0) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('cut' as const), writer, row: fc.constant(0) }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('hand over' as const), writer, row: fc.constant(0) }),
  },
);

test('the cache becomes equal to the database after any transactions, with any readers', async () => {
  const { url, pool } = await freshDatabase(server());
  await pool.query(`create table items (id int primary key, name text not null);
    insert into items select n, 'item ' || n from generate_series(1, ${MANY_ITEMS}) as n`);
  const source = closed(new PostgresSource({ url, table: 'items' }));
  await source.installOutbox();
  const deaf = { recheckMs: 60_000, leaseMs: 600_000 };
  const { rows, feed, errors } = await watch(redis, source, deaf);
  const feeds = [feed, feedOf(redis, source, rows, errors, deaf)] as const;
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
      await until(
        'an empty outbox',
        async () => (await pool.query('select from items_mortise_outbox')).rowCount === 0,
      );
    }),
    { numRuns: 10, endOnFailure: true },
  );
  expect(version).toBeGreaterThan(100);
});
