import { Queue, Worker } from '@mortise/queues';
import { welcome } from './mails.mjs';

const url = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379';
const mails = new Queue(url, 'mails');
const worker = new Worker(url, ['mails'], { welcome });
await worker.start();

const { id } = await mails.enqueue('welcome', { to: 'ann@example.com' });
console.log(await mails.result(id));

// A task at nine on each weekday. Storing the same schedule again changes nothing.
await mails.schedule('morning', { cron: '0 9 * * mon-fri' }, 'welcome', { to: 'staff@example.com' });
console.log('schedules', (await mails.schedules()).length);

await worker.stop();
await mails.close();

// Output:
// mail to ann@example.com, attempt 2
// schedules 1
