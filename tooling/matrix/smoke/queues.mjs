import assert from 'node:assert/strict';
import * as queues from '@mortise/queues';
import * as admin from '@mortise/queues/admin';
import { compression, encryption } from '@mortise/queues/codecs';
import * as layer from '@mortise/queues/bullmq';
import { sandbox } from '@mortise/queues/sandbox';
import { runTask, TestQueues } from '@mortise/queues/testing';
import { Verbs } from './verbs.mjs';

const { Claims, Discard, Overviews, Queue, RetryLater, Worker } = queues;

export async function smoke({ connect, prefix, until }) {
  const verbs = new Verbs(queues, admin);
  const redis = await connect();
  const queue = new Queue(redis, 'mail', { prefix });
  await stored(queue, redis, prefix);
  await resharded(redis, prefix);
  await worked(queue, redis, prefix, until);
  await flow(queue, redis, prefix);
  await claimed(redis, prefix);
  await inThreads(redis, prefix);
  await shown(redis, prefix, until);
  await encoded(redis, prefix);
  await asBullmq(redis, prefix);
  await inMemory();
  assert.equal(await queue.obliterate(), true);
  assert.equal(await Queue.exists(redis, 'mail', { prefix }), false);
  await queue.close();
  await queue[Symbol.asyncDispose]();
  return verbs;
}

/** Calls that need no worker. */
async function stored(queue, redis, prefix) {
  const { id, isDuplicate } = await queue.enqueue('send', { to: 'a' }, { id: 'one', priority: 'high' });
  assert.deepEqual([id, isDuplicate], ['one', false]);
  assert.equal((await queue.enqueue('send', { to: 'a' }, { id: 'one' })).isDuplicate, true);
  const [overview] = await new Overviews(redis, { prefix }).read(['mail']);
  assert.deepEqual([overview.counts.ready, typeof overview.nextEnqueuedAt], [1, 'number']);
  const ids = await queue.enqueueMany(
    ['two', 'three', 'four'].map((each) => ({ name: 'send', payload: { to: each }, options: { id: each } })),
  );
  assert.equal(ids.length, 3);
  assert.equal((await queue.get('one')).state, 'ready');
  assert.equal((await queue.counts()).ready, 4);
  assert.equal((await queue.list('ready', { limit: 2 })).tasks.length, 2);
  assert.equal((await queue.summaries('ready')).tasks.length, 4);
  assert.equal(await queue.cancel('two', { reason: 'not wanted' }), true);
  assert.equal(await queue.retry('two'), true);
  assert.equal(await queue.cancel('two'), true);
  assert.equal(await queue.retryAll({ state: 'cancelled' }), 1);
  assert.equal(await queue.cancel('two'), true);
  assert.equal(await queue.clean('cancelled'), 1);
  assert.equal(await queue.remove('three'), true);
  await queue.enqueue('send', {}, { id: 'late', delayMs: 3_600_000 });
  const runAt = Date.now() + 7_200_000;
  assert.equal(await queue.reschedule('late', { runAt }), true);
  assert.equal(await queue.setPriority('late', 'low'), true);
  assert.equal(await queue.setPayload('late', { is: 'new' }), true);
  const { id: keyed } = await queue.enqueue('send', [1], {
    dedupKey: 'k',
    onDuplicate: 'append',
    delayMs: 60_000,
  });
  const again = await queue.enqueue('send', [2], { dedupKey: 'k', onDuplicate: 'append' });
  assert.deepEqual(again, { id: keyed, isDuplicate: true });
  assert.deepEqual((await queue.get(keyed)).payload, [1, 2]);
  assert.equal(await queue.remove(keyed), true);
  const { priority, runAt: movedTo } = await queue.get('late');
  assert.deepEqual([priority, movedTo], ['low', runAt]);
  assert.equal(await queue.promote('late'), true);
  assert.equal(await queue.drain(), 3);

  await queue.configure({ concurrency: 20, keepEvents: 100 });
  assert.equal((await queue.settings()).concurrency, 20);
  await queue.enqueue('send', {}, { id: 'seen' });
  assert.deepEqual(
    (await queue.lastEvents({ limit: 1 })).map(({ type, id: its }) => [type, its]),
    [['enqueued', 'seen']],
  );
  assert.equal(await queue.remove('seen'), true);
  await queue.pause();
  await queue.resume();
  assert.equal(await Queue.exists(redis, 'mail', { prefix }), true);
  assert.deepEqual(await Queue.names(redis, { prefix }), ['mail']);
  assert.deepEqual(await Queue.pauseAll(redis, { prefix }), ['mail']);
  assert.deepEqual(await Queue.resumeAll(redis, { prefix }), ['mail']);

  const { nextAt } = await queue.schedule('daily', { cron: '0 9 * * *', timezone: 'UTC' }, 'send', {});
  assert.ok(nextAt > Date.now());
  assert.deepEqual(
    (await queue.schedules()).map(({ key }) => key),
    ['daily'],
  );
  assert.equal(await queue.unschedule('daily'), true);
}

/** A task of before lies where it was, and is known by its id. */
async function resharded(redis, prefix) {
  const queue = new Queue(redis, 'parts', { prefix });
  await queue.enqueue('send', {}, { id: 'old' });
  assert.deepEqual([await queue.reshard(2), await queue.reshard(2)], [true, false]);
  assert.equal((await queue.settings()).shards, 2);
  assert.equal((await queue.enqueue('send', {}, { id: 'old' })).isDuplicate, true);
  assert.equal((await queue.counts()).ready, 1);
  assert.equal(await queue.obliterate(), true);
  await queue.close();
}

async function worked(queue, redis, prefix, until) {
  let reported = 0;
  const handlers = {
    send: async ({ to }, context) => {
      await context.progress({ part: 1 });
      await context.log(`to ${to}`);
      await context.renew();
      return { to, attempt: context.attempt };
    },
    flaky: async (_, { attempt }) => {
      if (attempt === 1) throw new Error('not yet');
      return attempt;
    },
    later: async () => {
      if ((reported += 1) === 1) throw new RetryLater({ delayMs: 1 });
      return reported;
    },
    bad: async () => {
      throw new Discard('never');
    },
    slow: async (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
  };
  const ended = [];
  const worker = new Worker(redis, ['mail'], handlers, {
    prefix,
    backoff: { delayMs: 1, jitter: 0 },
    onFailed: ({ id }) => void ended.push(id),
    onSucceeded: ({ id }) => void ended.push(id),
  });
  await worker.start();
  assert.ok(worker.isRunning && worker.id.length > 0 && worker.silentMs >= 0);
  assert.deepEqual(await queue.names(), Object.keys(handlers).toSorted());
  const resultOf = async (name, options) => {
    const { id } = await queue.enqueue(name, { to: 'jack' }, options);
    return queue.result(id, { waitMs: 20_000 });
  };
  assert.deepEqual(await resultOf('send', { id: 'sent' }), { to: 'jack', attempt: 1 });
  assert.equal((await queue.get('sent')).logs[0].text, 'to jack');
  assert.equal(await resultOf('send', { delayMs: 20, group: 'g' }).then(({ to }) => to), 'jack');
  assert.equal(await resultOf('flaky'), 2);
  assert.equal(await resultOf('later'), 2);
  await assert.rejects(resultOf('bad', { id: 'dead' }), { code: 'ERR_TASK_DEAD' });
  assert.deepEqual(new Set(ended).has('dead'), true);

  const refused = assert.rejects(resultOf('slow', { id: 'slow' }), { code: 'ERR_TASK_CANCELLED' });
  await until(() => worker.running === 1, 'the slow task');
  await queue.cancel('slow');
  await refused;
  worker.pause();
  assert.equal(worker.isPaused, true);
  worker.resume();

  await queue.schedule('often', { everyMs: 1_000, maxRuns: 1, startAt: Date.now() }, 'send', { to: 'joe' });
  await until(async () => (await queue.schedules())[0]?.runs !== 0, 'the scheduled task');

  await queue.idle({ waitMs: 20_000 });
  assert.match(await queue.eventsCursor(), /^[0-9a-z]+$/);
  const seen = [];
  for await (const event of queue.events({ after: 'oldest' })) {
    if (event.id === 'dead') seen.push(event.type);
    if (event.type === 'dead') break;
  }
  assert.deepEqual(seen, ['enqueued', 'started', 'dead']);
  await worker.stop();
  await worker[Symbol.asyncDispose]();
}

async function flow(queue, redis, prefix) {
  const handlers = {
    part: ({ n }) => n,
    sum: async (_, context) => (await context.children()).reduce((sum, { result }) => sum + result, 0),
  };
  const worker = new Worker(redis, ['mail'], handlers, { prefix });
  const children = [1, 2, 3].map((n) => ({ name: 'part', payload: { n } }));
  const { id } = await queue.enqueueFlow({ name: 'sum', payload: {}, children });
  assert.equal((await queue.children(id)).count, children.length);
  assert.equal((await queue.summary(id)).name, 'sum');
  await worker.start();
  assert.equal(await queue.result(id, { waitMs: 20_000 }), 6);
  await worker.stop();
}

async function claimed(redis, prefix) {
  const queue = new Queue(redis, 'thumbnails', { prefix });
  const claims = new Claims(redis, 'thumbnails', { prefix });
  assert.deepEqual([claims.queue, claims.waiting], ['thumbnails', 0]);
  const waiting = claims.claim({ waitMs: 20_000 });
  await queue.enqueue('make', { file: 'a' }, { id: 'a', attempts: 3 });
  const [first] = await waiting;
  await claims.heartbeat('a', first.lease, 60_000);
  await claims.progress('a', first.lease, 50);
  await claims.log('a', first.lease, 'half');
  await claims.giveBack('a', first.lease);
  const [second] = await claims.claim({ waitMs: 20_000 });
  await claims.fail('a', second.lease, { error: 'no image', retry: true, delayMs: 0 });
  const [third] = await claims.claim({ waitMs: 20_000 });
  await remembered(queue, claims, third.lease);
  await claims.complete('a', third.lease, { width: 128 });
  assert.deepEqual((await queue.get('a')).result, { width: 128 });
  await assert.rejects(claims.complete('a', first.lease), { code: 'ERR_LEASE_LOST' });
  await claims.stop();
  await claims[Symbol.asyncDispose]();
}

/** Steps of the claimed task `a`, and an event for it. */
async function remembered(queue, claims, lease) {
  assert.equal(await claims.storeStep('a', lease, 'crop', 64), 64);
  await claims.setCursor('a', lease, 3);
  assert.equal(await queue.deliver('a', 'approved', 'ann'), true);
  const wait = { step: 'approval', event: 'approved', timeoutMs: 60_000 };
  assert.deepEqual(await claims.waitFor('a', lease, wait), { payload: 'ann' });
  const { steps, cursor } = await claims.steps('a', lease);
  assert.deepEqual([steps.length, cursor], [2, 3]);
}

async function shown(redis, prefix, until) {
  const queue = new Queue(redis, 'shown', { prefix });
  const operations = new admin.BulkOperations(redis, { prefix });
  const redactor = new admin.Redactor(['token']);
  await queue.lastEvents();
  await queue.enqueueMany([1, 2].map((n) => ({ name: 'send', payload: { n, token: 'x' } })));
  const filter = { field: 'n', equals: '2' };
  const { tasks } = await admin.findTasks(queue, 'ready', filter);
  assert.deepEqual(
    tasks.map(({ payload }) => admin.cutJson(redactor.redact(payload), 100).value),
    [{ n: 2, token: '[redacted]' }],
  );
  assert.equal(redactor.hides('user.token'), true);
  assert.equal(redactor.redactLine('{"token":"x"}'), '{"token":"[redacted]"}');
  const { id } = await operations.start(queue, { action: 'remove', state: 'ready', ...filter });
  let last;
  for await (const { status } of operations.follow(id)) last = status;
  assert.equal(last, 'completed');
  assert.equal((await operations.get(id)).status, 'completed');
  assert.equal((await queue.counts()).ready, 1);
  assert.deepEqual(admin.taskTimes(await queue.lastEvents()), { count: 0, wait: null, run: null });
  assert.equal((await admin.queueView(queue)).counts.ready, 1);
  const overviews = new Overviews(redis, { prefix });
  const overview = new admin.LiveOverview(overviews, () => Queue.names(redis, { prefix }));
  const follower = new AbortController();
  for await (const { total } of overview.follow(follower.signal)) {
    assert.deepEqual([total > 0, overview.isFollowed], [true, true]);
    follower.abort();
  }
  await until(() => operations.running === 0, 'no running operation');
  await operations.stop();
  await operations[Symbol.asyncDispose]();
}

async function encoded(redis, prefix) {
  const codecs = [
    compression({ aboveBytes: 0 }),
    encryption({ keys: { k: Buffer.alloc(32, 1) }, current: 'k' }),
  ];
  const queue = new Queue(redis, 'encoded', { prefix, codecs });
  const worker = new Worker(redis, ['encoded'], { send: ({ text }) => text.length }, { prefix, codecs });
  await worker.start();
  const { id } = await queue.enqueue('send', { text: 'long '.repeat(100) });
  assert.equal(await queue.result(id, { waitMs: 20_000 }), 500);
  assert.equal(queues.isEncoded((await new Queue(redis, 'encoded', { prefix }).get(id)).payload), true);
  await worker.stop();
}

async function inThreads(redis, prefix) {
  const queue = new Queue(redis, 'sums', { prefix });
  const sum = sandbox(new URL('sandboxed.mjs', import.meta.url));
  const worker = new Worker(redis, ['sums'], { sum }, { prefix });
  await worker.start();
  const { id } = await queue.enqueue('sum', [1, 2, 3], { attempts: 1 });
  assert.equal(await queue.result(id, { waitMs: 20_000 }), 6);
  await worker.stop();
  await sum.close();
}

async function asBullmq(connection, prefix) {
  const queue = new layer.Queue('numbers', { connection, prefix });
  const events = new layer.QueueEvents('numbers', { connection, prefix });
  const worker = new layer.Worker('numbers', async ({ data }) => data + 1, { connection, prefix });
  const job = await queue.add('increment', 41, { priority: 5, attempts: 2 });
  assert.equal(await job.waitUntilFinished(events, 20_000), 42);
  await worker.close();
  await events.close();
  await queue.obliterate({ force: true });
  await queue.close();
}

/** A handler that fails once. */
function welcome({ to }, { attempt }) {
  if (attempt === 1) throw new Error('busy');
  return to;
}

/** The entry for tests. */
async function inMemory() {
  const own = new TestQueues();
  await new Queue(own.redis, 'mail').enqueue('send', { to: 'a' }, { delayMs: 3_600_000 });
  await own.clock.advance('1h');
  const [attempt] = await own.drain('mail', { send: ({ to }) => to });
  assert.equal(attempt.result, 'a');
  await own.close();
  const attempts = await runTask({ welcome }, 'welcome', { to: 'b' });
  assert.deepEqual([attempts[0].error.message, attempts[1].result], ['busy', 'b']);
}
