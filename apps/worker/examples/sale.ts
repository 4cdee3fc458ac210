/**
 * The sale of the Fake Web Retailer: everybody looks at what is left, and the database must not notice. A worker loads the rows of the
 * items each second, pages read them over HTTP from Redis, purchases change them in SQL. A page may be a second behind, so it is
 * SQL that decides about a purchase.
 *
 * Run it with `npm run example:sale`, after `npm run build`, beside a Redis at REDIS_URL. The database is a SQLite file of its own.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

import Database from 'libsql';

const ITEMS = { sword: 40, shield: 25, potion: 60 } as const;
type Item = keyof typeof ITEMS;
const NAMES = Object.keys(ITEMS) as Item[];
const CUSTOMERS = 130;
const PAGES_EACH = 8;

const directory = mkdtempSync(join(tmpdir(), 'sale-'));
const file = join(directory, 'shop.db');
const database = new Database(file);
database.pragma('journal_mode = WAL');
database.exec('CREATE TABLE items (id TEXT PRIMARY KEY, price INTEGER NOT NULL, stock INTEGER NOT NULL)');
for (const [id, stock] of Object.entries(ITEMS)) {
  database.prepare('INSERT INTO items VALUES (?, 97, ?)').run(id, stock);
}

const programs: ChildProcess[] = [];
const shared = {
  ...process.env,
  MORTISE_PREFIX: `sale-${randomUUID()}`,
  DATABASE_URL: `file:${file}`,
  CACHE_TABLES: 'items',
  AUTH: 'off',
};

/** Starts one of the two apps; resolves to the line of its log that says it runs. */
async function start(name: 'api' | 'worker', env: object, message: string): Promise<Record<string, string>> {
  const root = dirname(createRequire(import.meta.url).resolve(`@mortise/${name}/package.json`));
  const child = spawn(process.execPath, [join(root, 'dist/main.js')], {
    env: { ...shared, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  programs.push(child);
  process.once('exit', () => child.kill('SIGKILL'));
  for await (const line of createInterface({ input: child.stdout })) {
    const entry = JSON.parse(line) as Record<string, string>;
    if (entry['msg'] !== message) continue;
    child.stdout.resume();
    return entry;
  }
  throw new Error(`the ${name} did not start`);
}

await start('worker', { MAIL_DIR: join(directory, 'mail') }, 'worker has started');
const { url } = await start('api', { PORT: '0' }, 'listening');
const pageOf = (id: string): string => `${url}/v1/cache/items/rows/${id}`;

for (const id of NAMES) {
  const body = JSON.stringify({ refreshMs: 1_000 });
  await fetch(pageOf(id), { method: 'PUT', headers: { 'content-type': 'application/json' }, body });
}

/** The stock on the page, which is requested again while the row is loaded for the first time. */
async function look(id: Item): Promise<number> {
  for (;;) {
    const response = await fetch(pageOf(id));
    const row = (await response.json()) as { stock: number };
    if (response.ok) return row.stock;
    await pause(20);
  }
}

const stockOf = database.prepare('SELECT stock FROM items WHERE id = ?');
const buy = database.prepare('UPDATE items SET stock = stock - 1 WHERE id = ? AND stock > 0');
const inSql = (id: Item): number => (stockOf.get(id) as { stock: number }).stock;

let pages = 0;
let impossible = 0;
let cameTooLate = 0;
const sold: Record<Item, number> = { sword: 0, shield: 0, potion: 0 };

for (let customer = 0; customer < CUSTOMERS; customer += 1) {
  const id = NAMES[customer % 2 === 0 ? 0 : ((customer % 3) as 0 | 1 | 2)]!;
  for (let page = 0; page < PAGES_EACH; page += 1) {
    // Stock only shrinks: a page may show more than there is by now, never less, and never more than there was.
    const shown = await look(id);
    pages += 1;
    if (shown < inSql(id) || shown > ITEMS[id]) impossible += 1;
  }
  await pause(10);
  if (buy.run(id).changes === 1) sold[id] += 1;
  else cameTooLate += 1;
}
console.log(
  `${CUSTOMERS} customers looked at ${pages} pages; ${impossible} of them showed what was never so`,
);
console.log(`sold: ${NAMES.map((id) => `${id} ${sold[id]}`).join(', ')}; ${cameTooLate} came too late`);

// A second later the pages know all of it.
for (const id of NAMES) {
  while ((await look(id)) !== inSql(id)) await pause(20);
}
console.log(`the pages say what SQL says: ${NAMES.map((id) => `${id} ${inSql(id)}`).join(', ')}`);

for (const child of programs.toReversed()) {
  child.kill('SIGTERM');
  if (child.exitCode === null) await once(child, 'exit');
}
database.close();
rmSync(directory, { recursive: true });

// Output:
// 130 customers looked at 1040 pages; 0 of them showed what was never so
// sold: sword 40, shield 22, potion 21; 47 came too late
// the pages say what SQL says: sword 0, shield 3, potion 39
