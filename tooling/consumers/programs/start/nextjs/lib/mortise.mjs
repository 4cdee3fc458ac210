import { AddressBook } from '@mortise/autocomplete';
import { RowCache } from '@mortise/cache/rows';
import { Chats } from '@mortise/messaging';
import { Queue } from '@mortise/queues';
import { Redis } from 'ioredis';
import { load } from './items.mjs';

export const options = { prefix: 'start-nextjs' };

function connect() {
  const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
  return {
    redis,
    mails: new Queue(redis, 'mails', options),
    chats: new Chats(redis, options),
    staff: new AddressBook(redis, 'staff', options),
    items: new RowCache(redis, 'items', { ...options, load }),
  };
}

// `next dev` loads this module again after each change: keep one connection.
export const mortise = (globalThis.mortise ??= connect());
