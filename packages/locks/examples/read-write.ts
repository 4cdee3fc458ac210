/** Many processes read a price list at once. A writer is alone, and reads its own change before another process writes. */
import { LockTimeoutError, ReadWriteLock } from '@mortise/locks';
import { Redis } from 'ioredis';

const clients = Array.from(
  { length: 3 },
  () => new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379'),
);
const [first, second, third] = clients.map(
  (redis) => new ReadWriteLock(redis, 'prices', { prefix: 'example' }),
) as [ReadWriteLock, ReadWriteLock, ReadWriteLock];

const reader = await first.read.acquire();
console.log('a second reader gets in:', await second.read.using((_, lease) => lease.isValid));
console.log('a writer gets', await third.write.tryAcquire());

// The writer waits for the reader, and a reader that comes later waits for the writer.
const writing = third.write.acquire({ waitMs: 10_000 });
while ((await first.read.inspect()).queueLength < 1);
const impatient = await second.read.acquire({ waitMs: 250 }).catch((error: unknown) => error);
console.log(impatient instanceof LockTimeoutError && impatient.message);
const late = second.read.using(() => console.log('the late reader reads'));
while ((await first.read.inspect()).queueLength < 2);
await reader.release();

const writer = await writing;
console.log('the writer writes');
const proof = await writer.downgrade();
await late;
console.log(
  'it still reads what it wrote:',
  proof.isValid,
  'its token is greater:',
  proof.fencingToken > writer.fencingToken,
);
await proof.release();
for (const redis of clients) await redis.quit();

// Output:
// a second reader gets in: true
// a writer gets null
// lock "prices" was not acquired within 250 ms (see https://mortise.dev/errors/ERR_LOCK_TIMEOUT)
// the writer writes
// the late reader reads
// it still reads what it wrote: true its token is greater: true
