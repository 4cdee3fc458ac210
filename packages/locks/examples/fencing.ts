/**
 * A holder that was paused for longer than its lease cannot know that in time; the resource that it writes to can.
 * Each write carries the fencing token, and the resource refuses a token smaller than one that it has seen.
 */
import { LeaseLostError, Mutex } from '@mortise/locks';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const mutex = new Mutex(redis, 'stock:7', { leaseMs: 1_000, renew: false, prefix: 'example' });

/** Stands for a database: `UPDATE … SET token = $1 WHERE token <= $1`. */
const stock = {
  seen: 0,
  write(token: number, text: string): void {
    const isCurrent = token >= this.seen;
    if (isCurrent) this.seen = token;
    console.log(`${text}: ${isCurrent ? 'written' : 'refused'}`);
  },
};

const slow = await mutex.acquire();
await new Promise((resolve) => slow.signal.addEventListener('abort', resolve));
console.log('slow lost its lease:', slow.signal.reason instanceof LeaseLostError);

{
  await using fast = await mutex.acquire({ waitMs: 5_000 });
  stock.write(fast.fencingToken, 'fast');
}
stock.write(slow.fencingToken, 'slow');
await redis.quit();

// Output:
// slow lost its lease: true
// fast: written
// slow: refused
