import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { PostgresSource } from '@mortise/cache/postgres';
import type { PostgresSourceOptions } from '@mortise/cache/postgres';
import { SqliteSource } from '@mortise/cache/sqlite';
import type { SqliteSourceOptions } from '@mortise/cache/sqlite';
import { startPostgres } from '@mortise/postgres-server';
import type { PostgresServer } from '@mortise/postgres-server';
import Database from 'libsql';
import { Pool } from 'pg';

export const MANY_ITEMS = 20;

/** A table with rows 1 to 20, in the SQL of both databases. */
export const ITEMS = `create table items (id integer primary key, name text not null);
  with recursive n(x) as (select 1 union all select x + 1 from n where x < ${MANY_ITEMS})
  insert into items select x, 'item ' || x from n;`;

/** The databases of the tests of SQL sources. Each test has one of its own. */
export interface TestDatabase {
  readonly kind: Kind;
  /** Options of a source, also in another process. */
  readonly place: { readonly url: string } | { readonly path: string };
  readonly run: (sql: string) => Promise<unknown>;
  readonly all: (sql: string) => Promise<object[]>;
  /** A source of `items`, closed with the test. */
  readonly source: (options?: object) => PostgresSource | SqliteSource;
  /** The ids in the default outbox of `items`, in their order. */
  readonly waiting: () => Promise<string[]>;
}

interface PostgresDatabase extends TestDatabase {
  readonly url: string;
  readonly pool: Pool;
  readonly source: (options?: Partial<PostgresSourceOptions>) => PostgresSource;
}

interface SqliteFile extends TestDatabase {
  readonly path: string;
  readonly database: Database.Database;
  readonly source: (options?: Partial<SqliteSourceOptions>) => SqliteSource;
}

export const KINDS = ['PostgreSQL', 'SQLite'] as const;
type Kind = (typeof KINDS)[number];

/** Starts a PostgreSQL for the tests of a file. */
export function postgres(): {
  readonly server: () => PostgresServer;
  readonly freshPostgres: (sql?: string) => Promise<PostgresDatabase>;
  /** A database of that kind. */
  readonly fresh: (kind: Kind, sql?: string) => Promise<TestDatabase>;
} {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres({ maxConnections: 60, settings: { max_prepared_transactions: '5' } });
  });
  afterAll(() => server?.stop());
  const freshPostgres = (sql = ''): Promise<PostgresDatabase> => postgresDatabase(server, sql);
  return {
    server: () => server,
    freshPostgres,
    fresh: async (kind, sql) => (kind === 'SQLite' ? freshSqlite(sql) : freshPostgres(sql)),
  };
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
function closed<Thing extends { close(): Promise<unknown> }>(thing: Thing): Thing {
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

async function postgresDatabase(server: PostgresServer, sql: string): Promise<PostgresDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const admin = new Pool({ connectionString: server.url });
  // Copies the files, which takes a quarter of the time; before 15 there is no other way.
  const strategy = Number.parseInt(server.version, 10) < 15 ? '' : 'strategy file_copy';
  await admin.query(`create database ${name} template template0 ${strategy}`);
  await admin.end();
  const url = server.urlOf(name);
  const pool = poolOf(url);
  await pool.query(sql);
  const all = async (query: string): Promise<object[]> => (await pool.query(query)).rows;
  return {
    kind: 'PostgreSQL',
    place: { url },
    url,
    pool,
    run: (statements) => pool.query(statements),
    all,
    source: (options) =>
      closed(new PostgresSource({ table: 'items', ...(!options?.pool && { url }), ...options })),
    waiting: async () => idsOf(await all('select id from items_mortise_outbox order by tx, seq')),
  };
}

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'mortise-cache-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A SQLite file that has these tables. */
export function freshSqlite(sql = ''): SqliteFile {
  const path = join(directory, `${randomUUID()}.db`);
  const database = new Database(path, { timeout: 5_000 });
  database.exec(`pragma journal_mode = wal; ${sql}`);
  const all = async (query: string): Promise<object[]> => database.prepare(query).all() as object[];
  return {
    kind: 'SQLite',
    place: { path },
    path,
    database,
    run: async (statements) => database.exec(statements),
    all,
    source: (options) =>
      closed(new SqliteSource({ table: 'items', ...(!options?.database && { path }), ...options })),
    waiting: async () => idsOf(await all('select id from items_mortise_outbox order by seq')),
  };
}

function idsOf(rows: readonly object[]): string[] {
  return rows.map((row) => (row as { id: string }).id);
}
