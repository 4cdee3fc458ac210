import { describe, expect, test } from '@jest/globals';
import { freshPrefix } from '@mortise/test-kit';
import { connectNodeRedis, NODE_REDIS_MAJORS } from '@mortise/test-kit/node-redis';
import { Queue, Worker } from '../../src/index.js';
import { fromNodeRedis } from '../../src/node-redis/index.js';

type Tasks = { double: { value: number; text: string } };

describe.each(NODE_REDIS_MAJORS)('node-redis %s', (major) => {
  test('tasks travel from a producer to a worker, and results back', async () => {
    const prefix = freshPrefix();
    const [producer, consumer] = await Promise.all([connectNodeRedis(major), connectNodeRedis(major)]);
    const queue = new Queue<Tasks>(fromNodeRedis(producer), 'numbers', { prefix });
    await using worker = new Worker<Tasks>(
      fromNodeRedis(consumer),
      ['numbers'],
      { double: ({ value, text }) => ({ value: 2 * value, text }) },
      { prefix, concurrency: 5 },
    );
    await worker.start();
    const payloads = Array.from({ length: 20 }, (_, value) => ({ value, text: 'grün ß' }));
    const ids = await Promise.all(
      payloads.map(async (payload) => (await queue.enqueue('double', payload)).id),
    );
    const results = await Promise.all(ids.map((id) => queue.result(id, { waitMs: 30_000 })));
    expect(results).toEqual(payloads.map(({ value, text }) => ({ value: 2 * value, text })));
    expect(await queue.counts()).toMatchObject({ ready: 0, active: 0 });
  });
});
