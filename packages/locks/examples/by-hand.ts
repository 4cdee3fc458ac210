/** A lease that is held by hand: `await using` releases it at the end of the block, also after an error. */
import { Mutex } from '@mortise/locks';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const mutex = new Mutex(redis, 'report:7', { leaseMs: 10_000, prefix: 'example' });

{
  await using lease = await mutex.acquire({ waitMs: 5_000 });
  console.log('held by this process:', (await mutex.inspect()).holder === lease.holder);
}
console.log('held after the block:', (await mutex.inspect()).holder !== null);

const lease = await mutex.acquire({ waitMs: 5_000 });
console.log('released:', await lease.release());
console.log('released again:', await lease.release(), 'valid:', lease.isValid);
await redis.quit();

// Output:
// held by this process: true
// held after the block: false
// released: true
// released again: true valid: false
