import { Cache } from '@mortise/cache';
import { Mutex } from '@mortise/locks';
import { Queue } from '@mortise/queues';
import { Redis } from 'ioredis';

// Outside the handler: one connection for all calls of this instance.
const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379', { commandTimeout: 2_000 });
const prices = new Cache(redis, 'prices', { ttlMs: 60_000, leaseMs: 3_000 });
const mails = new Queue(redis, 'mails');

export const handler = async ({ pathParameters: { item } }) => {
  const order = new Mutex(redis, `order:${item}`, { leaseMs: 10_000 });
  return order.using(
    async () => {
      const price = await prices.getOrLoad(item, async () => 12);
      const { id } = await mails.enqueue('sold', { item, price });
      return { statusCode: 202, body: JSON.stringify({ price, task: id }) };
    },
    { waitMs: 2_000 },
  );
};
