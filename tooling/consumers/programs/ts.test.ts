/** The same program for ts-jest and, with another import, for vitest. */
import { expect, test } from '@jest/globals';
import { Mutex } from '@mortise/locks';
import { QuorumMutex } from '@mortise/locks/quorum';
import { Queue } from '@mortise/queues';
import { Redis } from 'ioredis';

test('classes are loaded and created', () => {
  const redis = new Redis({ lazyConnect: true });
  const queue = new Queue<{ 'mail.sold': { price: number } }>(redis, 'mail');
  expect(queue.name).toBe('mail');
  expect(new Mutex(redis, 'a')).toBeInstanceOf(Mutex);
  expect(typeof QuorumMutex).toBe('function');
  redis.disconnect();
});
