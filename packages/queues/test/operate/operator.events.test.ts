import { expect, test } from '@jest/globals';
import type { QueueEvent } from '@mortise/queues';
import { connect } from '@mortise/test-kit';
import { Bench } from '../fixture/bench.js';
import { until } from '../fixture/until.js';

const redis = connect();

test('every call of an operator has its events', async () => {
  const bench = new Bench({}, redis);
  const { queue } = bench;
  await queue.configure({ keepEvents: 1_000 });
  const stop = new AbortController();
  const seen: QueueEvent[] = [];
  const reading = (async () => {
    for await (const event of queue.events({ after: 'oldest', signal: stop.signal })) seen.push(event);
  })().catch(() => undefined);
  await bench.task('scheduled', 'a');
  await bench.task('scheduled', 'b');
  await bench.task('ready', 'c');
  await queue.promote('a');
  await queue.cancel('b', { reason: 'sold out' });
  await queue.retry('b');
  await queue.remove('c');
  expect(await queue.drain()).toBe(2);
  // Calls without an effect have no events.
  await Promise.all(
    ['a', 'b', 'c'].flatMap((id) => [queue.cancel(id), queue.remove(id), queue.retry(id), queue.promote(id)]),
  );
  await bench.task('scheduled', 'last');
  await until(() => seen.some(({ id }) => id === 'last'));
  stop.abort();
  await reading;
  expect(seen.map(({ type, id, error }) => [type, id, error].filter(Boolean).join(' '))).toEqual([
    'enqueued a',
    'enqueued b',
    'enqueued c',
    'ready a',
    'cancelled b sold out',
    'ready b',
    'removed c',
    'removed a',
    'removed b',
    'enqueued last',
  ]);
});
