import { Queue, Worker } from '@mortise/queues';
import { Redis } from 'ioredis';

const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
const options = { prefix: 'start-node' }; // keeps applications apart in one Redis
const mails = new Queue(redis, 'mails', options);

// A task that fails once, and runs again.
const welcome = async ({ to }, { attempt }) => {
  if (attempt === 1) throw new Error('the mail server is busy');
  return `mail to ${to}, attempt ${attempt}`;
};
const worker = new Worker(redis, ['mails'], { welcome }, options);
await worker.start();
const { id } = await mails.enqueue('welcome', { to: 'ann@example.com' });
console.log(await mails.result(id));

// A task by cron. Every process may do this when it starts: the same schedule again changes nothing.
await mails.schedule('morning', { cron: '0 9 * * mon-fri' }, 'welcome', { to: 'staff@example.com' });
console.log('schedules', (await mails.schedules()).length);

await worker.stop();
await redis.quit();

// Output:
// mail to ann@example.com, attempt 2
// schedules 1
