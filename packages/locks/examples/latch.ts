/** The report is made when all three parts are there; each client here could as well be a process on another machine. */
import { CountDownLatch } from '@mortise/locks';
import { Redis } from 'ioredis';

const parts = ['orders', 'returns', 'stock'];
const clients = Array.from(
  { length: 2 },
  () => new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379'),
);
const [reporter, loader] = clients.map(
  (redis) => new CountDownLatch(redis, 'parts of 2026-11-20', { count: parts.length, prefix: 'example' }),
) as [CountDownLatch, CountDownLatch];
await reporter.reset();

const allLoaded = reporter.wait({ waitMs: 60_000 });
for (const part of parts) {
  // With an id, a repetition after a lost reply does not count twice.
  await loader.countDown({ id: part });
  console.log(`${part} loaded, remaining:`, await loader.countDown({ id: part }));
}
await allLoaded;
console.log('the report is made');

await reporter.wait();
console.log('it stays open:', await reporter.remaining());
await reporter.reset();
for (const redis of clients) await redis.quit();

// Output:
// orders loaded, remaining: 2
// returns loaded, remaining: 1
// stock loaded, remaining: 0
// the report is made
// it stays open: 0
