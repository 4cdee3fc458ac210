import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { Queue, Worker } from '@mortise/queues';
import { Redis } from 'ioredis';

test('a mail that fails is sent again', async () => {
  const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
  const options = { prefix: `test:${randomUUID()}` };
  const mails = new Queue(redis, 'mails', options);
  const attempts = [];
  const welcome = async (_payload, { attempt }) => {
    attempts.push(attempt);
    if (attempt === 1) throw new Error('the mail server is busy');
  };
  const worker = new Worker(redis, ['mails'], { welcome }, { ...options, backoff: { delayMs: 1 } });
  await worker.start();
  const { id } = await mails.enqueue('welcome', { to: 'ann@example.com' });
  await mails.result(id);
  assert.deepEqual(attempts, [1, 2]);
  await worker.stop();
  await mails.obliterate();
  await redis.quit();
});
