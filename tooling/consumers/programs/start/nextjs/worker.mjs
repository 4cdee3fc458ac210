import { Queue, Worker } from '@mortise/queues';
import { welcome } from './lib/mails.mjs';
import { redis } from './lib/redis.mjs';

const worker = new Worker(redis, ['mails'], { welcome });
await worker.start();
await new Queue(redis, 'mails').schedule('morning', { cron: '0 9 * * mon-fri' }, 'welcome', { to: 'staff' });

process.once('SIGTERM', async () => {
  await worker.stop(); // waits for running tasks
  await redis.quit();
});
