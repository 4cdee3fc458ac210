/** Worker processes that are killed at each step of one task. */
import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { keys, newScene, prefix } from '../fixture/faults.js';
import { startProcess } from '../fixture/processes.js';

/** Starts worker after worker until the task has ended; resolves to the number of those that died. */
async function workUntilEnd(payload: { count: number; isInside: boolean }) {
  const { single, redis, queue } = await newScene();
  const { id } = await queue.enqueue('steps', payload, { attempts: 1_000 });
  let deaths = 0;
  const start = () => startProcess(single.url, 'q', { prefix, leaseMs: 60_000 }, 'steps-process.mjs').child;
  let child = start();
  const ended = queue.result<number>(id, { waitMs: 480_000 }).finally(() => child.kill('SIGKILL'));
  for (;;) {
    await once(child, 'exit');
    const { state } = (await queue.get(id))!;
    if (state === 'succeeded') break;
    deaths += 1;
    // As if the lease had ended meanwhile.
    for (const member of await redis.zrangeBuffer(keys.of.active, '0', '-1')) {
      await redis.zadd(keys.of.active, 'XX', 0, member);
    }
    child = start();
  }
  const runs = await redis.hgetall(`${prefix}:runs`);
  return { sum: await ended, deaths, runs: Object.values(runs), task: (await queue.get(id))! };
}

test('a task of 100 steps, killed after each of them, runs each once', async () => {
  const count = 100;
  const { sum, deaths, runs, task } = await workUntilEnd({ count, isInside: false });
  expect({ sum, deaths }).toEqual({ sum: (count * (count - 1)) / 2, deaths: count });
  expect(runs).toEqual(Array.from({ length: count }, () => '1'));
  expect(task.steps?.map(({ name }) => name)).toEqual(Array.from({ length: count }, (_, n) => `step ${n}`));
}, 500_000);

test('a step that is killed before its result is stored runs again, and no other does', async () => {
  const count = 5;
  const { deaths, runs } = await workUntilEnd({ count, isInside: true });
  expect([deaths, runs]).toEqual([count, Array.from({ length: count }, () => '2')]);
});
