/** `mortise-queues migrate` with queues of the real libraries. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import BeeQueue from 'bee-queue';
import { FlowProducer, Queue as BullQueue, Worker as BullWorker } from 'bullmq';
import { Queue, Worker } from '@mortise/queues';
import { freshPrefix } from '@mortise/test-kit';
import { run } from '../../src/cli/run.js';
import { redis } from '../fixture/new-queue.js';
import { until } from '../fixture/until.js';

const url = process.env['MORTISE_TEST_REDIS']!;
const connection = { url, maxRetriesPerRequest: null };
/** The test server has slots, and BullMQ needs a tag then. */
const PREFIX = '{bull}';

async function migrate(
  prefix: string,
  ...args: readonly string[]
): Promise<{ code: number; out: unknown; err: string }> {
  let [out, err] = ['', ''];
  const code = await run(['migrate', 'mail', '--prefix', prefix, '--json', ...args], {
    env: { REDIS_URL: url },
    out: (text) => void (out += text),
    err: (text) => void (err += text),
  });
  return { code, out: out === '' ? undefined : JSON.parse(out), err };
}

describe('from BullMQ', () => {
  let name: string;
  let prefix: string;
  let bull: BullQueue;
  let queue: Queue;
  beforeEach(() => {
    prefix = freshPrefix();
    name = prefix.replaceAll(':', '-');
    bull = new BullQueue(name, { connection, prefix: PREFIX });
    queue = new Queue(redis, 'mail', { prefix });
  });
  afterEach(async () => {
    await bull.obliterate({ force: true });
    await bull.close();
  });
  const move = (...args: readonly string[]) =>
    migrate(prefix, '--from-bullmq', name, '--from-prefix', PREFIX, ...args);
  const bullKeys = async () =>
    (await redis.keys(`${PREFIX}:${name}:*`)).map((key) => key.split(`${name}:`)[1]);

  test('jobs keep their id, name, payload, order, attempts and instant', async () => {
    for (const n of [1, 2, 3]) await bull.add('plain', { n });
    await bull.add('urgent', { n: 4 }, { priority: 5, jobId: 'p5' });
    await bull.add('urgent', { n: 5 }, { priority: 1, jobId: 'p1' });
    const runAt = Date.now() + 3_600_000;
    const backoff = { type: 'exponential', delay: 500 };
    await bull.add('late', { a: ['ä', null] }, { delay: 3_600_000, jobId: 'late', attempts: 4, backoff });
    expect(await move('--dry-run')).toMatchObject({
      out: { waiting: 3, prioritized: 2, delayed: 1, failed: 0, schedules: 0, 'on their way': 0 },
    });
    expect(await queue.counts()).toMatchObject({ ready: 0, scheduled: 0 });

    expect(await move()).toEqual({
      code: 0,
      out: { moved: { waiting: 3, prioritized: 2, delayed: 1 }, left: {} },
      err: '',
    });
    expect(
      (await queue.list('ready')).tasks.map(({ id, priority, payload }) => [id, priority, payload]),
    ).toEqual([
      ['1', 'medium', { n: 1 }],
      ['2', 'medium', { n: 2 }],
      ['3', 'medium', { n: 3 }],
      ['p1', 'low', { n: 5 }],
      ['p5', 'low', { n: 4 }],
    ]);
    const late = (await queue.get('late'))!;
    expect(late).toMatchObject({
      name: 'late',
      payload: { a: ['ä', null] },
      state: 'scheduled',
      attempts: 4,
    });
    expect(Math.abs(late.runAt! - runAt)).toBeLessThan(1_000);
    expect(await bull.getJobCounts()).toMatchObject({ waiting: 0, delayed: 0, prioritized: 0 });
    // Nothing of them stays.
    expect((await bullKeys()).filter((key) => /^(\d|p|late|mortise)/.test(key!) && key !== 'pc')).toEqual([]);
    expect(await move()).toMatchObject({ code: 0, out: { moved: {}, left: {} } });
  });

  test('the order of 1,000 jobs is kept, also with a limit of their number in a second', async () => {
    await bull.addBulk(Array.from({ length: 1_000 }, (_, n) => ({ name: 't', data: n })));
    const startedAt = performance.now();
    expect(await move('--per-second', '2000')).toMatchObject({ out: { moved: { waiting: 1_000 } } });
    expect(performance.now() - startedAt).toBeGreaterThan(450);
    const seen: unknown[] = [];
    await using worker = new Worker(
      redis,
      ['mail'],
      { t: async (n) => void seen.push(n) },
      { prefix, concurrency: 1 },
    );
    await worker.start();
    await queue.idle();
    expect(seen).toEqual(Array.from({ length: 1_000 }, (_, n) => n));
    await worker.stop();
  });

  test('failed jobs are dead tasks, and completed ones succeeded tasks if it is asked for', async () => {
    const worker = new BullWorker(
      name,
      async ({ data }) => {
        if (data.isBad) throw new Error('no address');
        return { sent: data.n };
      },
      { connection, prefix: PREFIX },
    );
    await bull.add('t', { n: 1 }, { jobId: 'good' });
    await bull.add('t', { n: 2, isBad: true }, { jobId: 'bad', attempts: 2 });
    await until(async () => (await bull.getFailedCount()) === 1 && (await bull.getCompletedCount()) === 1);
    await worker.close();
    expect(await move()).toMatchObject({ code: 0, out: { moved: { failed: 1 } } });
    const bad = (await queue.get('bad'))!;
    expect(bad).toMatchObject({
      state: 'dead',
      attempts: 2,
      error: { name: 'Error', message: 'no address' },
    });
    expect(bad.error!.stack).toContain('migrate.test.ts');
    expect(await move('--completed')).toMatchObject({ code: 0, out: { moved: { completed: 1 } } });
    expect(await queue.get('good')).toMatchObject({ state: 'succeeded', result: { sent: 1 } });
    expect(await queue.counts()).toMatchObject({ dead: 1, succeeded: 1, scheduled: 0, ready: 0 });
    expect(await queue.retry('bad')).toBe(true);
    expect(await queue.counts()).toMatchObject({ dead: 0 });
  });

  test('job schedulers become schedules: each instant has one run', async () => {
    const opts = { attempts: 3 };
    const startDate = Date.now() + 3_600_000;
    await bull.upsertJobScheduler(
      'hourly',
      { every: 3_600_000, startDate },
      { name: 'digest', data: { a: 1 }, opts },
    );
    await bull.upsertJobScheduler('daily', { pattern: '0 7 * * *', tz: 'Europe/Berlin' }, { name: 'report' });
    await bull.upsertJobScheduler('fast', { every: 500 }, { name: 'ping' });
    const nextOf = async (key: string): Promise<number> => (await bull.getJobScheduler(key))!.next!;
    const [hourly, daily] = [await nextOf('hourly'), await nextOf('daily')];
    const moved = await move();
    expect(moved).toMatchObject({
      code: 1,
      out: { moved: { schedules: 2 }, left: { ERR_INVALID_SCHEDULE: 1 } },
    });
    expect((await bull.getJobSchedulers()).map(({ key }) => key)).toEqual(['fast']);
    const schedules = await queue.schedules();
    const of = (key: string) => schedules.find((schedule) => schedule.key === key)!;
    expect(of('hourly')).toMatchObject({ name: 'digest', payload: { a: 1 }, options: opts });
    expect(of('daily')).toMatchObject({
      rule: { cron: '0 7 * * *', timezone: 'Europe/Berlin' },
      name: 'report',
    });
    // Its next job has become a task: the schedule begins with the one after it.
    expect(hourly).toBe(startDate);
    expect(of('hourly').nextAt).toBe(hourly + 3_600_000);
    expect(of('daily').nextAt).toBeGreaterThan(daily);
    const tasks = [...(await queue.list('scheduled')).tasks, ...(await queue.list('ready')).tasks];
    expect(tasks.filter((task) => task.name === 'digest').map(({ id }) => id)).toEqual([
      `repeat:hourly:${hourly}`,
    ]);
    expect(await bull.removeJobScheduler('fast')).toBe(true);
  });

  test('jobs that no task can be made of stay where they are, by their reasons', async () => {
    const flows = new FlowProducer({ connection, prefix: PREFIX });
    await flows.add({ name: 'parent', queueName: name, children: [{ name: 'child', queueName: name }] });
    await flows.close();
    await bull.add('t', { n: 1 }, { jobId: 'same' });
    await queue.enqueue('t', { n: 2 }, { id: 'same' });
    await bull.add('t', 'x'.repeat(300_000), { jobId: 'big' });
    const { id } = await bull.add('t', 0, { jobId: 'exact' });
    await redis.hset(`${PREFIX}:${name}:${id}`, 'data', '9007199254740993');
    await bull.add('t', {}, { jobId: 'last' });
    const moved = await move();
    expect(moved).toMatchObject({
      code: 1,
      out: {
        moved: { waiting: 1 },
        left: {
          'child of a flow': 1,
          ERR_TASK_CONFLICT: 1,
          ERR_PAYLOAD_TOO_LARGE: 1,
          'number that JavaScript would round': 1,
        },
      },
    });
    expect(await bull.getJobCounts()).toMatchObject({ waiting: 4, 'waiting-children': 1 });
    expect(await redis.hlen(`${PREFIX}:${name}:mortise:moved`)).toBe(0);
    const seen: unknown[] = [];
    const worker = new BullWorker(name, async (job) => void seen.push(job.id), {
      connection,
      prefix: PREFIX,
    });
    await until(async () => (await bull.getCompletedCount()) === 5);
    expect(seen).toEqual(expect.arrayContaining(['same', 'big', 'exact']));
    await worker.close();
  });

  test('a job whose id is a key of BullMQ stays, and the others are moved', async () => {
    const key = (part: string): string => `${PREFIX}:${name}:${part}`;
    await bull.add('t', { n: 1 }, { jobId: 'first' });
    // BullMQ takes an id while the queue has no such key; this one lies in its settings.
    for (const jobId of ['repeat', 'failed', 'delayed']) await bull.add('t', {}, { jobId });
    await redis.hset(key('meta'), 'name', 't', 'data', '{}', 'opts', '{}');
    await redis.lpush(key('wait'), 'meta');
    await bull.add('t', { n: 2 }, { jobId: 'last' });
    expect(await redis.type(key('repeat'))).toBe('hash');
    expect(await move('--dry-run')).toMatchObject({ code: 0, out: { waiting: 6, delayed: 0, schedules: 0 } });
    expect(await move()).toEqual({
      code: 1,
      out: { moved: { waiting: 2 }, left: { 'id that is a key of BullMQ': 4 } },
      err: '',
    });
    expect((await queue.list('ready')).tasks.map(({ id }) => id)).toEqual(['first', 'last']);
    const stay = ['repeat', 'failed', 'delayed', 'meta'];
    expect((await redis.lrange(key('wait'), 0, -1)).toReversed()).toEqual(stay);
    for (const id of stay) expect(await redis.hget(key(id), 'name')).toBe('t');
    await redis.del(...stay.map(key));
  });

  test('a job that a worker has is not moved, and a paused queue is', async () => {
    await bull.add('t', {}, { jobId: 'runs' });
    let end = (): void => undefined;
    const running = new Promise<void>((resolve) => {
      end = resolve;
    });
    const worker = new BullWorker(name, () => running, { connection, prefix: PREFIX });
    await until(async () => (await bull.getActiveCount()) === 1);
    await bull.pause();
    await bull.add('t', {}, { jobId: 'paused' });
    expect(await move()).toMatchObject({ code: 0, out: { moved: { waiting: 1 } } });
    expect((await queue.list('ready')).tasks.map(({ id }) => id)).toEqual(['paused']);
    end();
    await until(async () => (await bull.getCompletedCount()) === 1);
    await worker.close();
  });

  test('a migration that died is continued: also after its tasks have run and are forgotten', async () => {
    await bull.add('t', { n: 1 }, { jobId: 'a' });
    await bull.add('t', { n: 2 }, { jobId: 'b' });
    // As it is between two steps: taken, and one of them stored, run and removed.
    await redis.lrem(`${PREFIX}:${name}:wait`, 0, 'a');
    await redis.lrem(`${PREFIX}:${name}:wait`, 0, 'b');
    await redis.hset(`${PREFIX}:${name}:mortise:moved`, 'a', 'waiting 0', 'b', 'waiting 0');
    await queue.enqueue('t', { n: 1 }, { id: 'a', dedupMs: 60_000 });
    const runs: unknown[] = [];
    await using worker = new Worker(
      redis,
      ['mail'],
      { t: async (_payload, { id }) => void runs.push(id) },
      { prefix, keepSucceeded: 0 },
    );
    await worker.start();
    await until(async () => (await queue.get('a')) === null);
    expect(await move()).toMatchObject({ code: 0, out: { moved: { continued: 2 } } });
    await queue.idle();
    expect(runs).toEqual(['a', 'b']);
    // The migration itself has marked this id.
    await until(async () => (await queue.get('b')) === null);
    await bull.add('t', { n: 2 }, { jobId: 'b' });
    expect(await move()).toMatchObject({ code: 0, out: { moved: { waiting: 1 } } });
    await queue.idle();
    expect(runs).toEqual(['a', 'b']);
    expect(await redis.exists(`${PREFIX}:${name}:a`, `${PREFIX}:${name}:mortise:moved`)).toBe(0);
    await worker.stop();
  });
});

test('from bee-queue: waiting and delayed jobs', async () => {
  const prefix = freshPrefix();
  const bee = new BeeQueue(prefix, { redis: { url }, prefix: '{bee}', isWorker: false, getEvents: false });
  const queue = new Queue(redis, 'mail', { prefix });
  for (const n of [1, 2, 3])
    await bee.createJob({ n }).retries(2).timeout(3_000).backoff('exponential', 1_000).save();
  const runAt = Date.now() + 3_600_000;
  await bee.createJob({ n: 4 }).setId('late').delayUntil(runAt).save();
  const from = ['--from-bee-queue', prefix, '--from-prefix', '{bee}', '--name', 'sum'];
  expect(await migrate(prefix, ...from, '--dry-run')).toMatchObject({ out: { waiting: 3, delayed: 1 } });
  expect(await migrate(prefix, ...from)).toMatchObject({
    code: 0,
    out: { moved: { waiting: 3, delayed: 1 }, left: {} },
  });
  expect((await queue.list('ready')).tasks).toMatchObject([
    { id: '1', name: 'sum', payload: { n: 1 }, attempts: 3 },
    { id: '2', payload: { n: 2 } },
    { id: '3', payload: { n: 3 } },
  ]);
  expect(await queue.get('late')).toMatchObject({ payload: { n: 4 }, runAt, attempts: 1 });
  expect(await bee.checkHealth()).toMatchObject({ waiting: 0, delayed: 0 });
  expect(await redis.hlen(`{bee}:${prefix}:jobs`)).toBe(0);
  await bee.destroy();
  await bee.close();
});

test.each([
  [[]],
  [['--from-bullmq', 'a', '--from-bee-queue', 'b']],
  [['--from-bullmq', 'a', '--name', 'n']],
  [['--from-bee-queue', 'a']],
  [['--from-bee-queue', 'a', '--name', 'n', '--completed']],
  [['--from-bullmq', 'a', '--per-second', '0']],
])('%j is refused', async (args) => {
  const { code, err } = await migrate(freshPrefix(), ...args);
  expect(code).toBe(2);
  expect(err).toMatch(/^mortise-queues: /);
});
