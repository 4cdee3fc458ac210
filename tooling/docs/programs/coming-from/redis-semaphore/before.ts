import { Redis } from 'ioredis';
import { Semaphore } from 'redis-semaphore';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
let printing = 0;
let most = 0;

/** Stands for a printer. */
async function print(): Promise<void> {
  most = Math.max(most, ++printing);
  await new Promise((resolve) => setTimeout(resolve, 20));
  printing--;
}

const pages = [1, 2, 3, 4, 5, 6].map(async () => {
  const semaphore = new Semaphore(redis, 'printers', 3, { lockTimeout: 10_000, acquireTimeout: 5_000 });
  await semaphore.acquire();
  try {
    await print();
  } finally {
    await semaphore.release();
  }
});
await Promise.all(pages);
console.log(`${pages.length} pages, at most ${most} at a time`);
await redis.quit();

// Output:
// 6 pages, at most 3 at a time
