import { once } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import { startProxy } from '@mortise/redis-server';
import { connect, disconnect, until } from '@mortise/test-kit';
import { freshSqlite, ITEMS, KINDS, poolOf, postgres } from './sql.databases.js';
import { DEAF, feedOf, kill, rowsOf, start, untilReading, watch } from './sql.feed.js';

const REDIS = process.env['MORTISE_TEST_REDIS']!;
const redis = connect();
const { server, fresh, freshPostgres } = postgres();

describe('processes', () => {
  test.each(KINDS)('one that reads %s may be killed: another one goes on', async (kind) => {
    const db = await fresh(kind, ITEMS);
    const source = db.source();
    await source.installOutbox();
    const { rows, feed, prefix, errors, has } = await watch(redis, source);
    await feed.stop();
    const child = start('sql-feed-process.mjs', {
      url: REDIS,
      prefix,
      source: { ...db.place, table: 'items' },
      leaseMs: 1_000,
    });
    await once(child, 'message');
    await untilReading(child);
    const next = feedOf(redis, source, rows, errors, { leaseMs: 1_000 });
    await next.start();
    await db.run(`update items set name = 'by the process' where id = 1`);
    await has('1', 'by the process');
    expect(next.stats().isReading).toBe(false);

    await kill(child);
    await db.run(`update items set name = 'after its death' where id = 2`);

    await has('2', 'after its death');
    expect(next.stats()).toMatchObject({ isReading: true });
    expect(errors).toEqual([]);
  });

  test('write one SQLite file while others read it and its outbox', async () => {
    const { path, source: sourceOf, waiting } = freshSqlite(ITEMS);
    const source = sourceOf();
    await source.installOutbox();
    const { has, errors } = await watch(redis, source);
    const parts = [0, 1, 2].map((part) =>
      Array.from({ length: 6 }, (_, index) => String(part * 6 + index + 1)),
    );

    const writers = parts.map((ids, part) =>
      start('sql-writer-process.mjs', { path, ids, name: `writer ${part}` }),
    );
    const ends = await Promise.all(writers.map((writer) => once(writer, 'exit')));

    expect(ends.map(([code]) => code)).toEqual([0, 0, 0]);
    for (const [part, ids] of parts.entries()) for (const id of ids) await has(id, `writer ${part} ${id} 20`);
    await until('an empty outbox', async () => (await waiting()).length === 0);
    expect(errors).toEqual([]);
  });
});

describe('a feed', () => {
  async function freshItems() {
    const { url, pool, source: sourceOf, waiting } = await freshPostgres(ITEMS);
    const source = sourceOf();
    await source.installOutbox();
    return { url, pool, source, sourceOf, waiting };
  }

  test('listens again when its connection is cut, and misses nothing of what changed meanwhile', async () => {
    const { pool, source } = await freshItems();
    const { has, errors, feed } = await watch(redis, source, DEAF);
    await pool.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and application_name = 'mortise'`);
    await pool.query(`update items set name = 'meanwhile' where id = 1`);

    await has('1', 'meanwhile');
    await until('the feed to read', () => feed.stats().isReading);
    await pool.query(`update items set name = 'afterwards' where id = 1`);
    await has('1', 'afterwards');
    expect(errors.length).toBeGreaterThan(0);
  });

  test('notices a connection over which nothing comes any more', async () => {
    const { url, pool, sourceOf } = await freshItems();
    const proxy = await startProxy({ port: server().port });
    try {
      const far = url.replace(String(server().port), String(proxy.port));
      const limits = { queryTimeoutMs: 100, connectTimeoutMs: 500 };
      const source = sourceOf({ url: far, ...limits });
      const { feed, has, errors } = await watch(redis, source, { recheckMs: 60_000, leaseMs: 1_000 });
      proxy.halfOpen();
      await pool.query(`update items set name = 'unheard' where id = 1`);
      await until('an error', () =>
        errors.some((error) => (error as { code?: string }).code === 'ERR_SQL_TIMEOUT'),
      );

      await proxy.restore();

      expect(await has('1', 'unheard')).toBe(true);
      await feed.stop();
    } finally {
      await proxy.stop();
    }
  });

  test('goes on when the database has crashed and is back', async () => {
    const { url, source } = await freshItems();
    const { rows, has, errors } = await watch(redis, source, DEAF);
    await server().kill();
    await until('an error', () => errors.length > 0);
    expect(await rows.get('1')).toMatchObject({ name: 'item 1' });

    await server().restart();
    await poolOf(url).query(`update items set name = 'after the crash' where id = 1`);

    expect(await has('1', 'after the crash')).toBe(true);
  });

  test('keeps changes while Redis does not answer', async () => {
    const { pool, source, waiting } = await freshItems();
    const { prefix, has, feed } = await watch(redis, source);
    await feed.stop();
    const proxy = await startProxy({ port: Number(new URL(REDIS).port) });
    const far = connect(proxy.url);
    const errors: unknown[] = [];
    const own = feedOf(far, source, rowsOf(far, source, prefix), errors, { leaseMs: 1_000 });
    try {
      await own.start();
      await until('the feed to read', () => own.stats().isReading);
      proxy.refuse();
      await pool.query(`update items set name = 'kept' where id = 1`);
      await until('the change to be read', () => own.stats().changes > 0 || errors.length > 0);
      expect(await waiting()).toEqual(['1']);

      await proxy.restore();

      await has('1', 'kept');
      await until('an empty outbox', async () => (await waiting()).length === 0);
    } finally {
      await proxy.restore();
      await own.stop();
      disconnect(far);
      await proxy.stop();
    }
  });
});
