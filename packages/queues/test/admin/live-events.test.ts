/** The events of a queue for pages, whose readers may be read-only. */
import { expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { liveEvents, storedEvents } from '@mortise/queues/admin';
import type { LiveEvent, LiveEventsOptions } from '@mortise/queues/admin';
import { freshPrefix, until } from '@mortise/test-kit';
import { redis } from '../fixture/new-queue.js';

function newQueue(): Queue {
  return new Queue(redis, 'mail', { prefix: freshPrefix() });
}

/** Follows until the end of the test. */
async function follow(queue: Queue, options: Omit<LiveEventsOptions, 'signal'> = {}) {
  const controller = new AbortController();
  const { cursor, events } = await liveEvents(queue, { ...options, signal: controller.signal });
  const seen: LiveEvent[] = [];
  const reading = (async () => {
    for await (const event of events) seen.push(event);
  })();
  const end = async (): Promise<void> => {
    controller.abort();
    await reading;
  };
  return { cursor, seen, types: () => seen.map(({ type }) => type), end };
}

test('a reader switches the events on, and continues after a cursor', async () => {
  const queue = newQueue();
  const first = await follow(queue);
  await queue.enqueue('a', 1);
  await until('the event', () => first.seen.length === 1);
  await first.end();
  expect(first.types()).toEqual(['enqueued']);
  expect(await queue.settings()).toMatchObject({ keepEvents: expect.any(Number) });
  await queue.enqueue('a', 2);
  const second = await follow(queue, { after: first.seen[0]!.cursor });
  await until('the second event', () => second.seen.length === 1);
  await second.end();
  const again = await follow(queue, { after: first.cursor });
  await until('both', () => again.seen.length === 2);
  await again.end();
  expect((await storedEvents(queue))!.map(({ type }) => type)).toEqual(['enqueued', 'enqueued']);
  await expect(liveEvents(queue, { after: 'no cursor', signal: AbortSignal.abort() })).rejects.toThrow(
    RangeError,
  );
});

test('a read-only reader leaves them off, and goes on when somebody has switched them on', async () => {
  const queue = newQueue();
  await queue.enqueue('a', 1);
  expect(await storedEvents(queue, { isReadOnly: true })).toBeNull();
  const reader = await follow(queue, { isReadOnly: true });
  await until('the first event', () => reader.seen.length === 1);
  expect([reader.types(), (await queue.settings()).keepEvents]).toEqual([['off'], 0]);
  await queue.configure({ keepEvents: 100 });
  await until('the reset', () => reader.seen.length === 2);
  await queue.enqueue('a', 2);
  await until('the event', () => reader.seen.length === 3);
  await reader.end();
  expect(reader.types()).toEqual(['off', 'reset', 'enqueued']);
  expect(await storedEvents(queue, { isReadOnly: true })).toHaveLength(1);
  // A stream that ended while they were off has missed what came since.
  const late = await follow(queue, { isReadOnly: true, after: reader.cursor });
  await until('another reset', () => late.seen.length === 1);
  await late.end();
  expect(late.types()).toEqual(['reset']);
});

test('a reader of a queue of the same name with other shards begins anew', async () => {
  const prefix = freshPrefix();
  const one = new Queue(redis, 'mail', { prefix });
  const { cursor, end } = await follow(one);
  await end();
  await one.obliterate();
  const two = new Queue(redis, 'mail', { prefix, shards: 2 });
  await two.enqueue('a', 1);
  const reader = await follow(two, { after: cursor });
  await until('the reset', () => reader.types().includes('reset'));
  await reader.end();
  expect(reader.types()[0]).toBe('reset');
});
