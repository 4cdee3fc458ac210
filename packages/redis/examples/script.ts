import { KeySpace, Script } from '@mortise/redis';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const source = `#!lua
local stock, count = KEYS[1], tonumber(ARGV[1])
if tonumber(redis.call('GET', stock) or 0) < count then return nil end
return redis.call('DECRBY', stock, count)`;
const header = { name: 'stock.take', isReadOnly: false, keys: ['stock'], args: ['count'] } as const;
const stockTake = new Script({ ...header, source });

const stock = new KeySpace('shop').entity('item:42').key('stock');
await redis.set(stock, 10, 'EX', 60);
console.log(stock);
for (const count of [7, 7]) console.log(await stockTake.run(redis, { stock }, { count }));
await redis.quit();

// Output:
// mortise:shop:{item:42}:stock
// 3
// null
