/** A partner allows 100 calls a second and 5 at once, and sometimes answers 429: the task runs later, and loses no attempt. */
import { setTimeout } from 'node:timers/promises';
import { Queue, RetryLater, Worker } from '@mortise/queues';
import type { Handlers } from '@mortise/queues';
import { Redis } from 'ioredis';

type Partner = { 'order.push': { order: number } };

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const queue = new Queue<Partner>(redis, 'partner-api', { prefix: 'example' });
await queue.configure({ concurrency: 5, rate: { limit: 100, periodMs: 1_000 } });

/** The partner: busy at its third call. */
let calls = 0;
const push = async (_order: number): Promise<{ status: number; retryAfterMs: number }> => {
  calls += 1;
  const isBusy = calls === 3;
  await setTimeout(5);
  return isBusy ? { status: 429, retryAfterMs: 200 } : { status: 200, retryAfterMs: 0 };
};

const handlers: Handlers<Partner> = {
  'order.push': async ({ order }, { attempt }) => {
    const { status, retryAfterMs } = await push(order);
    if (status === 429) throw new RetryLater({ delayMs: retryAfterMs, reason: 'the partner is busy' });
    if (status >= 500) throw new Error(`the partner answered ${status}`); // counts, and backs off
    return attempt;
  },
};
const worker = new Worker<Partner>(redis, ['partner-api'], handlers, { prefix: 'example' });
await worker.start();

const orders = Array.from({ length: 8 }, (_, index) => index + 1);
const tasks = await queue.enqueueMany(orders.map((order) => ({ name: 'order.push', payload: { order } })));
const attempts = await Promise.all(tasks.map(({ id }) => queue.result(id, { waitMs: 10_000 })));
console.log(`${calls} calls, the attempts that counted: ${attempts.join(' ')}`);

await worker.stop();
await redis.quit();

// Output:
// 9 calls, the attempts that counted: 1 1 1 1 1 1 1 1
