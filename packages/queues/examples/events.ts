import { Queue, Worker } from '@mortise/queues';
import type { TaskContext } from '@mortise/queues';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const queue = new Queue(redis, 'shipments', { prefix: 'example' });
await queue.configure({ keepEvents: 1_000 });

const ship = (_: unknown, { attempt }: TaskContext): void => {
  if (attempt === 1) throw new Error('the ferry is full');
};
const worker = new Worker(redis, ['shipments'], { ship }, { prefix: 'example' });
await worker.start();
const { id } = await queue.enqueue('ship', { box: 7 }, { backoff: { type: 'fixed', delayMs: 10 } });

let cursor: string | undefined;
// The kept events from the oldest on, then new ones.
for await (const event of queue.events({ after: 'oldest' })) {
  if (event.id !== id) continue;
  console.log(event.type, event.attempt ?? event.name, ...(event.error ? [event.error.message] : []));
  if (event.type === 'retrying') ({ cursor } = event);
  if (event.type === 'succeeded') break;
}
console.log('---');
// A reader that comes back goes on where it was.
for await (const event of queue.events({ after: cursor! })) {
  console.log(event.type, event.attempt);
  if (event.type === 'succeeded') break;
}

await worker.stop();
await redis.quit();

// Output:
// enqueued ship
// started 1
// retrying 1 the ferry is full
// started 2
// succeeded 2
// ---
// started 2
// succeeded 2
