/** A test of code that enqueues, of its handler and of a schedule, without a server and without waiting. */
import assert from 'node:assert/strict';
import { Queue } from '@mortise/queues';
import { enqueuedTasks, TestQueues } from '@mortise/queues/testing';

type Mail = { 'mail.welcome': { to: string }; 'mail.report': null };

/** The code under test. */
const signUp = (queue: Queue<Mail>, to: string): Promise<{ id: string }> =>
  queue.enqueue('mail.welcome', { to }, { delayMs: 3_600_000 });
const handlersOf = (send: (to: string) => void) => ({
  'mail.welcome': async ({ to }: Mail['mail.welcome']) => send(to),
  'mail.report': async () => send('the boss'),
});

const queues = new TestQueues({ startAt: Date.UTC(2030, 0, 1) });
const mail = new Queue<Mail>(queues.redis, 'mail');
const sent: string[] = [];
const handlers = handlersOf((to) => sent.push(to));

// The code has enqueued one task, which is due in an hour.
await signUp(mail, 'ann@example.org');
assert.deepEqual(
  (await enqueuedTasks(mail, 'mail.welcome')).map(({ payload }) => payload),
  [{ to: 'ann@example.org' }],
);
assert.deepEqual(await queues.drain('mail', handlers), []);

// An hour later it runs. `drain` runs the due tasks with the real worker, and returns their attempts.
await queues.clock.advance('1h');
const [attempt] = await queues.drain('mail', handlers);
assert.equal(attempt?.name, 'mail.welcome');
assert.deepEqual(sent, ['ann@example.org']);

// The clock is at one. Eight hours later the schedule is due.
await mail.schedule('report', { cron: '0 9 * * *', timezone: 'UTC' }, 'mail.report', null);
await queues.clock.advance('8h');
await queues.drain('mail', handlers);
assert.deepEqual(sent, ['ann@example.org', 'the boss']);
console.log('passed at', new Date().toISOString());

await queues.close();

// Output:
// passed at 2030-01-01T09:00:00.000Z
