import { setTimeout } from 'node:timers/promises';
import { Discard, Queue, RetryLater, Worker } from '@mortise/queues';
import type { TaskContext } from '@mortise/queues';
import { Redis } from 'ioredis';

type Orders = { 'order.ship': { weight: number } };

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const queue = new Queue<Orders>(redis, 'orders', { prefix: 'example' });
let isCarrierOpen = false;

async function ship({ weight }: Orders['order.ship'], { attempt }: TaskContext): Promise<string> {
  if (weight < 0) throw new Discard('there is no such weight');
  if (weight > 100) throw new Error('too heavy for any carrier');
  if (!isCarrierOpen) {
    isCarrierOpen = true;
    throw new RetryLater({ delayMs: 100 }); // does not count as an attempt
  }
  if (attempt === 1) throw new Error('the carrier did not answer');
  return `shipped at attempt ${attempt}`;
}

const backoff = { delayMs: 10, jitter: 0 };
const worker = new Worker<Orders>(redis, ['orders'], { 'order.ship': ship }, { prefix: 'example', backoff });
await worker.start();
for (const weight of [7, 500, -1]) {
  const { id } = await queue.enqueue('order.ship', { weight }, { attempts: 3 });
  let task = await queue.get(id);
  while (task?.state !== 'succeeded' && task?.state !== 'dead') {
    await setTimeout(20);
    task = await queue.get(id);
  }
  const reason = task.error?.message;
  console.log(`${weight}: ${task.state} after ${task.attempt} of ${task.attempts},`, task.result ?? reason);
}
await worker.stop();
await redis.quit();

// Output:
// 7: succeeded after 2 of 3, shipped at attempt 2
// 500: dead after 3 of 3, too heavy for any carrier
// -1: dead after 1 of 3, there is no such weight
