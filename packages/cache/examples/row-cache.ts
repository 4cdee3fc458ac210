import { setInterval as ticks } from 'node:timers/promises';
import { Refresher, RowCache } from '@mortise/cache/rows';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const database = new Map([['42', { name: 'sword', stock: 7 }]]);
const load = async (ids: readonly string[]) => new Map(ids.map((id) => [id, database.get(id)]));
const rows = new RowCache(redis, 'inventory', { load, prefix: 'example' });

const refresher = new Refresher(redis, [rows]); // any number of these, in any process
await refresher.start();
await rows.schedule('42', { everyMs: 100 });

for (let stock = 7; stock >= 5; stock -= 1) {
  database.set('42', { name: 'sword', stock });
  for await (const _ of ticks(10)) if ((await rows.get('42'))?.stock === stock) break;
  console.log(await rows.get('42'));
}
console.log(await rows.unschedule('42'), await rows.get('42'));
await refresher.stop();
await redis.quit();

// Output:
// { name: 'sword', stock: 7 }
// { name: 'sword', stock: 6 }
// { name: 'sword', stock: 5 }
// true null
