/** The database of the shop, a SQLite file: what is left of three items on sale. The worker keeps it fresh in Redis. */
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { sender } from './sender.mjs';

const STOCK = { sword: 40, shield: 25, potion: 60 };
export const TABLE = 'stock';
export const ROW = 'sword';
const REFRESH_MS = 1_000;

/**
 * Makes the table where there is none; what earlier starts left is kept.
 *
 * @param root Of the repository.
 */
export function makeShop(root, file) {
  const Database = createRequire(join(root, 'apps/worker/package.json'))('libsql');
  const database = new Database(file);
  database.exec(`
    PRAGMA journal_mode = WAL;
    CREATE TABLE IF NOT EXISTS ${TABLE} (id TEXT PRIMARY KEY, stock INTEGER NOT NULL)`);
  const insert = database.prepare(`INSERT OR IGNORE INTO ${TABLE} VALUES (?, ?)`);
  for (const [id, stock] of Object.entries(STOCK)) insert.run(id, stock);
  database.close();
}

/** Has the worker load the rows each second. */
export async function scheduleStock({ address, key }) {
  const send = sender(key);
  for (const id of Object.keys(STOCK)) {
    await send('PUT', `${address}/v1/cache/${TABLE}/rows/${id}`, { refreshMs: REFRESH_MS });
  }
}
