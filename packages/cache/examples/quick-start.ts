import { Cache } from '@mortise/cache';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const pages = new Cache<string>(redis, 'pages', { ttlMs: 60_000, prefix: 'example' });
await pages.delete('tools');

let loads = 0;
const load = async (): Promise<string> => `Tools, load ${(loads += 1)}`;
const readers = Array.from({ length: 500 }, () => pages.getOrLoad('tools', load));
console.log(new Set(await Promise.all(readers)));
await redis.quit();

// Output:
// Set(1) { 'Tools, load 1' }
