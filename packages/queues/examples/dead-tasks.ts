/** A worker reports dead tasks; an operator mends the cause and retries them. */
import { Queue, Worker } from '@mortise/queues';
import { Redis } from 'ioredis';

type Mail = { 'mail.send': { to: string } };

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const queue = new Queue<Mail>(redis, 'dead', { prefix: 'example' });
let isMailServerUp = false;
const handlers = {
  'mail.send': async ({ to }: Mail['mail.send']) => {
    if (!isMailServerUp) throw new Error('the mail server refuses');
    console.log('sent to', to);
  },
};
const worker = new Worker<Mail>(redis, ['dead'], handlers, {
  prefix: 'example',
  backoff: { delayMs: 10 },
  onFailed: ({ name, attempt }, error, { isFinal }) => {
    if (isFinal) console.log(`alert: ${name} is dead after attempt ${attempt}:`, String(error));
  },
});
await worker.start();

await queue.enqueue('mail.send', { to: 'ann' }, { attempts: 2 });
await queue.idle();
const { tasks } = await queue.list('dead');
for (const { name, payload, error } of tasks) console.log('dead:', name, payload, error?.message);

isMailServerUp = true;
console.log('retried:', await queue.retryAll({ name: 'mail.send' }));
await queue.idle();
console.log('dead now:', (await queue.counts()).dead);
await worker.stop();
await redis.quit();

// Output:
// alert: mail.send is dead after attempt 2: Error: the mail server refuses
// dead: mail.send { to: 'ann' } the mail server refuses
// retried: 1
// sent to ann
// dead now: 0
