/** A payment is booked once, though its task runs twice: the row and the id of the task are one transaction. */
import { Queue, Worker } from '@mortise/queues';
import type { Handlers } from '@mortise/queues';
import { Redis } from 'ioredis';
import Database from 'libsql';

type Payments = { 'payment.book': { account: string; cents: number } };

const db = new Database(':memory:');
db.exec(`create table accounts (name text primary key, cents integer not null);
  create table tasks_done (id text primary key, done_at text not null default current_timestamp);
  insert into accounts values ('ann', 0)`);
const markDone = db.prepare('insert into tasks_done (id) values (?) on conflict do nothing');
const add = db.prepare('update accounts set cents = cents + ? where name = ?');

/** Whether this call booked the payment: not if an earlier attempt did. */
const book = db.transaction((taskId: string, account: string, cents: number): boolean => {
  if (markDone.run(taskId).changes === 0) return false;
  add.run(cents, account);
  return true;
});

const handlers: Handlers<Payments> = {
  'payment.book': ({ account, cents }, { id, attempt }) => {
    console.log(`attempt ${attempt} books:`, book(id, account, cents));
    // The row is committed, but the worker fails before its ack.
    if (attempt === 1) throw new Error('the process ran out of memory');
  },
};

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const queue = new Queue<Payments>(redis, 'payments', { prefix: 'example' });
const options = { prefix: 'example', backoff: { delayMs: 10 } };
const worker = new Worker<Payments>(redis, ['payments'], handlers, options);
await worker.start();
const { id } = await queue.enqueue('payment.book', { account: 'ann', cents: 500 });
await queue.result(id);
console.log(db.prepare('select cents from accounts').all());

await worker.stop();
db.close();
await redis.quit();

// Output:
// attempt 1 books: true
// attempt 2 books: false
// [ { cents: 500 } ]
