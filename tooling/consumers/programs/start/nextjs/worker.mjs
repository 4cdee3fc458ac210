import { Worker } from '@mortise/queues';
import { Redis } from 'ioredis';

const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
const handlers = { welcome: async ({ to }) => console.log(`mail to ${to}`) };
const worker = new Worker(redis, ['mails'], handlers, { prefix: 'start-nextjs' });
await worker.start();
process.once('SIGTERM', async () => {
  await worker.stop();
  await redis.quit();
});
