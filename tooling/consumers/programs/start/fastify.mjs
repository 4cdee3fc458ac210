import { Cache } from '@mortise/cache';
import { limitRequests } from '@mortise/locks/fastify';
import { Queue, Worker } from '@mortise/queues';
import Fastify from 'fastify';
import { Redis } from 'ioredis';

const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
const prices = new Cache(redis, 'prices', { ttlMs: 60_000 });
const mails = new Queue(redis, 'mails');
const worker = new Worker(redis, ['mails'], { welcome: ({ to }) => console.log(`mail to ${to}`) });

const app = Fastify();
app.addHook('onReady', () => worker.start());
app.addHook('onClose', () => worker.stop().then(() => redis.quit())); // waits for running tasks
app.get('/prices/:item', async ({ params }) => ({
  price: await prices.getOrLoad(params.item, async () => 12),
}));
const onRequest = limitRequests(redis, 'users', { limit: 2, periodMs: 60_000 });
app.post('/users/:name', { onRequest }, async ({ params }, reply) => {
  await mails.enqueue('welcome', { to: params.name });
  return reply.code(202).send();
});

await app.listen({ port: Number(process.env.PORT ?? 3000) });
console.log(`port ${app.server.address().port}`);
process.once('SIGTERM', () => app.close());
