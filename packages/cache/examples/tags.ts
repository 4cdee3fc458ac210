/** One tag removes all pages that show a product, in all processes. */
import { Cache } from '@mortise/cache';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const pages = new Cache<string>(redis, 'pages', { ttlMs: 60_000, prefix: 'example-tags' });
const prices = new Map([['hammer', 12]]);
const load = (page: string) => async () => `${page}: hammer ${prices.get('hammer')}`;
const read = (page: string): Promise<string | null> =>
  pages.getOrLoad(page, load(page), { tags: ['product:hammer'] });

await pages.invalidateTag('product:hammer'); // from an earlier run of this example
console.log(await read('home'), '|', await read('tools'));

prices.set('hammer', 14);
console.log(await read('home'), '|', await read('tools'));
await pages.invalidateTag('product:hammer');
console.log(await read('home'), '|', await read('tools'));
await redis.quit();

// Output:
// home: hammer 12 | tools: hammer 12
// home: hammer 12 | tools: hammer 12
// home: hammer 14 | tools: hammer 14
