/** A worker that stops gives its unfinished task back, and the next worker runs it at once. */
import { setTimeout } from 'node:timers/promises';
import { Queue, Worker } from '@mortise/queues';
import type { Handlers } from '@mortise/queues';
import { Redis } from 'ioredis';

type Videos = { 'video.cut': { file: string } };

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const queue = new Queue<Videos>(redis, 'deploys', { prefix: 'example' });
const { id } = await queue.enqueue('video.cut', { file: 'cat.mp4' });

const oldHandlers: Handlers<Videos> = {
  // Takes an hour, but ends when its signal is aborted.
  'video.cut': async ({ file }, { attempt, signal }) => {
    console.log(`version 1 cuts ${file}, attempt ${attempt}`);
    await setTimeout(3_600_000, undefined, { signal }).catch(() => console.log(signal.reason.code));
  },
};
const old = new Worker<Videos>(redis, ['deploys'], oldHandlers, { prefix: 'example' });
await old.start();
while (old.running === 0) await setTimeout(10);
await old.stop({ graceMs: 100 }); // 10 s by default

const newHandlers: Handlers<Videos> = {
  'video.cut': ({ file }, { attempt }) => console.log(`version 2 cuts ${file}, attempt ${attempt}`),
};
const next = new Worker<Videos>(redis, ['deploys'], newHandlers, { prefix: 'example' });
await next.start();
await queue.result(id);
await next.stop();
await redis.quit();

// Output:
// version 1 cuts cat.mp4, attempt 1
// ERR_WORKER_STOPPED
// version 2 cuts cat.mp4, attempt 1
