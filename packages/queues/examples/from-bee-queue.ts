/** A program that came from bee-queue: a task with retries and a delay, its progress, and its result. */
import { Queue, Worker } from '@mortise/queues';
import type { Handlers } from '@mortise/queues';
import { Redis } from 'ioredis';

type Sums = { add: { payload: { x: number; y: number }; result: number } };

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const queue = new Queue<Sums>(redis, 'from-bee-queue', { prefix: 'example' });
const handlers: Handlers<Sums> = {
  add: async ({ x, y }, ctx) => {
    await ctx.progress({ done: 50 });
    return x + y;
  },
};
const worker = new Worker<Sums>(redis, ['from-bee-queue'], handlers, { prefix: 'example' });
await worker.start();

const { id } = await queue.enqueue(
  'add',
  { x: 2, y: 3 },
  { delayMs: 100, attempts: 4, timeoutMs: 3_000, backoff: { delayMs: 1_000 } },
);
const result = await queue.result(id);
console.log('progress:', (await queue.get(id))?.progress);
console.log('result:', result);

await worker.stop();
await redis.quit();

// Output:
// progress: { done: 50 }
// result: 5
