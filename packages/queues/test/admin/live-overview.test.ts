import { expect, test } from '@jest/globals';
import { Overviews, Queue } from '@mortise/queues';
import { LiveOverview } from '@mortise/queues/admin';
import type { LiveOverviewOptions, OverviewOfQueues } from '@mortise/queues/admin';
import { freshPrefix, until } from '@mortise/test-kit';
import { redis } from '../fixture/new-queue.js';

function live(options: LiveOverviewOptions = {}): {
  overview: LiveOverview;
  queueOf: (name: string) => Queue;
} {
  const prefix = freshPrefix();
  const names = (): Promise<string[]> => Queue.names(redis, { prefix });
  return {
    overview: new LiveOverview(new Overviews(redis, { prefix }), names, options),
    queueOf: (name) => new Queue(redis, name, { prefix }),
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

test.each([{ limit: 0 }, { limit: 1_001 }, { everyMs: 99 }, { most: 1 }])(
  'the options %j are refused',
  (options) => {
    expect(() => live(options as object)).toThrow(/limit|everyMs|most/);
  },
);
