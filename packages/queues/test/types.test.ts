import { expect, test } from '@jest/globals';
import { Claims, Queue, RetryLater, Worker } from '@mortise/queues';
import type {
  BatchHandler,
  BatchTask,
  Child,
  ClaimedTask,
  Counts,
  Enqueued,
  EnqueuedFlow,
  FlowTask,
  Handlers,
  NewTask,
  Page,
  QueueEvent,
  QueueOptions,
  Schedule,
  Scheduled,
  ScheduledTaskOptions,
  ScheduleRule,
  StandardSchemaV1,
  Task,
  TaskContext,
  TaskState,
  TaskSummary,
  WorkerOptions,
} from '@mortise/queues';
import type { QueueFeatureOptions, QueuesModuleOptions, QueuesWorkerOptions } from '@mortise/queues/nestjs';
import { InjectQueue, QueuesModule, TaskHandler } from '@mortise/queues/nestjs';
import { freshPrefix } from '@mortise/test-kit';
import { Cluster } from 'ioredis';
import { z } from 'zod';
import { launch } from './fixture/launch.js';
import { redis } from './fixture/new-queue.js';
import { until } from './fixture/until.js';

// An interface on purpose: it has no index signature and fits all the same.
interface Mail {
  'mail.sold': { itemId: string; price: number };
  'mail.expired': { itemId: string };
}

function newMail(): Queue<Mail> {
  return new Queue<Mail>(redis, 'mail', { prefix: freshPrefix() });
}

test('payloads belong to the names of tasks', async () => {
  const prefix = freshPrefix();
  const queue = new Queue<Mail>(redis, 'mail', { prefix });
  const sold: Enqueued = await queue.enqueue('mail.sold', { itemId: '42', price: 97 }, { priority: 'high' });
  const many: Enqueued[] = await queue.enqueueMany([
    { name: 'mail.expired', payload: { itemId: '43' } },
    { name: 'mail.sold', payload: { itemId: '44', price: 1 }, options: { delayMs: 60_000 } },
  ]);
  // @ts-expect-error -- no such task
  await queue.enqueue('mail.lost', { itemId: '42' });
  // @ts-expect-error -- the payload of another task
  await queue.enqueue('mail.sold', { itemId: '42' });
  // @ts-expect-error -- the payload of another task
  const wrong: NewTask<Mail> = { name: 'mail.sold', payload: { itemId: '42' } };
  // @ts-expect-error -- a header is a string
  await expect(queue.enqueue('mail.expired', { itemId: '' }, { headers: { n: 1 } })).rejects.toThrow(
    TypeError,
  );

  const task: Task<Mail> | null = await queue.get(sold.id);
  if (task?.name !== 'mail.sold') throw new Error('the name tells the payload');
  const price: number = task.payload.price;
  const counts: Counts = await queue.counts();
  expect([price, many.length, wrong.name, counts.ready]).toEqual([97, 2, 'mail.sold', 4]);
});

test('handlers know their payloads, and a worker needs one for each name', async () => {
  const prefix = freshPrefix();
  const prices: number[] = [];
  const handlers: Handlers<Mail> = {
    'mail.sold': ({ price }, context: TaskContext) => {
      prices.push(price);
      return context.id;
    },
    'mail.expired': async () => {
      throw new RetryLater({ delayMs: 60_000 });
    },
  };
  await new Queue<Mail>(redis, 'mail', { prefix }).enqueue('mail.sold', { itemId: '42', price: 97 });
  await launch(redis, 'mail', handlers, { prefix });
  await until(() => prices.length > 0);
  expect(prices).toEqual([97]);

  // @ts-expect-error -- no handler for mail.expired
  const some = new Worker<Mail>(redis, ['mail'], { 'mail.sold': () => undefined });
  const part = new Worker<Pick<Mail, 'mail.sold'>>(redis, ['mail'], { 'mail.sold': () => undefined });
  // @ts-expect-error -- there is no itemID
  const typo: Handlers<Mail>['mail.expired'] = ({ itemID }) => itemID;
  expect([some, part, typo]).toHaveLength(3);
});

test('objects and batch handlers know their payloads, too', async () => {
  const prefix = freshPrefix();
  const seen: number[] = [];
  const handlers: Handlers<Mail> = {
    'mail.sold': {
      maxSize: 10,
      waitMs: 1,
      handleMany: (tasks) => {
        for (const { payload, ctx } of tasks) seen.push(payload.price, ctx.attempt);
        return tasks.map(({ payload }) => payload.itemId);
      },
    },
    'mail.expired': {
      timeoutMs: 1_000,
      concurrency: 2,
      backoff: ({ attempt, error }) => (error instanceof Error ? attempt : 0),
      handle: async ({ itemId }, { progress }) => [itemId, typeof progress],
    },
  };
  await new Queue<Mail>(redis, 'mail', { prefix }).enqueue('mail.sold', { itemId: '42', price: 97 });
  await launch(redis, 'mail', handlers, { prefix, fairness: { mail: 2 }, backoff: () => 5 });
  await until(() => seen.length > 0);
  expect(seen).toEqual([97, 1]);

  const batch: BatchHandler<Mail['mail.sold']> = {
    maxSize: 2,
    // @ts-expect-error -- there is no itemID
    handleMany: (tasks) => tasks.map(({ payload }) => payload.itemID as unknown),
  };
  // @ts-expect-error -- a batch has a size
  const sizeless: Handlers<Mail>['mail.sold'] = { handleMany: () => undefined };
  // @ts-expect-error -- results are an array
  const single: Handlers<Mail>['mail.sold'] = { maxSize: 2, handleMany: () => 'one for all' };
  // @ts-expect-error -- there is no itemID
  const typo: Handlers<Mail>['mail.expired'] = { handle: ({ itemID }) => itemID };
  // @ts-expect-error -- a backoff function doesn't promise its delay
  const promise: WorkerOptions['backoff'] = async () => 5;
  // @ts-expect-error -- there is no such fairness
  const fairness: WorkerOptions['fairness'] = 'fair';
  expect([batch, sizeless, single, typo, promise, fairness]).toHaveLength(6);
});

test('without types, any name and payload fits', async () => {
  const queue = new Queue(redis, 'any', { prefix: freshPrefix() });
  const { isDuplicate } = await queue.enqueue('whatever', [1, { two: null }]);
  // @ts-expect-error -- a name is a string
  await expect(queue.enqueue(42, {})).rejects.toThrow(TypeError);
  expect(isDuplicate).toBe(false);
});

test('a Cluster is a client', () => {
  const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
  expect(new Queue(cluster, 'q')).toBeInstanceOf(Queue);
  expect(new Worker(cluster, ['q'], { t: () => 1 })).toBeInstanceOf(Worker);
  cluster.disconnect();
});

test('listed tasks have the types of enqueued ones', async () => {
  const queue = newMail();
  await queue.enqueue('mail.sold', { itemId: '42', price: 97 });
  const page: Page<Task<Mail>> = await queue.list('ready');
  const [task] = page.tasks;
  if (task?.name !== 'mail.sold') throw new Error('the name tells the payload');
  const price: number = task.payload.price;
  const { tasks: summaries } = await queue.summaries('ready', { limit: 10 });
  const summary: TaskSummary<Mail> = summaries[0]!;
  // @ts-expect-error -- left out
  expect(summary.payload).toBeUndefined();
  // @ts-expect-error -- left out
  expect(summary.result).toBeUndefined();
  const isNamed: boolean = summary.name === 'mail.expired';
  expect([price, isNamed]).toEqual([97, false]);
});

test('states and options that there are not', async () => {
  const queue = newMail();
  const state: TaskState = 'waiting';
  expect(await queue.list(state)).toEqual({ tasks: [], cursor: null });
  // @ts-expect-error -- no state
  await expect(queue.list('done')).rejects.toThrow(RangeError);
  // @ts-expect-error -- not of those that have ended
  await expect(queue.clean('ready')).rejects.toThrow(RangeError);
  // @ts-expect-error -- what has succeeded is not retried
  await expect(queue.retryAll({ state: 'succeeded' })).rejects.toThrow(RangeError);
  // @ts-expect-error -- an id is a string
  await expect(queue.remove(42)).rejects.toThrow(TypeError);
  // @ts-expect-error -- a reason is text
  await expect(queue.cancel('a', { reason: new Error('why') })).rejects.toThrow(TypeError);
  const isDone: boolean = await queue.cancel('a');
  const count: number = await queue.drain();
  expect([isDone, count]).toEqual([false, 0]);
});

test('tasks of a flow are of the queue, unless they name another', async () => {
  const queue = newMail();
  const flow: EnqueuedFlow = await queue.enqueueFlow({
    name: 'mail.expired',
    payload: { itemId: '41' },
    onChildFailure: 'ignore',
    children: [
      { name: 'mail.sold', payload: { itemId: '42', price: 1 }, options: { priority: 'high' } },
      {
        queue: 'reports',
        name: 'report',
        payload: 1,
        children: [{ name: 'mail.expired', payload: { itemId: '43' } }],
      },
    ],
  });
  // @ts-expect-error -- no such task
  const unknown: FlowTask<Mail> = { name: 'mail.lost', payload: { itemId: '42' } };
  // @ts-expect-error -- the payload of another task
  const wrong: FlowTask<Mail> = { name: 'mail.sold', payload: { itemId: '42' } };
  // @ts-expect-error -- no such policy
  const policy: FlowTask<Mail> = { name: 'mail.expired', payload: { itemId: '' }, onChildFailure: 'retry' };
  expect([flow.children.length, unknown.name, wrong.name, policy.onChildFailure]).toEqual([
    2,
    'mail.lost',
    'mail.sold',
    'retry',
  ]);
});

test('the types that handlers, results and readers get', async () => {
  const queue = newMail();
  const handlers: Partial<Handlers<Mail>> = {
    'mail.expired': async (_, context) => {
      const children: Child[] = await context.children();
      const [first] = children;
      // @ts-expect-error -- it isn't known what a child returns
      const length: number = first?.result;
      return length;
    },
  };
  const { id } = await queue.enqueue('mail.expired', { itemId: '42' });
  const result: unknown = await queue.result(id, { waitMs: 0 }).catch(() => 'not yet');
  await queue.configure({ keepEvents: 10 });
  await queue.cancel(id);
  for await (const event of queue.events({ after: 'oldest' })) {
    const seen: QueueEvent = event;
    expect(seen).toMatchObject({ type: 'cancelled', id });
    break;
  }
  // @ts-expect-error -- an id
  await expect(queue.result(42)).rejects.toThrow(TypeError);
  expect([result, Object.keys(handlers)]).toEqual(['not yet', ['mail.expired']]);
});

test('the payload of a schedule belongs to the name of its task', async () => {
  const queue = newMail();
  const every: ScheduleRule = { everyMs: 60_000, startAt: new Date(0), maxRuns: 3 };
  const options: ScheduledTaskOptions = { priority: 'high', attempts: 2, headers: { a: 'b' }, group: 'g' };
  const scheduled: Scheduled = await queue.schedule('a', every, 'mail.expired', { itemId: '42' }, options);
  const listed: Schedule[] = await queue.schedules();
  expect([scheduled.isChanged, listed.length]).toEqual([true, 1]);

  // @ts-expect-error -- the payload of another task
  await queue.schedule('b', every, 'mail.sold', { itemId: '42' });
  // @ts-expect-error -- no such task
  await queue.schedule('c', every, 'mail.lost', { itemId: '42' });
  // @ts-expect-error -- both at once
  const both: ScheduleRule = { everyMs: 60_000, cron: '* * * * *' };
  // @ts-expect-error -- a time zone without a cron
  const zone: ScheduleRule = { everyMs: 60_000, timezone: 'UTC' };
  // @ts-expect-error -- no such policy
  const some: ScheduleRule = { cron: '* * * * *', missed: 'some' };
  // @ts-expect-error -- the id follows from the key and the instant
  const id: ScheduledTaskOptions = { id: 'x' };
  for (const rule of [both, zone, some]) {
    await expect(queue.schedule('d', rule, 'mail.expired', { itemId: '' })).rejects.toThrow(/schedule "d"/);
  }
  await expect(queue.schedule('d', every, 'mail.expired', { itemId: '' }, id)).rejects.toThrow(
    /schedule has no option "id"; there are priority,/,
  );
});

/** The payload follows from the name. */
function describeTask(task: ClaimedTask<Mail>): string {
  if (task.name === 'mail.sold') {
    return String(task.payload.price);
  }
  // @ts-expect-error -- that is the payload of the other one
  void task.payload.price;
  return task.payload.itemId;
}

test('claims', async () => {
  const claims = new Claims<Mail>(redis, 'q', { prefix: freshPrefix() });
  const tasks: ClaimedTask<Mail>[] = await claims.claim({ limit: 1 });
  expect(tasks.map(describeTask)).toEqual([]);
  // @ts-expect-error -- no such option
  await expect(claims.claim({ name: 'a' })).rejects.toThrow('claim has no option "name"');
  // @ts-expect-error -- a failure has a reason
  await expect(claims.fail('a', '0-1', {})).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
  // @ts-expect-error -- a claim has no handlers
  expect(() => new Claims(redis, 'q', { concurrency: 5 })).toThrow('Claims has no option "concurrency"');
  await claims.stop();
});

const schemas = {
  'mail.sold': z.object({ itemId: z.string(), price: z.number().default(1), at: z.coerce.date<string>() }),
  'mail.expired': z.object({ itemId: z.string() }),
};

test('a queue takes its payload types from the inputs of its schemas', async () => {
  const queue = new Queue(redis, 'mail', { prefix: freshPrefix(), schemas });
  const { id } = await queue.enqueue('mail.sold', { itemId: '1', at: '2026-11-20' });
  await queue.enqueueMany([{ name: 'mail.expired', payload: { itemId: '1' } }]);
  // @ts-expect-error -- no such task
  await queue.enqueue('mail.lost', { itemId: '1' });
  // @ts-expect-error -- an input is a text
  await queue.enqueue('mail.sold', { itemId: '1', at: new Date() });
  // @ts-expect-error -- itemId is a text
  await expect(queue.enqueue('mail.sold', { itemId: 1, at: '' })).rejects.toThrow('itemId');
  const task = await queue.get(id);
  if (task?.name !== 'mail.sold') throw new Error('the name tells the payload');
  const at: string = task.payload.at;
  expect(at).toBe('2026-11-20');
});

test('a worker takes the payload types of its handlers from the outputs of its schemas', () => {
  const worker = new Worker(
    redis,
    ['mail'],
    {
      'mail.sold': ({ at, price }) => at.getTime() + price,
      'mail.expired': {
        handleMany: (tasks) => tasks.map(({ payload }) => payload.itemId.length),
        maxSize: 10,
      },
    },
    { schemas },
  );
  // It may know schemas of tasks that it doesn't run.
  const some = new Worker(redis, ['mail'], { 'mail.sold': () => undefined }, { schemas });
  const wrong: Handlers<{ 'mail.sold': z.output<(typeof schemas)['mail.sold']> }> = {
    // @ts-expect-error -- there is no seller
    'mail.sold': ({ seller }) => seller,
  };
  expect([worker, some, wrong]).toHaveLength(3);
});

test('schemas fit a map of types that is given', () => {
  interface Sent {
    'mail.sold': { itemId: string; price?: number | undefined; at: string };
    'mail.expired': { itemId: string };
  }
  interface Read {
    'mail.sold': { itemId: string; price: number; at: Date };
    'mail.expired': { itemId: string };
  }
  const some: QueueOptions<Sent> = { schemas: { 'mail.expired': schemas['mail.expired'] } };
  const all: WorkerOptions<Read> = { schemas };
  expect(new Queue<Sent>(redis, 'mail', { ...some, schemas })).toBeInstanceOf(Queue);
  // @ts-expect-error -- another type
  expect(new Queue<Sent>(redis, 'mail', { schemas: { 'mail.sold': z.string() } })).toBeInstanceOf(Queue);
  // @ts-expect-error -- no such task
  expect(new Queue<Sent>(redis, 'mail', { schemas: { 'mail.lost': z.string() } })).toBeInstanceOf(Queue);
  const handlers: Handlers<Read> = { 'mail.sold': ({ at }) => at.getTime(), 'mail.expired': () => undefined };
  expect(new Worker<Read>(redis, ['mail'], handlers, all)).toBeInstanceOf(Worker);
});

test('any library that has Standard Schemas fits', () => {
  const own: StandardSchemaV1<string, number> = {
    '~standard': { version: 1, vendor: 'own', validate: (value) => ({ value: String(value).length }) },
  };
  const queue = new Queue(redis, 'q', { schemas: { t: own } });
  const worker = new Worker(redis, ['q'], { t: (length) => length.toFixed() }, { schemas: { t: own } });
  // @ts-expect-error -- the input is a text
  const wrong = (): Promise<unknown> => queue.enqueue('t', 7);
  expect([worker, wrong]).toHaveLength(2);
});

test('forRoot takes a client or a URL, and options of workers', () => {
  const worker: QueuesWorkerOptions = { queues: ['mail'], concurrency: 5, fairness: 'rotate' };
  const options: QueuesModuleOptions = { redis, prefix: undefined, workers: [worker], graceMs: 1_000 };
  expect(QueuesModule.forRoot(options)).toMatchObject({ module: QueuesModule, global: true });
  expect(QueuesModule.forRoot({ url: 'redis://127.0.0.1', workers: worker })).toHaveProperty('exports');
  expect(QueuesModule.forRoot({ redis, workers: false })).toHaveProperty('exports');
  const asynchronous = QueuesModule.forRootAsync({ inject: ['redis'], useFactory: async () => options });
  expect(asynchronous).toHaveProperty('providers');
  const cluster = (client: Cluster): QueuesModuleOptions => ({ redis: client });
  expect(cluster).toHaveLength(1);

  // @ts-expect-error -- no client
  QueuesModule.forRoot({ prefix: 'app' });
  // @ts-expect-error -- both
  QueuesModule.forRoot({ redis, url: 'redis://127.0.0.1' });
  // @ts-expect-error -- the prefix is the module's
  QueuesModule.forRoot({ redis, workers: { prefix: 'app' } });
});

test('forFeature takes the options of queues', () => {
  const mail: QueueFeatureOptions = { priorities: ['a'], shards: 2, schemas };
  expect(QueuesModule.forFeature({ queues: { mail } }).exports).toHaveLength(1);
  expect(QueuesModule.forFeature({ queues: { mail: { tasks: ['mail.sold'] } } }).exports).toHaveLength(1);
  // @ts-expect-error -- the prefix is the module's
  QueuesModule.forFeature({ queues: { mail: { prefix: 'app' } } });
});

test('@TaskHandler fits its method', () => {
  class Decorated {
    @InjectQueue('mail') declare readonly queue: Queue;

    @TaskHandler('a')
    async both(_payload: { itemId: string }, _context: TaskContext): Promise<string> {
      return '';
    }

    @TaskHandler('b', { queue: 'mail', timeoutMs: 1_000, concurrency: 2, backoff: { type: 'fixed' } })
    none(): void {}

    @TaskHandler('c', { batch: { maxSize: 10, waitMs: 100 } })
    many(tasks: readonly BatchTask<number>[]): number[] {
      return tasks.map(({ payload }) => payload);
    }

    // @ts-expect-error -- the second argument is the context
    @TaskHandler('d')
    misled(_payload: string, _attempt: number): void {}

    // @ts-expect-error -- a batch is an array of tasks
    @TaskHandler('e', { batch: { maxSize: 10 } })
    single(_payload: string): void {}
  }
  // @ts-expect-error -- no such option
  expect(() => TaskHandler('f', { retries: 5 })).toThrow(TypeError);
  expect(Object.getOwnPropertyNames(Decorated.prototype)).toContain('misled');
});
