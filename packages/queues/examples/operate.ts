import { Queue } from '@mortise/queues';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const queue = new Queue<{ 'mail.sold': { itemId: string } }>(redis, 'operate', { prefix: 'example' });

await queue.drain({ scheduled: true });
await queue.clean('cancelled');
for (const itemId of ['41', '42', '43']) {
  await queue.enqueue('mail.sold', { itemId }, { id: `sold ${itemId}`, delayMs: 60_000 });
}

// One by its id: it is not run, and stays to be looked at.
console.log('cancelled:', await queue.cancel('sold 42', { reason: 'the buyer withdrew' }));
console.log('why:', (await queue.get('sold 42'))?.error?.message);
console.log('promoted:', await queue.promote('sold 41'));

// All tasks, page by page.
let cursor: string | null = null;
do {
  const page = await queue.list('scheduled', { cursor, limit: 50 });
  for (const { id, payload } of page.tasks) console.log('scheduled:', id, payload);
  cursor = page.cursor;
} while (cursor !== null);

console.log('retried:', await queue.retryAll({ state: 'cancelled' }));
const { ready, scheduled, cancelled } = await queue.counts();
console.log({ ready, scheduled, cancelled });
console.log('drained:', await queue.drain({ scheduled: true }));
redis.disconnect();

// Output:
// cancelled: true
// why: the buyer withdrew
// promoted: true
// scheduled: sold 43 { itemId: '43' }
// retried: 1
// { ready: 2, scheduled: 1, cancelled: 0 }
// drained: 3
