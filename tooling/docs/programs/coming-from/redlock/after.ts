import { Mutex } from '@mortise/locks';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const mutex = new Mutex(redis, 'invoice:42', { leaseMs: 10_000 });

/** Stands for a payment. */
async function pay(invoice: string, signal: AbortSignal): Promise<void> {
  console.log('pays', invoice, signal.aborted);
}

await mutex.using(async (signal) => pay('42', signal), { waitMs: 5_000 });
await redis.quit();

// Output:
// pays 42 false
