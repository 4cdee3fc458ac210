/** Worker processes that are killed around each wait of one task, while events come before, during and after the waits. */
import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { keys, newScene, prefix } from '../fixture/faults.js';
import { startProcess } from '../fixture/processes.js';
import { until } from '../fixture/until.js';

const COUNT = 12;

test('each of many events is taken once, in the order of the deliveries', async () => {
  const { single, redis, queue } = await newScene();
  const { id } = await queue.enqueue('waits', { count: COUNT }, { attempts: 1_000 });
  const state = async (): Promise<string> => (await queue.get(id))!.state;
  const start = () => startProcess(single.url, 'q', { prefix, leaseMs: 60_000 }, 'waits-process.mjs').child;
  let deaths = 0;
  let child = start();

  const deliver = async (): Promise<void> => {
    for (let n = 0; n < COUNT; n += 1) {
      if (n % 3 === 1) await until(async () => (await queue.get(id))!.waitsFor === 'e');
      if (n % 3 === 2) await until(async () => (await state()) === 'active');
      // Sent twice, as after a lost reply.
      for (let sent = 0; sent < 2; sent += 1) await queue.deliver(id, 'e', n, { id: `delivery ${n}` });
    }
  };
  const work = async (): Promise<void> => {
    for (;;) {
      await once(child, 'exit');
      if ((await state()) === 'succeeded') return;
      deaths += 1;
      // As if the lease had ended meanwhile.
      for (const member of await redis.zrangeBuffer(keys.of.active, '0', '-1')) {
        await redis.zadd(keys.of.active, 'XX', 0, member);
      }
      child = start();
    }
  };
  const ended = queue.result<number[]>(id, { waitMs: 480_000 }).finally(() => child.kill('SIGKILL'));
  await Promise.all([deliver(), work()]);
  expect(await ended).toEqual(Array.from({ length: COUNT }, (_, n) => n));
  expect(deaths).toBeGreaterThanOrEqual(2 * COUNT);
  const { steps } = (await queue.get(id))!;
  expect(steps!.map(({ name }) => name)).toEqual(Array.from({ length: COUNT }, (_, n) => `wait ${n + 1} e`));
}, 500_000);
