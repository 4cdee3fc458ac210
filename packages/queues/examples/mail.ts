import { Queue, Worker } from '@mortise/queues';
import { Redis } from 'ioredis';

type Mail = {
  'mail.sold': { itemId: string; price: number };
  'mail.expired': { itemId: string };
};

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const queue = new Queue<Mail>(redis, 'mail', { prefix: 'example' });
await queue.enqueue('mail.expired', { itemId: 'sword' }, { priority: 'low' });
await queue.enqueue('mail.sold', { itemId: 'shield', price: 97 });
await queue.enqueue('mail.sold', { itemId: 'potion', price: 5 }, { priority: 'high' });
const { id } = await queue.enqueue('mail.sold', { itemId: 'ring', price: 12 }, { delayMs: 200 });

const handlers = {
  'mail.sold': async ({ itemId, price }: Mail['mail.sold']) => console.log(`sold ${itemId} for ${price}`),
  'mail.expired': async ({ itemId }: Mail['mail.expired']) => console.log(`nobody bought ${itemId}`),
};
const worker = new Worker<Mail>(redis, ['mail'], handlers, { prefix: 'example', concurrency: 1 });
await worker.start();
await queue.result(id); // the delayed task ends last
await worker.stop();
await redis.quit();

// Output:
// sold potion for 5
// sold shield for 97
// nobody bought sword
// sold ring for 12
