import { Cache } from '@mortise/cache';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const users = new Cache<{ name: string }>(redis, 'users', { ttlMs: 60_000 });

/** Stands for a query to your database. */
async function query(id: string): Promise<{ name: string }> {
  console.log('query', id);
  return { name: 'Ann' };
}

const read = async (id: string) => users.getOrLoad(id, async () => query(id));

console.log(await read('42'));
console.log(await read('42'));
await users.stop();
await redis.quit();

// Output:
// query 42
// { name: 'Ann' }
// { name: 'Ann' }
