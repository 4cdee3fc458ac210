import { expect, test } from '@jest/globals';
import { Overviews, Queue } from '@mortise/queues';
import { LiveOverview } from '@mortise/queues/admin';
import type { LiveOverviewOptions, OverviewOfQueues } from '@mortise/queues/admin';
import { freshPrefix, until } from '@mortise/test-kit';
import { launch } from '../fixture/launch.js';
import { redis } from '../fixture/new-queue.js';

function live(options: LiveOverviewOptions = {}): {
  overview: LiveOverview;
  queueOf: (name: string) => Queue;
  prefix: string;
} {
  const prefix = freshPrefix();
  const names = (): Promise<string[]> => Queue.names(redis, { prefix });
  return {
    overview: new LiveOverview(new Overviews(redis, { prefix }), names, options),
    queueOf: (name) => new Queue(redis, name, { prefix }),
    prefix,
  };
}

test('it has the first queues, the number of all, and the age of the next task', async () => {
  const { overview, queueOf } = live({ limit: 2 });
  for (const name of ['c', 'a', 'b'])
    await queueOf(name).enqueue('t', 1, { delayMs: name === 'a' ? 60_000 : 0 });
  const { at, total, queues } = await overview.read();
  expect(Math.abs(Date.now() - at)).toBeLessThan(60_000);
  expect([total, queues.map(({ name }) => name)]).toEqual([3, ['a', 'b']]);
  expect(queues[0]).toMatchObject({ counts: { scheduled: 1, ready: 0 }, headAgeMs: null, isPaused: false });
  expect(queues[1]).toMatchObject({ counts: { ready: 1 }, headAgeMs: expect.any(Number) });
});

test('its sums have more queues than its list, and say how many', async () => {
  const { overview, queueOf } = live({ limit: 1, countLimit: 3, workers: async () => 7 });
  for (const name of ['a', 'b', 'c', 'd']) await queueOf(name).enqueue('t', 1);
  await queueOf('c').pause();
  const { queues, counted, total, sums, workers } = await overview.read();
  expect([queues.length, counted, total, workers]).toEqual([1, 3, 4, 7]);
  expect(sums).toEqual({
    counts: expect.objectContaining({ ready: 3, dead: 0 }),
    perSecond: { succeeded: 0, dead: 0 },
    paused: 1,
    oldest: { name: 'a', headAgeMs: expect.any(Number) },
    deadliest: null,
  });
});

test('its sums name the queue with the most dead tasks, and have the ends of each second', async () => {
  const { overview, queueOf, prefix } = live();
  const handlers = { ok: () => 1, fail: () => Promise.reject(new Error('no')) };
  await launch(redis, ['a', 'b'], handlers, { prefix });
  for (const id of ['1', '2', '3']) await queueOf('b').enqueue('fail', id, { attempts: 1 });
  await queueOf('a').enqueue('fail', 1, { attempts: 1 });
  for (const id of ['4', '5']) await queueOf('a').enqueue('ok', id);
  await until('the ends', async () => {
    const { counts } = (await overview.read()).sums;
    return counts.dead === 4 && counts.succeeded === 2;
  });
  const { sums, workers } = await overview.read();
  expect([sums.deadliest, sums.oldest, workers]).toEqual([{ name: 'b', dead: 3 }, null, null]);
  expect(sums.perSecond).toEqual({ succeeded: 0.2, dead: 0.4 });
});

test('followers get the overview of now and each change, until their signal', async () => {
  const { overview, queueOf } = live({ everyMs: 100 });
  await queueOf('a').enqueue('t', 1, { delayMs: 60_000 });
  const controller = new AbortController();
  const seen: OverviewOfQueues[] = [];
  const reading = (async () => {
    for await (const value of overview.follow(controller.signal)) seen.push(value);
  })();
  await until('the first overview', () => seen.length === 1);
  expect([overview.isFollowed, seen[0]!.queues[0]!.counts.scheduled]).toEqual([true, 1]);
  await queueOf('a').enqueue('t', 1, { delayMs: 60_000 });
  await until('the change', () => seen.length === 2);
  expect(seen[1]!.queues[0]!.counts.scheduled).toBe(2);
  controller.abort();
  await reading;
  expect(overview.isFollowed).toBe(false);
});

test.each([{ limit: 0 }, { limit: 1_001 }, { countLimit: 99 }, { workers: 1 }, { everyMs: 99 }, { most: 1 }])(
  'the options %j are refused',
  (options) => {
    expect(() => live(options as object)).toThrow(/limit|countLimit|workers|everyMs|most/);
  },
);
