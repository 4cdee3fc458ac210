import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { startPostgres } from '@mortise/postgres-server';
import type { PostgresServer } from '@mortise/postgres-server';
import { until } from '@mortise/test-kit';
import { Pool } from 'pg';
import type { PoolClient } from 'pg';
import type { Queue } from '@mortise/queues';
import { OutboxRelay } from '../../examples/outbox/outbox-relay.js';
import type { OutboxRelayOptions } from '../../examples/outbox/outbox-relay.js';

export const OUTBOX = join(import.meta.dirname, '../../examples/outbox');
const SCHEMA = readFileSync(join(OUTBOX, 'outbox.sql'), 'utf8');

export interface Promised {
  readonly name?: string;
  readonly payload: unknown;
  readonly options?: object;
}

/** Starts a PostgreSQL for the tests of a file. */
export function postgres(): () => PostgresServer {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres({ maxConnections: 60 });
  });
  afterAll(() => server?.stop());
  return () => server;
}

const databases = new Set<OutboxDatabase>();

afterEach(async () => {
  await Promise.all([...databases].map((database) => database.close()));
  databases.clear();
});

/** A database with an outbox, which ends with the test, as do its relays. */
export class OutboxDatabase {
  readonly url: string;
  readonly pool: Pool;
  readonly #relays = new Set<OutboxRelay>();

  private constructor(url: string) {
    this.url = url;
    this.pool = new Pool({ connectionString: url, max: 20 });
    this.pool.on('error', () => undefined); // of idle connections, when the server ends
    databases.add(this);
  }

  static async create(server: PostgresServer): Promise<OutboxDatabase> {
    const database = await OutboxDatabase.createEmpty(server);
    await database.pool.query(SCHEMA);
    return database;
  }

  static async createEmpty(server: PostgresServer): Promise<OutboxDatabase> {
    const name = `test_${randomUUID().replaceAll('-', '')}`;
    const admin = new Pool({ connectionString: server.url });
    await admin.query(`create database ${name}`);
    await admin.end();
    return new OutboxDatabase(server.urlOf(name));
  }

  /** A relay that is stopped with the test. */
  relay(queue: Pick<Queue, 'enqueueMany'>, options: OutboxRelayOptions = {}): OutboxRelay {
    const relay = new OutboxRelay({ connectionString: this.url }, queue, options);
    this.#relays.add(relay);
    relay.start();
    return relay;
  }

  /** Runs `work` in a transaction. */
  async transaction(work: (client: PoolClient) => Promise<unknown>): Promise<void> {
    const client = await this.pool.connect();
    try {
      await client.query('begin');
      await work(client);
      await client.query('commit');
    } catch (error) {
      await client.query('rollback');
      throw error;
    } finally {
      client.release();
    }
  }

  /** Inserts rows by one statement, without a transaction of its own when `client` is in one; returns their ids. */
  async promise(rows: readonly Promised[], client: Pick<PoolClient, 'query'> = this.pool): Promise<string[]> {
    const { rows: inserted } = await client.query<{ id: string }>(
      `insert into outbox (name, payload, options)
       select coalesce(row ->> 'name', 'task'), row -> 'payload', coalesce(row -> 'options', '{}')
       from jsonb_array_elements($1::jsonb) with ordinality as rows (row, n) order by n
       returning id`,
      [JSON.stringify(rows)],
    );
    return inserted.map(({ id }) => id);
  }

  /** The ids of the rows that wait. */
  async waiting(): Promise<string[]> {
    const { rows } = await this.pool.query<{ id: string }>(
      'select id from outbox where refused is null order by seq',
    );
    return rows.map(({ id }) => id);
  }

  untilEmpty(): Promise<boolean> {
    return until('an empty outbox', async () => (await this.waiting()).length === 0);
  }

  /** Resolves when a relay waits for a notification. */
  async untilIdle(): Promise<void> {
    await until('an idle relay', async () => {
      const { rows } = await this.pool.query(
        `select from pg_stat_activity join pg_locks using (pid)
         where datname = current_database() and state = 'idle' and query = 'commit'
           and locktype = 'advisory' and mode = 'ExclusiveLock' and granted`,
      );
      return rows.length > 0;
    });
  }

  /** Resolves when nobody is connected but the test. */
  async untilAlone(): Promise<void> {
    await until('all others to have left', async () => {
      const { rows } = await this.pool.query(
        'select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      );
      return rows.length === 0;
    });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#relays].map((relay) => relay.stop()));
    if (!this.pool.ended) await this.pool.end();
  }
}
