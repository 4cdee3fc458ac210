import KeyvRedis from '@keyv/redis';
import { Keyv } from 'keyv';

const store = new KeyvRedis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const users = new Keyv<{ name: string }>({ store, ttl: 60_000 });

/** Stands for a query to your database. */
async function query(id: string): Promise<{ name: string }> {
  console.log('query', id);
  return { name: 'Ann' };
}

async function read(id: string): Promise<{ name: string }> {
  let user = await users.get(id);
  if (user === undefined) {
    user = await query(id);
    await users.set(id, user);
  }
  return user;
}

console.log(await read('42'));
console.log(await read('42'));
await users.disconnect();

// Output:
// query 42
// { name: 'Ann' }
// { name: 'Ann' }
