/** The source fails, and readers get the last value. When the source is back, one background load replaces it. */
import { setInterval as ticks } from 'node:timers/promises';
import { Cache } from '@mortise/cache';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const failures: string[] = [];
const rates = new Cache<number>(redis, 'rates', {
  ttlMs: 60_000,
  staleMs: 86_400_000, // a day of grace
  retryMs: 50, // the pause after a failed load
  prefix: 'example-stale',
  onError: (error) => failures.push((error as Error & { code: string }).code),
});

let source: () => Promise<number> = async () => 1.1;
const read = (): Promise<number | null> => rates.getOrLoad('EUR', async () => source());
await rates.set('EUR', 1.1);
await rates.expire('EUR', 0); // stale at once

source = async () => {
  throw new Error('the bank is closed');
};
console.log(await read());
for await (const _ of ticks(5)) if (failures.length > 0) break;
console.log(await read(), failures);

source = async () => 1.2;
for await (const _ of ticks(5)) if ((await read()) === 1.2) break;
console.log(await read());
await redis.quit();

// Output:
// 1.1
// 1.1 [ 'ERR_CACHE_REFRESH' ]
// 1.2
