import { Cache } from '@mortise/cache';
import { RateLimiter } from '@mortise/locks';
import { Queue, Worker } from '@mortise/queues';
import Fastify from 'fastify';
import { Redis } from 'ioredis';

const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
const options = { prefix: 'start-fastify' };
const prices = new Cache(redis, 'prices', { ...options, ttlMs: 60_000 });
const mails = new Queue(redis, 'mails', options);
const handlers = { welcome: async ({ to }) => console.log(`mail to ${to}`) };
const worker = new Worker(redis, ['mails'], handlers, options);

const app = Fastify();
app.addHook('onReady', async () => worker.start());
app.addHook('onClose', async () => {
  await worker.stop(); // waits for running tasks
  await redis.quit();
});
app.get('/prices/:item', async ({ params }) => ({
  price: await prices.getOrLoad(params.item, async () => 12),
}));
app.post('/users/:name', async ({ ip, params }, reply) => {
  const limiter = new RateLimiter(redis, `users:${ip}`, { ...options, limit: 2, periodMs: 60_000 });
  const { isAllowed, retryAfterMs } = await limiter.take();
  if (!isAllowed)
    return reply
      .code(429)
      .header('Retry-After', Math.ceil(retryAfterMs / 1_000))
      .send();
  await mails.enqueue('welcome', { to: params.name });
  return reply.code(202).send();
});

await app.listen({ port: Number(process.env.PORT ?? 3000) });
console.log(`port ${app.server.address().port}`);
process.once('SIGTERM', () => app.close());
