import { Cache } from '@mortise/cache';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const users = new Cache<{ name: string }>(redis, 'users', { ttlMs: 50_000, staleMs: 10_000 });

/** Stands for a query to your database. */
async function query(id: string): Promise<{ name: string }> {
  console.log('query', id);
  return { name: 'Ann' };
}

const read = async () => users.getOrLoad('42', async () => query('42'));
console.log(await read());
console.log(await read());
await users.delete('42');
console.log(await read());

await users.stop();
await redis.quit();

// Output:
// query 42
// { name: 'Ann' }
// { name: 'Ann' }
// query 42
// { name: 'Ann' }
