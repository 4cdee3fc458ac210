import { describe, expect, test } from '@jest/globals';
import type { QueueEvent } from '@mortise/queues';
import { gate } from '@mortise/test-kit';
import { connectTo, keys, newProxied, newScene, prefix, queueOn } from '../fixture/faults.js';
import { launch } from '../fixture/launch.js';
import { counted, until } from '../fixture/until.js';

describe('result', () => {
  test('survives a connection that is cut while the task ends, and a server that is away', async () => {
    const { redis, queue, proxy } = await newProxied();
    const away = connectTo(proxy, { maxRetriesPerRequest: null });
    const opened = gate();
    await launch(redis, 'q', { t: async (payload) => (await opened.passed, payload) }, { prefix });
    const tasks = Array.from({ length: 20 }, (_, payload) => ({ name: 't', payload }));
    const ids = (await queue.enqueueMany(tasks)).map(({ id }) => id);
    const results = ids.map((id) => queueOn(away).result(id));
    await until(async () => (await redis.zcard(keys.of.awaited)) === 20);
    proxy.refuse();
    opened.open();
    await counted(queue, { succeeded: 20 });
    await proxy.restore();
    expect(await Promise.all(results)).toEqual(tasks.map(({ payload }) => payload));
  });

  test('while Redis is away it ends at its deadline, and tells why', async () => {
    const { proxy } = await newProxied();
    const away = connectTo(proxy, { maxRetriesPerRequest: null });
    const queue = queueOn(away);
    const { id } = await queue.enqueue('t', 1);
    const waiting = queue.result(id, { waitMs: 1_000 });
    await until(async () => (await away.zcard(keys.of.awaited)) === 1);
    proxy.refuse();
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_RESULT_TIMEOUT' });
    await expect(queue.result(id, { waitMs: 100 })).rejects.toMatchObject({ code: 'ERR_RESULT_TIMEOUT' });
    const controller = new AbortController();
    const aborted = queue.result(id, { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
  });

  test('a client that is closed ends its waits', async () => {
    const { single, redis } = await newScene();
    const closing = connectTo(single);
    const queue = queueOn(closing);
    const { id } = await queue.enqueue('t', 1);
    const waiting = queue.result(id);
    await until(async () => (await redis.zcard(keys.of.awaited)) === 1);
    closing.disconnect();
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
  });
});

describe('events', () => {
  test('a reader whose connection is cut again and again misses nothing', async () => {
    const { queue, proxy } = await newProxied();
    const shaky = queueOn(connectTo(proxy, { maxRetriesPerRequest: null }));
    await queue.configure({ keepEvents: 10_000 });
    const seen: QueueEvent[] = [];
    const reading = (async () => {
      for await (const event of shaky.events({ after: 'oldest' })) {
        seen.push(event);
        if (seen.length === 2_000) return;
      }
    })();
    const cutting = setInterval(() => proxy.cut(), 20);
    try {
      for (let n = 0; n < 200; n += 1) {
        const options = (index: number) => ({ id: `${n}.${index}` });
        await queue.enqueueMany(
          Array.from({ length: 10 }, (_, index) => ({ name: 't', payload: 0, options: options(index) })),
        );
      }
      await until(() => seen.length > 500);
    } finally {
      clearInterval(cutting);
    }
    await reading;
    expect(seen.map(({ id }) => id)).toEqual(
      Array.from({ length: 2_000 }, (_, n) => `${Math.floor(n / 10)}.${n % 10}`),
    );
  });
});
