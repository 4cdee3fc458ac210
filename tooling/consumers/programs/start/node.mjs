import { Cache } from '@mortise/cache';
import { Mutex } from '@mortise/locks';
import { Queue, Worker } from '@mortise/queues';
import { Redis } from 'ioredis';

const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
const options = { prefix: 'start-node' }; // keeps applications apart in one Redis

// A task that fails once, and runs again.
const mails = new Queue(redis, 'mails', options);
const handlers = {
  welcome: async ({ to }, { attempt }) => {
    if (attempt === 1) throw new Error('the mail server is busy');
    return `mail to ${to}, attempt ${attempt}`;
  },
};
const worker = new Worker(redis, ['mails'], handlers, options);
await worker.start();
const { id } = await mails.enqueue('welcome', { to: 'ann@example.com' });
console.log(await mails.result(id));

// A task by cron. Every process may do this when it starts: the same schedule again changes nothing.
await mails.schedule('morning', { cron: '0 9 * * mon-fri' }, 'welcome', { to: 'staff@example.com' });
console.log('schedules', (await mails.schedules()).length);

// A value that one of all processes loads.
const prices = new Cache(redis, 'prices', { ...options, ttlMs: 60_000 });
console.log('price', await prices.getOrLoad('hammer', async () => 12));

// A section that runs in one of all processes at a time. Each holder has a greater fencing token than the one before.
const stock = new Mutex(redis, 'stock:hammer', options);
await stock.using(async (_signal, { fencingToken }) => console.log('counts the stock', fencingToken > 0));

await worker.stop();
await redis.quit();

// Output:
// mail to ann@example.com, attempt 2
// schedules 1
// price 12
// counts the stock true
