/** Keyv and cache-manager over Mortise: copies in the memory of each process, and a change that removes them in all of them. */
import { KeyvStore } from '@mortise/cache/keyv';
import { createCache } from 'cache-manager';
import { Redis } from 'ioredis';
import { Keyv } from 'keyv';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const options = { prefix: 'example-keyv', near: { entries: 1_000 } };

const users = new Keyv<{ name: string }>({ store: new KeyvStore(redis, 'users', options), ttl: 60_000 });
await users.set('42', { name: 'Ann' });
console.log(await users.get('42'), await users.get('43'));

// One Keyv has one store. cache-manager and @nestjs/cache-manager take a Keyv in `stores`.
const store = new KeyvStore(redis, 'pages', options);
const pages = createCache({ stores: [new Keyv({ store, namespace: 'shop' })], ttl: 60_000 });
await pages.clear();
const render = async () => {
  console.log('rendering');
  return 'Tools';
};
console.log(await pages.wrap('tools', render), await pages.wrap('tools', render));

await users.disconnect();
await pages.disconnect();
await redis.quit();

// Output:
// { name: 'Ann' } undefined
// rendering
// Tools Tools
