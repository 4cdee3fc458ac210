import { BentoCache, bentostore } from 'bentocache';
import { memoryDriver } from 'bentocache/drivers/memory';
import { redisBusDriver, redisDriver } from 'bentocache/drivers/redis';

const { hostname: host, port } = new URL(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const connection = { host, port: Number(port) };
const users = new BentoCache({
  default: 'users',
  ttl: '1m',
  grace: '6h',
  stores: {
    users: bentostore()
      .useL1Layer(memoryDriver({ maxItems: 10_000 }))
      .useL2Layer(redisDriver({ connection }))
      .useBus(redisBusDriver({ connection })),
  },
});

/** Stands for a query to your database. */
async function query(id: string): Promise<{ name: string }> {
  console.log('query', id);
  return { name: 'Ann' };
}

const read = async () => users.getOrSet({ key: '42', factory: async () => query('42'), tags: ['users'] });
console.log(await read());
console.log(await read());
await users.deleteByTag({ tags: ['users'] });
console.log(await read());

await users.disconnectAll();

// Output:
// query 42
// { name: 'Ann' }
// { name: 'Ann' }
// query 42
// { name: 'Ann' }
