import { Cache } from '@mortise/cache';
import { RateLimiter } from '@mortise/locks';
import { Queue, Worker } from '@mortise/queues';
import express from 'express';
import { Redis } from 'ioredis';

const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
const options = { prefix: 'start-express' };
const prices = new Cache(redis, 'prices', { ...options, ttlMs: 60_000 });
const mails = new Queue(redis, 'mails', options);
const handlers = { welcome: async ({ to }) => console.log(`mail to ${to}`) };
const worker = new Worker(redis, ['mails'], handlers, options);
await worker.start();

const app = express();
app.get('/prices/:item', async (request, response) => {
  response.json({ price: await prices.getOrLoad(request.params.item, async () => 12) });
});
app.post('/users/:name', async (request, response) => {
  const limiter = new RateLimiter(redis, `users:${request.ip}`, { ...options, limit: 2, periodMs: 60_000 });
  const { isAllowed, retryAfterMs } = await limiter.take();
  if (!isAllowed) return response.set('Retry-After', `${Math.ceil(retryAfterMs / 1_000)}`).sendStatus(429);
  await mails.enqueue('welcome', { to: request.params.name });
  return response.sendStatus(202);
});

const server = app.listen(process.env.PORT ?? 3000, () => console.log(`port ${server.address().port}`));
process.once('SIGTERM', () => {
  server.close(async () => {
    await worker.stop(); // waits for running tasks
    await redis.quit();
  });
});
