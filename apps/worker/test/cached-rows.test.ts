/** The rows of a real database, kept fresh by the worker for readers that only know Redis. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { RowCache } from '@mortise/cache/rows';
import { postgresOutboxSql } from '@mortise/cache/postgres';
import { SqliteSource } from '@mortise/cache/sqlite';
import { type PostgresServer, startPostgres } from '@mortise/postgres-server';
import { until } from '@mortise/test-kit';
import Database from 'libsql';
import { Client } from 'pg';

import { Game } from './fixture/game.js';

interface Item {
  readonly id: string;
  readonly stock: number;
}

const directory = mkdtempSync(join(tmpdir(), 'cached-rows-'));
afterAll(() => rmSync(directory, { recursive: true }));

const CREATE = 'CREATE TABLE items (id TEXT PRIMARY KEY, stock INTEGER NOT NULL)';
const HOUR = { everyMs: 3_600_000 };

/** A reader such as the API, which has neither loader nor database. */
function readerOf(game: Game): RowCache<Item> {
  return new RowCache<Item>(game.redis, 'items', { prefix: game.prefix });
}

async function reads(rows: RowCache<Item>, id: string, stock: number): Promise<void> {
  await until(`a stock of ${stock}`, async () => (await rows.get(id))?.stock === stock);
}

function sqliteFile(name: string): { database: Database.Database; variables: Record<string, string> } {
  const file = join(directory, name);
  const database = new Database(file);
  database.pragma('journal_mode = WAL');
  database.exec(CREATE);
  return { database, variables: { DATABASE_URL: `file:${file}`, CACHE_TABLES: 'items' } };
}

test('rows of a SQLite file are loaded when due and on request, and removed when they are deleted', async () => {
  await using game = new Game();
  const { database, variables } = sqliteFile('shop.db');
  database.exec(`INSERT INTO items VALUES ('sword', 3), ('shield', 5)`);
  await game.startWorker(variables);
  const rows = readerOf(game);
  await rows.schedule('sword', { everyMs: 100 });
  await rows.schedule('shield', HOUR);
  await rows.schedule('ghost', HOUR);
  await reads(rows, 'sword', 3);
  await reads(rows, 'shield', 5);
  await until('no ghost', async () => (await rows.inspect('ghost')) === null);
  database.exec(`UPDATE items SET stock = 2`);
  await reads(rows, 'sword', 2);
  expect(await rows.refresh('shield')).toBe(true);
  await reads(rows, 'shield', 2);
  database.close();
});

test('a worker starts without its database, and rows stay when the database fails', async () => {
  await using game = new Game();
  const variables = {
    DATABASE_URL: `file:${join(directory, 'later.db')}`,
    CACHE_TABLES: 'items',
  };
  const worker = await game.startWorker(variables);
  const rows = readerOf(game);
  await rows.schedule('sword', { everyMs: 100 });
  await until('a failure', async () => ((await rows.inspect('sword'))?.failures ?? 0) > 0);
  const { database } = sqliteFile('later.db');
  database.exec(`INSERT INTO items VALUES ('sword', 3)`);
  await reads(rows, 'sword', 3);
  const failures = worker.lines.filter(({ level }) => Number(level) >= 50);
  expect(failures.length).toBeGreaterThan(0);
  database.exec('ALTER TABLE items RENAME TO gone');
  await until('a failure', async () => ((await rows.inspect('sword'))?.failures ?? 0) > 0);
  expect(await rows.get('sword')).toEqual({ id: 'sword', stock: 3 });
  database.close();
});

test('with an outbox, a change in SQL needs neither delay nor call', async () => {
  await using game = new Game();
  const { database, variables } = sqliteFile('outbox.db');
  database.exec(`INSERT INTO items VALUES ('sword', 3)`);
  await using source = new SqliteSource({ path: join(directory, 'outbox.db'), table: 'items' });
  await source.installOutbox();
  await game.startWorker({ ...variables, CACHE_OUTBOX: 'true' });
  const rows = readerOf(game);
  await rows.schedule('sword', HOUR);
  await reads(rows, 'sword', 3);
  database.exec('UPDATE items SET stock = 2');
  await reads(rows, 'sword', 2);
  expect(await rows.inspect('sword')).toMatchObject(HOUR);
  database.close();
});

let server: PostgresServer;
let client: Client;
beforeAll(async () => {
  server = await startPostgres();
  client = new Client(server.url);
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await server.stop();
});

test('rows of PostgreSQL are shared by two workers, each loaded once', async () => {
  await using game = new Game();
  await client.query('CREATE SCHEMA shop');
  await client.query(CREATE.replace('items', 'shop.items'));
  await client.query(`INSERT INTO shop.items SELECT 'i' || n, n FROM generate_series(1, 500) n`);
  const variables = { DATABASE_URL: server.url, CACHE_TABLES: 'shop.items' };
  await game.startWorker(variables);
  await game.startWorker(variables);
  const rows = new RowCache<Item>(game.redis, 'shop.items', { prefix: game.prefix });
  const ids = Array.from({ length: 500 }, (_, index) => `i${index + 1}`);
  await rows.scheduleAll(ids, HOUR);
  await until('all rows', async () => (await rows.stats()).loaded === 500);
  const found = await rows.getMany(ids);
  expect([...found.values()].reduce((sum, { stock }) => sum + stock, 0)).toBe((500 * 501) / 2);
});

test('hanging queries of PostgreSQL leave connections for healthy rows and for the outbox', async () => {
  await using game = new Game();
  await client.query('CREATE SCHEMA stuck');
  await client.query(CREATE.replace('items', 'stuck.items'));
  await client.query(`INSERT INTO stuck.items SELECT 'i' || n, n FROM generate_series(1, 1000) n`);
  await client.query(postgresOutboxSql({ schema: 'stuck', table: 'items' }).install);
  const variables = { DATABASE_URL: server.url, CACHE_TABLES: 'stuck.items', CACHE_OUTBOX: 'true' };
  await game.startWorker(variables);
  const rows = new RowCache<Item>(game.redis, 'stuck.items', { prefix: game.prefix });
  const ids = Array.from({ length: 1_000 }, (_, index) => `i${index + 1}`);
  await rows.scheduleAll(ids, { everyMs: 100 });
  await until('all rows', async () => (await rows.stats()).loaded === 1_000);
  const locker = new Client(server.url);
  await locker.connect();
  try {
    await locker.query('BEGIN; LOCK TABLE stuck.items');
    // Two batches, and beside each a query for some of its rows.
    const connections = await until('four queries', async () => {
      const found = await client.query<{ pid: number; waits: boolean }>(
        `SELECT pid, wait_event_type = 'Lock' AS waits FROM pg_stat_activity WHERE application_name = 'mortise'`,
      );
      return found.rows.filter(({ waits }) => waits).length === 4 && found.rows;
    });
    // And the one over which the outbox is read.
    expect(connections.length).toBe(5);
  } finally {
    await locker.end();
  }
});
