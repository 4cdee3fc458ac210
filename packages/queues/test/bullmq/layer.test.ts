import { once } from 'node:events';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type { Job, JobsOptions, Processor, WorkerOptions } from '@mortise/queues/bullmq';
import {
  BullmqUnsupportedError,
  FlowProducer,
  Queue,
  QueueEvents,
  QueueEventsProducer,
  UnrecoverableError,
  Worker,
} from '@mortise/queues/bullmq';
import { Queue as EngineQueue } from '@mortise/queues';
import { connect, freshPrefix, until } from '@mortise/test-kit';

const connection = connect();

const open: { close(): Promise<void> }[] = [];
const queues: Queue[] = [];

afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close();
  for (const queue of queues.splice(0)) await queue.obliterate({ force: true });
});

function newQueue() {
  const prefix = freshPrefix();
  const queue = new Queue('layer', { connection, prefix });
  queues.push(queue);
  const work = (processor: Processor, options: Partial<WorkerOptions> = {}): Worker => {
    const worker = new Worker(queue.name, processor, { connection, prefix, ...options });
    worker.on('error', () => undefined);
    open.push(worker);
    return worker;
  };
  const events = async (): Promise<QueueEvents> => {
    const reader = new QueueEvents(queue.name, { connection, prefix });
    open.push(reader);
    await reader.waitUntilReady();
    return reader;
  };
  return { prefix, queue, work, events };
}

const ended = async (worker: Worker, count: number): Promise<string[]> => {
  const names: string[] = [];
  worker.on('completed', (job: Job) => names.push(job.name));
  worker.on('failed', (job: Job) => names.push(job.name));
  await until(`${count} ends`, () => names.length >= count);
  return names;
};

describe('the order of jobs', () => {
  test('jobs without a priority come first, then the smallest number, then the first added', async () => {
    const { queue, work } = newQueue();
    await queue.add('third', {}, { priority: 2_097_151 });
    await queue.add('second', {}, { priority: 5 });
    await queue.add('second too', {}, { priority: 5 });
    await queue.add('first', {}, { priority: 1 });
    await queue.add('plain', {});
    await queue.add('front', {}, { lifo: true });
    expect(
      await ended(
        work(() => Promise.resolve()),
        6,
      ),
    ).toEqual(['front', 'plain', 'first', 'second', 'second too', 'third']);
  });

  test('a prioritized job counts as such, and its priority can be changed', async () => {
    const { queue, work } = newQueue();
    const late = await queue.add('late', {}, { priority: 9 });
    await queue.add('early', {}, { priority: 3 });
    expect(await queue.getCountsPerPriority([3, 9])).toEqual({ 3: 1, 9: 1 });
    await late.changePriority({ priority: 1 });
    expect(await queue.getJobCounts('prioritized', 'waiting')).toEqual({ prioritized: 2, waiting: 0 });
    expect(
      await ended(
        work(() => Promise.resolve()),
        2,
      ),
    ).toEqual(['late', 'early']);
  });

  test('a delayed job runs after its delay, and is promoted before', async () => {
    const { queue, work } = newQueue();
    const job = await queue.add('later', {}, { delay: 3_600_000 });
    expect(await job.getState()).toBe('delayed');
    await job.promote();
    expect(await job.getState()).toBe('waiting');
    expect(
      await ended(
        work(() => Promise.resolve()),
        1,
      ),
    ).toEqual(['later']);
  });
});

describe('attempts', () => {
  test('a failed job runs again after its backoff, and keeps its errors', async () => {
    const { queue, work } = newQueue();
    const job = await queue.add('flaky', {}, { attempts: 3, backoff: { type: 'exponential', delay: 10 } });
    const worker = work((given) => {
      if (given.attemptsMade < 2) throw new Error(`failure ${given.attemptsMade}`);
      return Promise.resolve('done');
    });
    await once(worker, 'completed');
    const stored = (await queue.getJob(job.id!))!;
    expect([stored.attemptsMade, stored.attemptsStarted, stored.returnvalue]).toEqual([3, 3, 'done']);
    expect(stored.stacktrace).toHaveLength(2);
  });

  test('UnrecoverableError fails it at once, and retry makes it wait again', async () => {
    const { queue, work } = newQueue();
    let isMended = false;
    const job = await queue.add('hopeless', {}, { attempts: 5 });
    const worker = work(() => (isMended ? Promise.resolve(1) : Promise.reject(new UnrecoverableError('no'))));
    await once(worker, 'failed');
    expect([await job.getState(), (await queue.getJob(job.id!))!.failedReason]).toEqual(['failed', 'no']);
    isMended = true;
    await job.retry();
    await once(worker, 'completed');
    expect(await queue.getJobCounts('completed', 'failed')).toEqual({ completed: 1, failed: 0 });
  });

  test('removeOnComplete keeps a number of jobs, and a worker without it all', async () => {
    const { queue, work } = newQueue();
    for (let index = 0; index < 5; index += 1) await queue.add('one', {}, { removeOnComplete: 2 });
    await ended(
      work(() => Promise.resolve()),
      5,
    );
    expect(await queue.getCompletedCount()).toBe(2);
  });

  test.each([false, true])(
    'removeOnComplete: true removes lines and progress, beside a job that stays: %p',
    async (stays) => {
      const { prefix, queue, work } = newQueue();
      const worker = work(
        async (job) => {
          await job.log('a line');
          await job.updateProgress(50);
          return job.name;
        },
        { concurrency: 50, removeOnComplete: { count: 0 } },
      );
      const counts: Promise<number>[] = [];
      worker.on('completed', () => counts.push(queue.getCompletedCount()));
      const names = Array.from({ length: 100 }, (_, n) => `job ${n}`);
      await queue.addBulk(names.map((name) => ({ name, data: {}, opts: { removeOnComplete: true } })));
      if (stays) await queue.add('stays', {}, { jobId: 'stays', removeOnComplete: false });
      await until('the ends', () => counts.length === names.length + Number(stays));
      const seen = new Set(await Promise.all(counts));
      expect(stays || [...seen].every((count) => count === 0)).toBe(true);
      await worker.close();
      expect(await queue.getCompletedCount()).toBe(Number(stays));
      await queue.remove('stays');
      const left = await connection.keys(`${prefix}:*`);
      expect(left.filter((key) => /:(?:tasks|attempts|succeeded|progress|layer:logs)$/.test(key))).toEqual(
        [],
      );
    },
  );

  test.each([true, 5, { age: 60 }])(
    'removeOnComplete: %j costs no command for each job',
    async (removeOnComplete) => {
      const { queue, work } = newQueue();
      const jobs = Array.from({ length: 400 }, () => ({ name: 'job', data: {}, opts: { removeOnComplete } }));
      await queue.addBulk(jobs);
      const sent = jest.spyOn(connection, 'sendCommand');
      await ended(
        work(() => Promise.resolve(), { concurrency: 100 }),
        jobs.length,
      );
      expect(sent.mock.calls.length).toBeLessThan(jobs.length / 2);
      sent.mockRestore();
    },
  );

  test.each([false, true])(
    'jobs that end together are kept or removed by their own rules, with readers of events: %p',
    async (isRead) => {
      const { queue, work, events } = newQueue();
      if (isRead) await events();
      const rules: [string, JobsOptions][] = [
        ['gone', { removeOnComplete: true }],
        ['kept', {}],
        ['gone', { removeOnComplete: { count: 0 } }],
        ['kept', { removeOnComplete: false }],
        ['kept', { removeOnComplete: { age: 60 } }],
      ];
      const jobs = Array.from({ length: 50 }, (_, n) => rules[n % rules.length]!);
      await queue.addBulk(jobs.map(([name, opts]) => ({ name, data: {}, opts })));
      const worker = work(() => Promise.resolve(), { concurrency: 50 });
      await ended(worker, jobs.length);
      await worker.close();
      const kept = await queue.getCompleted();
      expect(kept.map(({ name }) => name)).toEqual(Array.from({ length: 30 }, () => 'kept'));
    },
  );
});

describe('data beside the result', () => {
  test('progress, log lines and changed data are stored, and readers of events learn it', async () => {
    const { queue, work, events } = newQueue();
    const reader = await events();
    const arrived = once(reader, 'progress');
    const worker = work(async (job) => {
      await job.updateProgress({ half: true });
      await job.log('one');
      await job.log('two');
      await job.updateData({ changed: 1 });
    });
    const { id } = await queue.add('job', { given: 1 });
    await once(worker, 'completed');
    expect((await arrived)[0]).toEqual({ jobId: id, data: { half: true } });
    const job = (await queue.getJob(id!))!;
    expect([job.progress, job.data]).toEqual([{ half: true }, { changed: 1 }]);
    expect(await queue.getJobLogs(id!)).toEqual({ logs: ['one', 'two'], count: 2 });
  });

  test('readers of events get the result of a job that is removed at its end', async () => {
    const { queue, work, events } = newQueue();
    // The worker is older than the first reader.
    const worker = work(
      async (job) =>
        job.attemptsMade === 0 && job.data.fails ? Promise.reject(new Error('no')) : job.data.result,
      {
        concurrency: 10,
        removeOnComplete: { count: 0 },
      },
    );
    await worker.waitUntilReady();
    const reader = await events();
    const results = [7, 'text', { deep: [null] }, false, null, undefined, 'x'.repeat(50_001)];
    const seen: unknown[] = [];
    reader.on('completed', ({ returnvalue }) => seen.push(returnvalue));
    for (const [n, result] of results.entries()) {
      const job = await queue.add('job', { result, fails: n % 2 === 0 }, { attempts: 2, delay: 50 });
      // The last one is too large for an event.
      expect(await job.waitUntilFinished(reader, 20_000)).toEqual(n < 5 ? result : null);
    }
    expect(seen).toEqual([...results.slice(0, 5), null, null]);
    expect(await queue.getCompletedCount()).toBe(0);

    const byHand = work(null as unknown as Processor);
    await worker.close();
    const job = await queue.add('job', {}, { removeOnComplete: true });
    const finished = job.waitUntilFinished(reader, 20_000);
    const taken = await until('the job', () => byHand.getNextJob('token'));
    await taken.moveToCompleted('by hand', 'token');
    expect(await finished).toBe('by hand');
  });

  test('waitUntilFinished resolves to the result, and own events arrive', async () => {
    const { prefix, queue, work, events } = newQueue();
    const reader = await events();
    work((job) => Promise.resolve(job.data as number));
    const job = await queue.add('sum', 42);
    expect(await job.waitUntilFinished(reader, 5_000)).toBe(42);
    const arrived = once(reader as never, 'of mine');
    const producer = new QueueEventsProducer(queue.name, { connection, prefix });
    await producer.publishEvent({ eventName: 'of mine', value: 1 });
    expect((await arrived)[0]).toEqual({ value: 1 });
  });
});

test('a flow: the parent runs after its children and has their values', async () => {
  const { prefix, queue, work } = newQueue();
  const flows = new FlowProducer({ connection, prefix });
  const { job } = await flows.add({
    name: 'parent',
    queueName: queue.name,
    children: [1, 2].map((data) => ({ name: 'child', queueName: queue.name, data })),
  });
  expect(await job.getState()).toBe('waiting-children');
  let values: unknown[] = [];
  const worker = work(async (given) => {
    if (given.name === 'child') return given.data as number;
    values = Object.values(await given.getChildrenValues());
    return 0;
  });
  expect(await ended(worker, 3)).toEqual(['child', 'child', 'parent']);
  expect(values.toSorted((a, b) => Number(a) - Number(b))).toEqual([1, 2]);
});

test('a job that has ended is a child at once', async () => {
  const { prefix, queue, work } = newQueue();
  const worker = work((given) => Promise.resolve(given.name));
  await queue.add('child', {}, { jobId: 'known' });
  await ended(worker, 1);
  const flows = new FlowProducer({ connection, prefix });
  const again = { name: 'child', queueName: queue.name, opts: { jobId: 'known' } };
  const { job } = await flows.add({ name: 'parent', queueName: queue.name, children: [again] });
  await until('the end of the parent', async () => (await job.getState()) === 'completed');
  expect(Object.values(await job.getChildrenValues())).toEqual(['child']);
});

test('a job scheduler has one job that waits, and the start of that job adds the next', async () => {
  const { queue, work } = newQueue();
  const first = await queue.upsertJobScheduler('tick', { every: 50 }, { name: 'tick' });
  expect(first!.id).toMatch(/^repeat:tick:\d+$/);
  expect(await queue.getJobSchedulersCount()).toBe(1);
  await ended(
    work(() => Promise.resolve()),
    3,
  );
  expect(await queue.removeJobScheduler('tick')).toBe(true);
  await until('an empty queue', async () => (await queue.count()) === 0);
  expect(await queue.getJobSchedulers()).toEqual([]);
});

test('a deduplication id keeps a second job out while the first waits', async () => {
  const { queue } = newQueue();
  const first = await queue.add('a', {}, { deduplication: { id: 'once' } });
  const second = await queue.add('b', {}, { deduplication: { id: 'once' } });
  expect([second.id, await queue.getWaitingCount()]).toEqual([first.id, 1]);
});

test('a job that is taken by hand ends with its token alone', async () => {
  const { queue, work } = newQueue();
  await queue.add('by hand', {});
  const worker = work(() => Promise.resolve(), { autorun: false });
  const job = (await worker.getNextJob('token'))!;
  await expect(job.moveToCompleted(1, 'another', false)).rejects.toThrow('Lock mismatch');
  await job.moveToCompleted(1, 'token', false);
  expect(await job.getState()).toBe('completed');
});

test('the engine shows and runs the jobs of the layer', async () => {
  const { prefix, queue } = newQueue();
  const { id } = await queue.add('plain', { given: 1 });
  const engine = new EngineQueue(connection, queue.name, { prefix });
  expect(await engine.get(id!)).toMatchObject({ name: 'plain', payload: { given: 1 }, state: 'ready' });
});

test('open workers and readers of events are listed', async () => {
  const { queue, work, events } = newQueue();
  const named = work(() => Promise.resolve(), { name: 'of mine', autorun: false });
  const nameless = work(() => Promise.resolve());
  await Promise.all([named.waitUntilReady(), nameless.waitUntilReady()]);
  await events();
  const base = `${queue.opts.prefix}:${Buffer.from(queue.name).toString('base64')}`;
  const workers = await queue.getWorkers();
  expect(workers.map(({ id, rawname }) => [id, rawname])).toEqual(
    expect.arrayContaining([
      [named.id, `${base}:w:of mine`],
      [nameless.id, base],
    ]),
  );
  expect((await queue.getQueueEvents()).map(({ rawname }) => rawname)).toEqual([`${base}:qe`]);
  await named.close();
  expect(await queue.getWorkersCount()).toBe(1);
});

test('a due job is delayed until a worker places it, and readers of events learn it', async () => {
  const { queue, work, events } = newQueue();
  const reader = await events();
  const job = await queue.add('due', {}, { delay: 1 });
  await until('its instant', () => Date.now() > job.timestamp + 1);
  expect([await job.getState(), await queue.getDelayedCount()]).toEqual(['delayed', 1]);
  const waiting = once(reader, 'waiting');
  const ends = ended(
    work(() => Promise.resolve()),
    1,
  );
  expect((await waiting)[0]).toEqual({ jobId: job.id, prev: 'delayed' });
  expect(await ends).toEqual(['due']);
});

test('stalls are counted over the attempts of a job', async () => {
  const { queue, work } = newQueue();
  const { active } = queue.store.shards.first.keys.of;
  await queue.add('stalls', {}, { attempts: 5 });
  let starts = 0;
  const worker = work(
    async () => {
      starts += 1;
      const start = starts;
      if (start === 2) throw new Error('an attempt');
      const [member] = await connection.zrangeBuffer(active, 0, '0');
      await connection.zadd(active, 'XX', '1', member!);
      await until('another start, or the end', () => starts > start || reason !== '');
    },
    { concurrency: 2 },
  );
  let reason = '';
  worker.on('failed', (job: Job) => (reason = job.finishedOn ? job.failedReason : ''));
  await until('the end', () => reason !== '');
  expect([starts, reason]).toEqual([3, 'job stalled more than allowable limit']);
});

test('a missing feature is refused by its name', async () => {
  const { prefix, queue } = newQueue();
  await expect(queue.add('a', {}, { repeat: { every: 1 } })).rejects.toThrow(BullmqUnsupportedError);
  expect(() => new Worker(queue.name, '/processor.js', { connection, prefix })).toThrow(
    'a processor in a file',
  );
});
