import { Refresher } from '@mortise/cache/rows';
import { items } from './lib/items.mjs';
import { redis } from './lib/redis.mjs';

const refresher = new Refresher(redis, [items]);
await refresher.start();
await items.schedule('42', { everyMs: 1_000 });

process.once('SIGTERM', async () => {
  await refresher.stop();
  await redis.quit();
});
