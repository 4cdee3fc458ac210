import { expect, test } from '@jest/globals';
import { Overviews, Queue } from '@mortise/queues';
import type { QueuePage } from '@mortise/queues/admin';
import { queuePage } from '@mortise/queues/admin';
import { freshPrefix } from '@mortise/test-kit';
import { redis } from '../fixture/new-queue.js';

const overviews = new Overviews(redis, { prefix: freshPrefix() });

/** All pages. */
async function pagesOf(names: readonly string[], limit: number): Promise<QueuePage[]> {
  const pages = [await queuePage(overviews, names, { limit })];
  for (let cursor = pages[0]!.nextCursor; cursor !== null; cursor = pages.at(-1)!.nextCursor)
    pages.push(await queuePage(overviews, names, { limit, cursor }));
  return pages;
}

const namesOf = (pages: readonly QueuePage[]): string[] =>
  pages.flatMap(({ items }) => items.map(({ name }) => name));

test('the pages have each queue once, in order, whatever its name', async () => {
  const names = ['a', 'b', 'b\u0000', 'b/c%', 'caf\u00e9', '\ud800', '\ud83d\ude00', '\uffff'].toSorted(
    (a, b) => (a < b ? -1 : 1),
  );
  const pages = await pagesOf(names, 3);
  expect([pages.length, namesOf(pages)]).toEqual([3, names]);
});

test('a page has the numbers of its queues', async () => {
  const prefix = freshPrefix();
  const queue = new Queue(redis, 'q', { prefix });
  await queue.enqueue('t', 1);
  await queue.pause();
  const { items, nextCursor } = await queuePage(new Overviews(redis, { prefix }), ['q']);
  expect([items[0], nextCursor]).toEqual([
    {
      name: 'q',
      counts: expect.objectContaining({ ready: 1 }),
      headAgeMs: expect.any(Number),
      isPaused: true,
    },
    null,
  ]);
});

test('a queue that goes or comes before the cursor shifts no other one', async () => {
  const { nextCursor } = await queuePage(overviews, ['b', 'c', 'd'], { limit: 2 });
  const next = await queuePage(overviews, ['a', 'aa', 'b', 'd'], { limit: 2, cursor: nextCursor! });
  expect(namesOf([next])).toEqual(['d']);
});

test('pages of long names stay below 100 kB', async () => {
  // Each character takes six bytes as JSON.
  const names = Array.from(
    { length: 30 },
    (_, index) => `${'\u0001'.repeat(1_000)}${String(index).padStart(2, '0')}`,
  );
  const pages = await pagesOf(names, 200);
  expect(namesOf(pages)).toEqual(names);
  expect(Math.max(...pages.map((page) => Buffer.byteLength(JSON.stringify(page))))).toBeLessThan(100_000);
});

test.each([{ limit: 0 }, { limit: 201 }, { cursor: 'no cursor' }, { cursor: '' }, { most: 1 }])(
  '%j is refused',
  async (options) => {
    await expect(queuePage(overviews, ['a'], options as object)).rejects.toThrow(/limit|cursor|most/);
  },
);
