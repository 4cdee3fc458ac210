/**
 * Works on flows, and enqueues some, in a process of its own, on the built package, for tests that kill it. One argument of JSON says
 * what to do. The next flow is in Redis, and moves on when a flow is accepted.
 */
import { Queue, Worker } from '@mortise/queues';
import { Redis } from 'ioredis';

const { url, queue: name, options } = JSON.parse(process.argv[2]);
const { flows, width, ...rest } = options;
const { prefix } = options;
const redis = new Redis(url);

const sum = async (_, context) => {
  const children = await context.children();
  return children.reduce((total, { result }) => total + result, 0);
};
const count = async (payload, { id }) => {
  await redis.hincrby(`${prefix}:runs`, id, 1);
  return payload;
};
const worker = new Worker(redis, [name, 'other'], { sum, count }, { ...rest, onError: () => undefined });
await worker.start();

const queue = new Queue(redis, name, { prefix });
const leaves = (queueName) =>
  Array.from({ length: width }, () => ({
    queue: queueName,
    name: 'count',
    payload: 1,
    options: { attempts: 50 },
  }));
for (;;) {
  const next = Number((await redis.get(`${prefix}:next`)) ?? 0);
  if (next >= flows) break;
  await queue.enqueueFlow({
    name: 'sum',
    payload: next,
    options: { id: `flow ${next}`, attempts: 50 },
    children: [
      ...leaves(name),
      { queue: 'other', name: 'sum', payload: next, options: { attempts: 50 }, children: leaves('other') },
    ],
  });
  await redis.set(`${prefix}:next`, next + 1);
}
