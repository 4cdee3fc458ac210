import { Mutex } from '@mortise/locks';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const mutex = new Mutex(redis, 'invoice:42', { leaseMs: 10_000, prefix: 'example' });

await mutex.using(async (signal) => {
  console.log('the invoice is locked, lost:', signal.aborted);
  console.log('another caller gets', await mutex.tryAcquire());
});
await redis.quit();

// Output:
// the invoice is locked, lost: false
// another caller gets null
