import { Queue, Worker } from '@mortise/queues';
import type { Handlers } from '@mortise/queues';
import { Redis } from 'ioredis';

interface Prices {
  'price.quote': { payload: { itemId: string; count: number }; result: { total: number } };
}

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const queue = new Queue<Prices>(redis, 'prices', { prefix: 'example' });
const handlers: Handlers<Prices> = {
  'price.quote': ({ itemId, count }) => {
    if (itemId !== 'sword') throw new Error(`there is no ${itemId}`);
    return { total: 97 * count };
  },
};
const worker = new Worker<Prices>(redis, ['prices'], handlers, { prefix: 'example' });
await worker.start();

const sword = await queue.enqueue('price.quote', { itemId: 'sword', count: 3 });
const { total } = await queue.result(sword.id, { waitMs: 5_000 }); // a number
console.log('sword', total);

const unicorn = await queue.enqueue('price.quote', { itemId: 'unicorn', count: 1 }, { attempts: 1 });
try {
  await queue.result(unicorn.id, { waitMs: 5_000 });
} catch (error) {
  const { code, reason } = error as { code: string; reason: string };
  console.log('unicorn', code, reason);
}

await worker.stop();
await redis.quit();

// Output:
// sword 291
// unicorn ERR_TASK_DEAD there is no unicorn
