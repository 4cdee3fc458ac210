import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { startPostgres } from '@mortise/postgres-server';
import type { PostgresServer } from '@mortise/postgres-server';
import Database from 'libsql';
import { Pool } from 'pg';

/** Starts a PostgreSQL for the tests of a file. */
export function postgres(): () => PostgresServer {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres({ maxConnections: 60, settings: { max_prepared_transactions: '5' } });
  }, 120_000); // where it has to be unpacked first
  afterAll(() => server?.stop());
  return () => server;
}

const pools = new Set<Pool>();
const closing = new Set<() => Promise<unknown>>();

afterEach(async () => {
  await Promise.all([...closing].map((close) => close()));
  closing.clear();
  await Promise.all([...pools].filter((pool) => !pool.ended).map((pool) => pool.end()));
  pools.clear();
});

/** Closes something when the test is over, before its databases go. */
export function closed<Thing extends { close(): Promise<unknown> }>(thing: Thing): Thing {
  closing.add(() => thing.close());
  return thing;
}

/** Stops something when the test is over, before its databases go. */
export function stopped<Thing extends { stop(): Promise<unknown> }>(thing: Thing): Thing {
  closing.add(() => thing.stop());
  return thing;
}

/** A pool that ends with the test. */
export function poolOf(url: string, max = 10): Pool {
  const pool = new Pool({ connectionString: url, max });
  pool.on('error', () => undefined); // of idle connections, when the server ends
  pools.add(pool);
  return pool;
}

/** A database of its own on the server. */
export async function freshDatabase(server: PostgresServer): Promise<{ url: string; pool: Pool }> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const admin = new Pool({ connectionString: server.url });
  await admin.query(`create database ${name}`);
  await admin.end();
  const url = server.urlOf(name);
  return { url, pool: poolOf(url) };
}

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'mortise-cache-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** The path of a SQLite file that has these tables. */
export function freshFile(sql = ''): { path: string; database: Database.Database } {
  const path = join(directory, `${randomUUID()}.db`);
  const database = new Database(path, { timeout: 5_000 });
  database.exec(`pragma journal_mode = wal; ${sql}`);
  return { path, database };
}
