import { KeySpace, Script } from '@mortise/redis';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const stockTake = new Script({
  name: 'stock.take',
  isReadOnly: false,
  keys: ['stock'],
  args: ['count'],
  source: `#!lua
local stock, count = KEYS[1], tonumber(ARGV[1])
if tonumber(redis.call('GET', stock) or 0) < count then return nil end
return redis.call('DECRBY', stock, count)
`,
} as const);

const stock = new KeySpace('shop').entity('item:42').key('stock');
await redis.set(stock, 10, 'EX', 60);
console.log(stock);
console.log(await stockTake.run(redis, { stock }, { count: 7 }));
console.log(await stockTake.run(redis, { stock }, { count: 7 }));
await redis.quit();

// Output:
// mortise:shop:{item:42}:stock
// 3
// null
