import { setTimeout as pause } from 'node:timers/promises';
import { Refresher, RowCache } from '@mortise/cache/rows';
import { Redis } from 'ioredis';

const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
// In place of your database: one query for many ids.
const load = async (ids) => new Map(ids.map((id) => [id, { id, name: 'hammer', stock: 7 }]));
const items = new RowCache(redis, 'items', { load });

const refresher = new Refresher(redis, [items]);
await refresher.start();
await items.schedule('42', { everyMs: 1_000 });
while ((await items.get('42')) === null) await pause(10); // until its first load
console.log(await items.get('42'));

await refresher.stop();
await redis.quit();

// Output:
// { id: '42', name: 'hammer', stock: 7 }
