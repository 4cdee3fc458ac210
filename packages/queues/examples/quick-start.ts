import { Queue, Worker } from '@mortise/queues';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const queue = new Queue<{ greet: { to: string } }>(redis, 'greetings', { prefix: 'example' });
const handlers = { greet: async ({ to }: { to: string }) => console.log(`hello ${to}`) };
const worker = new Worker(redis, ['greetings'], handlers, { prefix: 'example' });
await worker.start();

const { id } = await queue.enqueue('greet', { to: 'you' });
await queue.result(id);
await worker.stop();
await redis.quit();

// Output:
// hello you
