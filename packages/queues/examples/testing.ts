/** A test of code that enqueues, and of its handler, on a real Redis: a prefix for each test, and no sleeps. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Queue, Worker } from '@mortise/queues';
import { Redis } from 'ioredis';

type Mail = { 'mail.welcome': { to: string } };

/** The code under test. */
const signUp = (queue: Queue<Mail>, to: string): Promise<{ id: string }> =>
  queue.enqueue('mail.welcome', { to }, { delayMs: 3_600_000 });
const handlersOf = (send: (to: string) => void) => ({
  'mail.welcome': async ({ to }: Mail['mail.welcome']) => send(to),
});

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const prefix = `test:${randomUUID()}`;
const queue = new Queue<Mail>(redis, 'mail', { prefix });

// The code has enqueued one task. No worker is needed to see it.
const { id } = await signUp(queue, 'ann@example.org');
const task = await queue.get(id);
assert.deepEqual(
  [task?.name, task?.payload, task?.state],
  ['mail.welcome', { to: 'ann@example.org' }, 'scheduled'],
);

// The handler runs: `promote` makes the task due now, and `result` waits for its end.
const sent: string[] = [];
const worker = new Worker<Mail>(
  redis,
  ['mail'],
  handlersOf((to) => sent.push(to)),
  { prefix },
);
await worker.start();
await queue.promote(id);
await queue.result(id, { waitMs: 5_000 });
assert.deepEqual(sent, ['ann@example.org']);
console.log('passed');

await worker.stop();
await queue.obliterate();
await redis.quit();

// Output:
// passed
