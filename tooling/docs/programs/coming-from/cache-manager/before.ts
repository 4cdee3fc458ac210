import KeyvRedis from '@keyv/redis';
import { createCache } from 'cache-manager';
import { Keyv } from 'keyv';

const users = createCache({
  stores: [new Keyv({ store: new KeyvRedis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379') })],
  ttl: 60_000,
  refreshThreshold: 10_000,
});

/** Stands for a query to your database. */
async function query(id: string): Promise<{ name: string }> {
  console.log('query', id);
  return { name: 'Ann' };
}

const read = async () => users.wrap('42', async () => query('42'));
console.log(await read());
console.log(await read());
await users.del('42');
console.log(await read());

await users.disconnect();

// Output:
// query 42
// { name: 'Ann' }
// { name: 'Ann' }
// query 42
// { name: 'Ann' }
