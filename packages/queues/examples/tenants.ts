/** A tenant with many tasks delays no other tenant: groups take turns. */
import { Queue, Worker } from '@mortise/queues';
import { Redis } from 'ioredis';

type Exports = { 'export.run': { tenant: string; part: number } };

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const queue = new Queue<Exports>(redis, 'exports', { prefix: 'example' });
const enqueue = (tenant: string, parts: number): Promise<unknown> =>
  queue.enqueueMany(
    Array.from({ length: parts }, (_, part) => ({
      name: 'export.run',
      payload: { tenant, part: part + 1 },
      options: { group: tenant },
    })),
  );
await enqueue('whale', 1_000);
await enqueue('minnow', 2);

const order: string[] = [];
const run = async ({ tenant, part }: Exports['export.run']): Promise<void> => {
  order.push(`${tenant} ${part}`);
};
const worker = new Worker<Exports>(
  redis,
  ['exports'],
  { 'export.run': run },
  { prefix: 'example', concurrency: 1 },
);
await worker.start();
await queue.idle();
console.log(order.slice(0, 5).join(', '));
console.log('tasks in total:', order.length);

await worker.stop();
await redis.quit();

// Output:
// whale 1, minnow 1, whale 2, minnow 2, whale 3
// tasks in total: 1002
