/** Three connections to a printer, shared by all processes: never more than three at once, first come, first served. */
import { LockSettingsError, Semaphore } from '@mortise/locks';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const pool = new Semaphore(redis, 'printer:connections', { permits: 3, leaseMs: 10_000, prefix: 'example' });

let open = 0;
let most = 0;
const print = (page: number): Promise<string> =>
  pool.using(async () => {
    open += 1;
    most = Math.max(most, open);
    await redis.ping();
    open -= 1;
    return `page ${page}`;
  });
const pages = await Promise.all(Array.from({ length: 10 }, (_, index) => print(index + 1)));
console.log(`${pages.length} pages, at most ${most} at once`);

const two = await pool.acquire({ permits: 2 });
console.log('free besides two:', await pool.available());
console.log('two more:', await pool.tryAcquire({ permits: 2 }));
await two.release();

await pool.setPermits(4);
console.log('after setPermits:', await pool.available());
const outdated = new Semaphore(redis, 'printer:connections', { permits: 3, prefix: 'example' });
const refusal = await outdated.acquire().catch((error: unknown) => error);
console.log(refusal instanceof LockSettingsError && refusal.message);

await pool.setPermits(3);
await redis.quit();

// Output:
// 10 pages, at most 3 at once
// free besides two: 1
// two more: null
// after setPermits: 4
// semaphore "printer:connections" has the limit 4, not 3 (see https://mortise.dev/errors/ERR_SEMAPHORE_LIMIT)
