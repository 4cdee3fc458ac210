/** Calls and types of BullMQ's guide, beside those of its own tests. */
import { once } from 'node:events';
import { afterEach, expect, test } from '@jest/globals';
import { Job, Queue, QueueEvents, QueueEventsProducer, Worker } from '@mortise/queues/bullmq';
import type { QueueEventsListener } from '@mortise/queues/bullmq';
import { connect, freshPrefix } from '@mortise/test-kit';

const connection = connect();
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

function newQueue(): { prefix: string; queue: Queue; worker: Worker } {
  const prefix = freshPrefix();
  const queue = new Queue('guide', { connection, prefix });
  const worker = new Worker(queue.name, null, { connection, prefix });
  closers.push(
    () => queue.obliterate({ force: true }),
    () => worker.close(),
  );
  return { prefix, queue, worker };
}

test.each([
  ['1,025 bytes', 'a'.repeat(1_025)],
  ['half a character', '\u{d800}'],
  ['nothing', ''],
])('an id that no job can have is unknown: %s', async (_, id) => {
  const { queue } = newQueue();
  expect(await queue.getJob(id)).toBeUndefined();
  expect(await queue.getJobState(id)).toBe('unknown');
  expect(await queue.getJobLogs(id)).toEqual({ logs: [], count: 0 });
});

test('the loop of jobs by hand: the next one comes with the end of the last', async () => {
  const { queue, worker } = newQueue();
  await worker.startStalledCheckTimer();
  const ids = ['a', 'b'];
  for (const jobId of ids) await queue.add(jobId, { of: jobId }, { jobId, attempts: 2 });
  const first = (await worker.getNextJob('token'))!;
  const [json, id] = (await first.moveToCompleted('done', 'token'))!;
  const second = Job.fromJSON(worker, json, id);
  expect(second).toBeInstanceOf(Job);
  expect(second).toMatchObject({ id: 'b', name: 'b', data: { of: 'b' }, opts: { attempts: 2 } });
  await second.moveToFailed(new Error('once'), 'token');
  const again = (await worker.getNextJob('token'))!;
  expect(again).toMatchObject({ id: 'b', attemptsMade: 1, failedReason: 'once' });
  const copy = Job.fromJSON(worker, again.asJSON());
  expect(copy).toMatchObject({ attemptsMade: 1, failedReason: 'once', stacktrace: again.stacktrace });
  expect(await copy.moveToCompleted('done', 'token')).toEqual([]);
  expect(await queue.getCompletedCount()).toBe(2);
});

test('a parent by hand is one still, made from its JSON', async () => {
  const { queue, worker } = newQueue();
  const parent = new Job(queue, 'parent', undefined, {}, 'p');
  parent.setHasChildren();
  expect(Job.fromJSON(worker, parent.asJSON())).toMatchObject({ isParent: true, data: {} });
  expect(Job.fromJSON(worker, { name: 'n', data: '1', failedReason: 'no JSON' }, 'x')).toMatchObject({
    id: 'x',
    isParent: false,
    failedReason: 'no JSON',
  });
});

test('the jobs of a paused queue wait: none is cleaned as paused', async () => {
  const { queue } = newQueue();
  await queue.pause();
  await queue.add('a', {});
  expect(await queue.clean(0, 0, 'paused')).toEqual([]);
  expect(await queue.clean(0, 0, 'waiting')).toHaveLength(1);
});

test('readers of events name a listener of their own', async () => {
  interface Mine extends QueueEventsListener {
    mine: (args: { custom: string }, id: string) => void;
  }
  const { prefix, queue } = newQueue();
  const reader = new QueueEvents(queue.name, { connection, prefix });
  closers.push(() => reader.close());
  await reader.waitUntilReady();
  const seen: string[] = [];
  reader.on<Mine, 'mine'>('mine', ({ custom }, id) => void seen.push(custom, typeof id));
  reader.on<Mine>('mine', ({ custom }: { custom: string }) => void seen.push(custom));
  reader.once('added', ({ jobId, name }) => void seen.push(jobId, name));
  // @ts-expect-error -- no event of the listener
  reader.on<Mine>('another', () => undefined);
  // @ts-expect-error -- its argument has no such field
  reader.off<Mine, 'mine'>('mine', ({ missing }) => missing);
  const arrived = once(reader, 'added');
  const producer = new QueueEventsProducer(queue.name, { connection, prefix });
  await producer.publishEvent<{ eventName: string; custom: string }>({ eventName: 'mine', custom: 'value' });
  await queue.add('job', {}, { jobId: 'a' });
  await arrived;
  expect(seen).toEqual(['value', 'string', 'value', 'a', 'job']);
});

test('the rate of a job that was just counted is that of one job', async () => {
  const { queue } = newQueue();
  await queue.setGlobalRateLimit(2, 100_000);
  expect(await queue.getRateLimitTtl(2)).toBe(-2);
  const { rate } = queue.store.shards.first.keys.of;
  // As late in a millisecond as the server's clock may be.
  const [seconds, micros] = (await connection.time()) as [number, number];
  await connection.set(rate, (seconds * 1_000 + micros / 1_000 + 50_000).toFixed(3));
  expect(await queue.getRateLimitTtl(2)).toBe(0);
  const left = await queue.getRateLimitTtl(1);
  expect(left).toBeLessThanOrEqual(50_000);
  expect(left).toBeGreaterThan(0);
});
