import { Cache } from '@mortise/cache';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const titles = new Map([['tools', 'Tools']]);
let queries = 0;
const query = (id: string) => async () => {
  queries += 1;
  return titles.get(id) ?? null;
};

const pages = new Cache<string>(redis, 'pages', {
  ttlMs: 60_000,
  staleMs: 10_000, // served meanwhile, while one process loads it again
  near: { entries: 10_000 }, // and kept in this process as well
  prefix: 'example',
});
await pages.invalidateTag('shop');

const readers = Array.from({ length: 500 }, () =>
  pages.getOrLoad('tools', query('tools'), { tags: ['shop'] }),
);
console.log(new Set(await Promise.all(readers)), queries);

titles.set('tools', 'Hand tools');
await pages.invalidateTag('shop');
console.log(await pages.getOrLoad('tools', query('tools'), { tags: ['shop'] }), queries);

console.log(await pages.getOrLoad('none', query('none'), { tags: ['shop'] })); // known for a while as well
await pages.stop();
await redis.quit();

// Output:
// Set(1) { 'Tools' } 1
// Hand tools 2
// null
