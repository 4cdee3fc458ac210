/** A program that came from BullMQ, with its worker, its job scheduler and its wait for a result. */
import { Discard, Queue, Worker } from '@mortise/queues';
import type { Handlers } from '@mortise/queues';
import { Redis } from 'ioredis';

type Mail = {
  'mail.welcome': { payload: { to: string }; result: string };
  'mail.digest': Record<string, never>;
};

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const queue = new Queue<Mail>(redis, 'from-bullmq', { prefix: 'example' });
const handlers: Handlers<Mail> = {
  'mail.welcome': async ({ to }, ctx) => {
    if (!to.includes('@')) throw new Discard('no address');
    await ctx.progress(100);
    return `sent to ${to} at attempt ${ctx.attempt}`;
  },
  'mail.digest': () => console.log('digest'),
};
const worker = new Worker<Mail>(redis, ['from-bullmq'], handlers, { prefix: 'example', concurrency: 10 });
await worker.start();

await queue.schedule('digest', { cron: '0 7 * * *' }, 'mail.digest', {});
const { id } = await queue.enqueue(
  'mail.welcome',
  { to: 'ann@example.org' },
  { id: 'welcome-ann', delayMs: 100, attempts: 3, backoff: { delayMs: 1_000 }, priority: 'high' },
);
console.log(await queue.result(id, { waitMs: 5_000 }));
console.log((await queue.counts()).dead, 'dead');

await worker.stop();
await redis.quit();

// Output:
// sent to ann@example.org at attempt 1
// 0 dead
