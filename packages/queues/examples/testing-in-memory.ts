/** A test of tasks with a delay and with a schedule, without a server and without waiting. */
import assert from 'node:assert/strict';
import { Queue } from '@mortise/queues';
import { enqueuedTasks, TestQueues } from '@mortise/queues/testing';

const queues = new TestQueues({ startAt: Date.UTC(2030, 0, 1) });
const mail = new Queue(queues.redis, 'mail');
const sent: string[] = [];
const handlers = { welcome: async ({ to }: { to: string }) => void sent.push(to) };

// Your code enqueues a task, which is due in an hour.
await mail.enqueue('welcome', { to: 'ann' }, { delayMs: 3_600_000 });
assert.equal((await enqueuedTasks(mail, 'welcome')).length, 1);
assert.deepEqual(await queues.drain('mail', handlers), []);

// An hour later it runs. `drain` runs the due tasks with the real worker, and returns their attempts.
await queues.clock.advance('1h');
const [attempt] = await queues.drain('mail', handlers);
assert.equal(attempt?.name, 'welcome');

// The clock is at one. Eight hours later the schedule is due.
await mail.schedule('morning', { cron: '0 9 * * *', timezone: 'UTC' }, 'welcome', { to: 'staff' });
await queues.clock.advance('8h');
await queues.drain('mail', handlers);
console.log(sent, 'at', new Date().toISOString());
await queues.close();

// Output:
// [ 'ann', 'staff' ] at 2030-01-01T09:00:00.000Z
