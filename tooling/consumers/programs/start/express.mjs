import { Cache } from '@mortise/cache';
import { limitRequests } from '@mortise/locks/express';
import { Queue, Worker } from '@mortise/queues';
import express from 'express';
import { Redis } from 'ioredis';

const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
const prices = new Cache(redis, 'prices', { ttlMs: 60_000 });
const mails = new Queue(redis, 'mails');
const worker = new Worker(redis, ['mails'], { welcome: ({ to }) => console.log(`mail to ${to}`) });
await worker.start();

const app = express();
app.get('/prices/:item', async (request, response) => {
  response.json({ price: await prices.getOrLoad(request.params.item, async () => 12) });
});
const limit = limitRequests(redis, 'users', { limit: 2, periodMs: 60_000 });
app.post('/users/:name', limit, async (request, response) => {
  await mails.enqueue('welcome', { to: request.params.name });
  response.sendStatus(202);
});

const server = app.listen(process.env.PORT ?? 3000, () => console.log(`port ${server.address().port}`));
process.once('SIGTERM', () => {
  server.close(() => worker.stop().then(() => redis.quit())); // requests end first, then tasks
});
