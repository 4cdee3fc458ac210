import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setInterval as ticks } from 'node:timers/promises';
import { ChangeFeed, Refresher, RowCache } from '@mortise/cache/rows';
import { SqliteSource } from '@mortise/cache/sqlite';
import { Redis } from 'ioredis';
import Database from 'libsql';

const directory = await mkdtemp(join(tmpdir(), 'example-'));
const path = join(directory, 'shop.db');
const shop = new Database(path); // any number of processes may write the file
shop.exec(`create table items (id integer primary key, name text, stock integer);
  insert into items values (42, 'sword', 7)`);

interface Item {
  readonly name: string;
  readonly stock: number;
}

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const source = new SqliteSource<Item>({ path, table: 'items', columns: ['name', 'stock'] });
await source.installOutbox();
const rows = new RowCache<Item>(redis, 'items', { load: source.load, prefix: 'example-sqlite' });
const refresher = new Refresher(redis, [rows]);
const feed = new ChangeFeed(redis, source, rows); // any number of these, too: one of them reads
await Promise.all([refresher.start(), feed.start()]);
await rows.schedule('42', { everyMs: 3_600_000 });

for (let stock = 7; stock >= 5; stock -= 1) {
  shop.prepare('update items set stock = ? where id = 42').run(stock);
  for await (const _ of ticks(10)) if ((await rows.get('42'))?.stock === stock) break;
  console.log(await rows.get('42'));
}

await rows.unschedule('42');
await Promise.all([feed.stop(), refresher.stop()]);
await source.close();
await redis.quit();
shop.close();
await rm(directory, { recursive: true });

// Output:
// { name: 'sword', stock: 7 }
// { name: 'sword', stock: 6 }
// { name: 'sword', stock: 5 }
