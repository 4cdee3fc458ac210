/**
 * A relay in a process of its own, for tests that end it or stop it in the middle. Each call to PostgreSQL and to Redis has two
 * moments: when it is under way, and when its reply is there and the next one has not been sent. At moment `at` of all,
 * counted from 1, the process sends `signal` to itself. It says "idle" when it has found nothing more to move.
 */
import { setImmediate } from 'node:timers/promises';
import { Queue } from '@mortise/queues';
import { Redis } from 'ioredis';
import pg from 'pg';

const { relay, database, redis, queue, prefix, options, at, signal } = JSON.parse(process.argv[2]);
const { OutboxRelay } = await import(relay);

let moments = 0;
const moment = () => {
  moments += 1;
  if (moments === at) process.kill(process.pid, signal);
};

async function inTwo(call) {
  const reply = call();
  reply.catch(() => {});
  await setImmediate();
  moment();
  const result = await reply;
  moment();
  return result;
}

// oxlint-disable-next-line typescript/unbound-method -- called with the client as this
const { query } = pg.Client.prototype;
let lanes = 0;
pg.Client.prototype.query = async function (...args) {
  const result = await inTwo(() => query.apply(this, args));
  if (String(args[0]).includes('skip locked')) lanes = result.rows.length;
  if (args[0] === 'commit' && lanes === 0) process.send({ type: 'idle', moments });
  return result;
};

const tasks = new Queue(new Redis(redis), queue, { prefix });
const observed = { enqueueMany: (many) => inTwo(() => tasks.enqueueMany(many)) };
const onError = (error) => process.send({ type: 'error', message: error.message });
new OutboxRelay({ connectionString: database }, observed, { ...options, onError }).start();
