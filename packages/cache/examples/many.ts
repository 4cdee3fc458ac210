/** One query loads all missing values of a tick, whoever asked for them. */
import { Cache } from '@mortise/cache';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const users = new Cache<{ name: string }>(redis, 'users', {
  ttlMs: 60_000,
  prefix: 'example-many',
  load: async (ids) => {
    console.log(
      'select … where id in',
      ids.toSorted((a, b) => a.localeCompare(b)),
    );
    return new Map(ids.filter((id) => id !== '9').map((id) => [id, { name: `user ${id}` }]));
  },
});
await users.deleteMany(['1', '2', '9']);

console.log(await Promise.all([users.getOrLoad('1'), users.getOrLoad('2'), users.getOrLoad('9')]));
console.log(await users.getOrLoadMany(['1', '2', '9']));
console.log('known to be absent:', await users.get('9'), 'not cached:', await users.get('10'));
await redis.quit();

// Output:
// select … where id in [ '1', '2', '9' ]
// [ { name: 'user 1' }, { name: 'user 2' }, null ]
// Map(2) { '1' => { name: 'user 1' }, '2' => { name: 'user 2' } }
// known to be absent: null not cached: undefined
