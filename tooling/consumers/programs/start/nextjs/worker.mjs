import { Queue, Worker } from '@mortise/queues';
import { welcome } from './lib/mails.mjs';
import { redis } from './lib/redis.mjs';

await new Worker(redis, ['mails'], { welcome }).start();
// A task at nine on each weekday. Storing the same schedule again changes nothing.
await new Queue(redis, 'mails').schedule('morning', { cron: '0 9 * * mon-fri' }, 'welcome', { to: 'staff' });
