import { Queue, Worker } from '@mortise/queues';
import { BulkOperations, cutJson, findTasks, Redactor, taskTimes } from '@mortise/queues/admin';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const queue = new Queue(redis, 'dashboard', { prefix: 'example' });
const operations = new BulkOperations(redis, { prefix: 'example' });
const redactor = new Redactor(['password', 'token']);

await queue.drain();
// A queue begins to store events when somebody reads them for the first time.
await queue.lastEvents();
await queue.enqueue('welcome', { user: { name: 'anna' }, password: 'hunter2' });
await queue.enqueue('welcome', { user: { name: 'anna' }, text: 'x'.repeat(10_000) });
await queue.enqueue('welcome', { user: { name: 'bob' } });

// A page of the tasks of anna: without secrets, and with long payloads cut.
const filter = { field: 'user.name', equals: 'anna' };
if (redactor.hides(filter.field, filter.equals)) throw new Error('a search by a secret would reveal it');
const { tasks, cursor } = await findTasks(queue, 'ready', filter, { limit: 50 });
for (const { payload } of tasks) {
  const { value, text, bytes } = cutJson(redactor.redact(payload), 100);
  console.log(text === undefined ? value : `${text.slice(0, 33)}… (${bytes} bytes)`);
}
console.log('more:', cursor !== null);

// An action on all of them. Any process can follow its progress.
const { id } = await operations.start(queue, { action: 'remove', state: 'ready', ...filter });
for await (const { status, changed } of operations.follow(id)) {
  if (status !== 'running') console.log(status, changed);
}

// How long tasks wait and run.
const worker = new Worker(redis, ['dashboard'], { welcome: () => 'sent' }, { prefix: 'example' });
await worker.start();
await queue.idle();
const { count, wait, run } = taskTimes(await queue.lastEvents());
console.log('runs:', count > 0, 'p95 of wait and run, ms:', typeof wait?.p95, typeof run?.p95);

await worker.stop();
await operations.stop();
redis.disconnect();

// Output:
// { user: { name: 'anna' }, password: '[redacted]' }
// {"user":{"name":"anna"},"text":"x… (10034 bytes)
// more: false
// completed 2
// runs: true p95 of wait and run, ms: number number
