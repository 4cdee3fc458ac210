/** The calls of Keyv 6, which puts its own adapter around the store. */
import { KeyvStore } from '@mortise/cache/keyv';
import { Redis } from 'ioredis';
import { Keyv } from 'keyv';

const redis = new Redis(process.env.REDIS_URL);
const prefix = process.env.PREFIX;
const keyvOf = (namespace) =>
  new Keyv({ store: new KeyvStore(redis, 'six', { prefix }), namespace, throwOnErrors: true });
const [ann, bob] = ['ann', 'bob'].map(keyvOf);
const values = [null, 0, '', 'text', { a: [1] }, Buffer.from([0, 255])];
for (const value of values) {
  await ann.set('a', value);
  console.log(await ann.get('a'));
}
console.log(
  await ann.setMany([
    { key: 'b', value: 2 },
    { key: 'c', value: 3, ttl: 20 },
  ]),
);
console.log(await ann.getMany(['b', 'none']), await ann.has('b'), await ann.hasMany(['b', 'none']));
await bob.set('b', 'of bob');
while ((await ann.get('c')) !== undefined);
console.log(await ann.delete('b'), await ann.delete('b'), await bob.get('b'));
await ann.set('d', 4);
await bob.clear();
console.log(await ann.get('d'), await bob.get('b'));
await ann.clear();
console.log(await ann.get('d'));
await Promise.all([ann.disconnect(), bob.disconnect()]);
await redis.quit();
