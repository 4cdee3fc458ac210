import { Cache } from '@mortise/cache';
import { Queue } from '@mortise/queues';
import { Redis } from 'ioredis';

const options = { prefix: 'start-nextjs' };

function connect() {
  const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
  return {
    redis,
    options,
    prices: new Cache(redis, 'prices', { ...options, ttlMs: 60_000 }),
    mails: new Queue(redis, 'mails', options),
  };
}

// `next dev` loads this module again after each change: keep one connection.
export const mortise = (globalThis.mortise ??= connect());
