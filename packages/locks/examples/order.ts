/** First come, first served: each client here could as well be a process on another machine. */
import { LockTimeoutError, Mutex } from '@mortise/locks';
import { Redis } from 'ioredis';

const clients = Array.from(
  { length: 3 },
  () => new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379'),
);
const [first, second, third] = clients.map((redis) => new Mutex(redis, 'printer', { prefix: 'example' })) as [
  Mutex,
  Mutex,
  Mutex,
];

const lease = await first.acquire();
const waits: Promise<void>[] = [];
for (const [mutex, name] of [
  [second, 'second'],
  [third, 'third'],
] as const) {
  waits.push(mutex.using(() => console.log(`${name} prints`)));
  while ((await first.inspect()).queueLength < waits.length);
}

const impatient = await first.acquire({ waitMs: 50 }).catch((error: unknown) => error);
console.log(impatient instanceof LockTimeoutError && impatient.message);

console.log('first is done'); // said before the release: the next client prints as soon as it is granted
await lease.release();
await Promise.all(waits);
for (const redis of clients) await redis.quit();

// Output:
// lock "printer" was not acquired within 50 ms (see https://mortise.dev/errors/ERR_LOCK_TIMEOUT)
// first is done
// second prints
// third prints
