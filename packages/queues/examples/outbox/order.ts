import { readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { Queue, Worker } from '@mortise/queues';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { OutboxRelay } from './outbox-relay.js';

const database = { connectionString: process.env['DATABASE_URL'] ?? 'postgres://127.0.0.1:5432/postgres' };
const pool = new Pool(database);
pool.on('error', console.error); // of an unused connection that was lost
await pool.query(await readFile(new URL('outbox.sql', import.meta.url), 'utf8'));
await pool.query('create table orders (id text primary key, item text not null)');

/** Stores the order and the task of its mail: both after a commit, none after a rollback. */
async function placeOrder(id: string, item: string): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query(`insert into outbox (name, payload, options) values ('mail.ordered', $1, $2)`, [
      { id, item },
      { group: `order:${id}` },
    ]);
    await client.query('insert into orders (id, item) values ($1, $2)', [id, item]);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const relay = new OutboxRelay(database, new Queue(redis, 'mail', { prefix: 'example-outbox' }));
relay.start();

const mails: string[] = [];
const sendMail = async ({ id, item }: { id: string; item: string }): Promise<void> => {
  console.log(`mail: order ${id}, one ${item}`);
  mails.push(id);
};
const worker = new Worker(
  redis,
  ['mail'],
  { 'mail.ordered': sendMail },
  { prefix: 'example-outbox', concurrency: 1 },
);
await worker.start();

await placeOrder('1', 'sword');
while (mails.length < 1) await setTimeout(10);
await placeOrder('1', 'shield').catch((error: Error) => console.log(error.message));
await placeOrder('2', 'potion');
while (mails.length < 2) await setTimeout(10);

await relay.stop();
await worker.stop();

const { rows } = await pool.query('select count(*)::int as waiting from outbox');
console.log('waiting in the outbox:', rows[0].waiting);
await pool.end();
await redis.quit();

// Output:
// mail: order 1, one sword
// duplicate key value violates unique constraint "orders_pkey"
// mail: order 2, one potion
// waiting in the outbox: 0
