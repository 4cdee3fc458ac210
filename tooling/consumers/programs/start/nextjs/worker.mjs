import { Refresher } from '@mortise/cache/rows';
import { Worker } from '@mortise/queues';
import { welcome } from './lib/mails.mjs';
import { mortise, options } from './lib/mortise.mjs';

const { redis, mails, items } = mortise;
const worker = new Worker(redis, ['mails'], { welcome }, options);
const refresher = new Refresher(redis, [items]);
await mails.schedule('morning', { cron: '0 9 * * mon-fri' }, 'welcome', { to: 'staff' });
await items.schedule('42', { everyMs: 1_000 });
await Promise.all([worker.start(), refresher.start()]);

process.once('SIGTERM', async () => {
  await Promise.all([worker.stop(), refresher.stop()]);
  await redis.quit();
});
