/** A handler reports its progress and log lines, which any process reads. */
import { Queue, Worker } from '@mortise/queues';
import type { TaskContext } from '@mortise/queues';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const queue = new Queue<{ import: { rows: number } }>(redis, 'imports', { prefix: 'example' });
const run = async ({ rows }: { rows: number }, { progress, log }: TaskContext): Promise<number> => {
  for (let row = 1; row <= rows; row += 1) {
    await progress({ row, rows });
    if (row === 2) await log('row 2 has no date');
  }
  return rows;
};
const worker = new Worker(redis, ['imports'], { import: run }, { prefix: 'example' });
await worker.start();

const { id } = await queue.enqueue('import', { rows: 3 });
console.log('imported', await queue.result(id));
const task = await queue.get(id);
console.log(
  task?.state,
  task?.progress,
  task?.logs?.map(({ text }) => text),
);

await worker.stop();
await redis.quit();

// Output:
// imported 3
// succeeded { row: 3, rows: 3 } [ 'row 2 has no date' ]
