/** Handlers with options: a timeout and a limit for one name, and a batch that stores many lines with one call. */
import { setTimeout } from 'node:timers/promises';
import { Queue, Worker } from '@mortise/queues';
import type { Handlers, TaskDeadError } from '@mortise/queues';
import { Redis } from 'ioredis';

type Tasks = { 'page.fetch': { url: string }; 'audit.line': { text: string } };

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const queue = new Queue<Tasks>(redis, 'handlers', { prefix: 'example' });

const handlers: Handlers<Tasks> = {
  'page.fetch': {
    // The signal ends the work: a real handler passes it to `fetch`.
    handle: async ({ url }, { signal }) => {
      await setTimeout(url === '/slow' ? 60_000 : 1, undefined, { signal });
      return `the page ${url}`;
    },
    timeoutMs: 50,
    concurrency: 5,
    backoff: ({ attempt }) => attempt * 10,
  },
  'audit.line': {
    handleMany: async (tasks) => {
      const lines = tasks.map(({ payload }) => payload.text);
      console.log('insert', lines.join(', '));
    },
    maxSize: 20,
    waitMs: 50,
  },
};
const worker = new Worker<Tasks>(redis, ['handlers'], handlers, { prefix: 'example' });

await queue.enqueueMany(['a', 'b', 'c'].map((text) => ({ name: 'audit.line', payload: { text } })));
await worker.start();
await queue.idle();
const quick = await queue.enqueue('page.fetch', { url: '/quick' });
console.log(await queue.result(quick.id));
const slow = await queue.enqueue('page.fetch', { url: '/slow' }, { attempts: 2 });
await queue.result(slow.id).catch(({ code, error }: TaskDeadError) => console.log(code, error.code));

await worker.stop();
await redis.quit();

// Output:
// insert a, b, c
// the page /quick
// ERR_TASK_DEAD ERR_TASK_TIMEOUT
