import { Mutex } from '@mortise/locks';
import { Redis } from 'ioredis';

const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
const stock = new Mutex(redis, 'stock:hammer');

// One process at a time runs this function. Each holder gets a greater fencing token than the holder before.
const tokens = [];
for (const name of ['ann', 'bob']) {
  await stock.using(async (_signal, { fencingToken }) => {
    console.log(name, 'counts the stock');
    tokens.push(fencingToken);
  });
}
console.log('the second token is greater:', tokens[1] > tokens[0]);
await redis.quit();

// Output:
// ann counts the stock
// bob counts the stock
// the second token is greater: true
