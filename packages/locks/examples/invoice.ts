import { Mutex } from '@mortise/locks';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const mutex = new Mutex(redis, 'invoice:42', { leaseMs: 10_000, prefix: 'example' });

await mutex.using(async (signal, lease) => {
  console.log('the lock is mine:', lease.isValid, 'lost:', signal.aborted);
  console.log('another one gets', await mutex.tryAcquire());
});

const lease = await mutex.acquire({ waitMs: 5_000 });
console.log('somebody holds it:', (await mutex.inspect()).holder === lease.holder);
console.log('released:', await lease.release());
await redis.quit();

// Output:
// the lock is mine: true lost: false
// another one gets null
// somebody holds it: true
// released: true
