import { Claims, Queue } from '@mortise/queues';
import { Redis } from 'ioredis';

interface Thumbnails {
  'thumbnail.make': { file: string };
}

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const queue = new Queue<Thumbnails>(redis, 'thumbnails', { prefix: 'example' });
const claims = new Claims<Thumbnails>(redis, 'thumbnails', { prefix: 'example' });
await queue.enqueueMany(
  ['cat.png', 'broken.png'].map((file) => ({ name: 'thumbnail.make', payload: { file } })),
);

for (;;) {
  const tasks = await claims.claim({ limit: 10, waitMs: 1_000, leaseMs: 30_000 });
  if (tasks.length === 0) break;
  for (const { id, payload, lease, attempt } of tasks) {
    await claims.heartbeat(id, lease, 60_000);
    if (payload.file === 'cat.png') await claims.complete(id, lease, { width: 128 });
    else await claims.fail(id, lease, { error: 'no image', retry: attempt < 2, delayMs: 0 });
    console.log(payload.file, 'attempt', attempt);
  }
}
const { succeeded, dead } = await queue.counts();
console.log(succeeded, 'succeeded,', dead, 'dead');

await claims.stop();
await redis.quit();

// Output:
// cat.png attempt 1
// broken.png attempt 1
// broken.png attempt 2
// 1 succeeded, 1 dead
