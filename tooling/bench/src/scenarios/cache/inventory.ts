/** The database whose rows are cached: PostgreSQL, with a server for each measurement. */
import { startPostgres } from '@mortise/postgres-server';
import type { PostgresServer } from '@mortise/postgres-server';
import { Client } from 'pg';

/** The table to read: rows that stay the same, or rows of which no two reads are the same. */
export type Inventory = 'inventory' | 'selling';

export interface InventoryRow {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly price: number;
  readonly stock: number;
}

export function idsOf(rows: number): string[] {
  return Array.from({ length: rows }, (_, row) => String(row));
}

/** About 240 bytes as JSON. Changing rows don't change by writes: their cost isn't that of a cache. */
export async function startInventory(rows: number): Promise<PostgresServer> {
  const server = await startPostgres();
  try {
    const client = new Client(server.url);
    await client.connect();
    await client.query(`
      CREATE TABLE inventory (id text PRIMARY KEY, name text, description text, price integer, stock integer);
      INSERT INTO inventory
        SELECT n::text, 'item number ' || n, rpad('What is to be said of item ' || n, 150, '.'), n % 1000, n % 50
        FROM generate_series(0, ${rows - 1}) AS n;
      ANALYZE inventory;
      CREATE VIEW selling AS
        SELECT id, name, description, price, extract(microseconds FROM statement_timestamp())::integer AS stock
        FROM inventory;
    `);
    await client.end();
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}
