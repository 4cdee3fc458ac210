/** A worker whose handlers are quick prefetches tasks; other workers, queues and tasks must not suffer from it. */
import { describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import type { EnqueueOptions, Handlers, QueueOptions, TaskContext, Worker } from '@mortise/queues';
import type { WorkerOptions } from '@mortise/queues';
import { connect, freshPrefix, gate } from '@mortise/test-kit';
import { QueueKeys } from '../../src/keys.js';
import { encodeTaskId } from '../../src/task/task-id.js';
import type { Watched } from '../fixture/commands-of.js';
import { watched } from '../fixture/commands-of.js';
import { heldPrefetchWaits, heldRechecks, heldTimeouts } from '../fixture/paused-timers.js';
import { launch } from '../fixture/launch.js';
import { until } from '../fixture/until.js';

const redis = connect();
const MOST_PREFETCHED = 8;
const QUICK_ONES = 40;
const BEHIND = 20;
const ROUNDS = 20;
const HOUR_MS = 3_600_000;
/** When a test says so, the slots of handlers that are held are free, and nobody has learnt how long these take. */
const TIMEOUT_MS = 7_654_321;

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
type Tasks = Record<string, any>;

interface Scene {
  readonly queues?: string[];
  readonly queueOptions?: QueueOptions;
  readonly prepare?: (queue: Queue<Tasks>) => Promise<unknown>;
  readonly worker?: WorkerOptions;
  /** Beside `quick` and `hold`. */
  readonly handlers?: Handlers<Tasks>;
  /** How many tasks stand behind those that are held, and what they are. */
  readonly behind?: number;
  readonly name?: string;
  readonly options?: EnqueueOptions;
}

interface WorkingWorker {
  readonly prefix: string;
  readonly queue: Queue<Tasks>;
  readonly keys: QueueKeys['of'];
  readonly worker: Worker<Tasks>;
  readonly watching: Watched;
  /** The later tasks that have begun, in their order. */
  readonly begun: number[];
  readonly contexts: TaskContext[];
  readonly ids: readonly string[];
  /** Ends the handlers that are held; those that begin after that are not. */
  readonly open: () => void;
}

/** A worker that has run quick tasks, now has all its slots taken by handlers that do not end, and has more tasks behind them. */
async function newHeld(scene: Scene = {}): Promise<WorkingWorker> {
  const { behind = BEHIND, name = 'quick', options = {} } = scene;
  const { concurrency = 1 } = scene.worker ?? {};
  const prefix = freshPrefix();
  const queue = new Queue<Tasks>(redis, 'q', { prefix, ...scene.queueOptions });
  await scene.prepare?.(queue);
  const watching = await watched();
  const door = gate();
  const begun: number[] = [];
  const contexts: TaskContext[] = [];
  let holding = 0;
  const quick = (payload: number, context: TaskContext): void => {
    if (payload < 0) return;
    begun.push(payload);
    contexts.push(context);
  };
  const hold = async (): Promise<void> => {
    holding += 1;
    await door.passed;
  };
  const stored = await queue.enqueueMany([
    ...Array.from({ length: QUICK_ONES * concurrency }, () => ({ name: 'quick', payload: -1 })),
    ...Array.from({ length: concurrency }, () => ({ name: 'hold', payload: -1 })),
    ...Array.from({ length: behind }, (_, payload) => ({ name, payload, options })),
  ]);
  const held = { handle: hold, timeoutMs: TIMEOUT_MS, backoff: { delayMs: HOUR_MS } };
  const handlers = { quick, hold: held, ...scene.handlers };
  const workerOptions = { ...scene.worker, concurrency, prefix };
  const worker = await launch(watching.client, scene.queues ?? 'q', handlers, workerOptions);
  await until(() => holding === concurrency);
  await watching.quiet();
  const ids = stored.slice(stored.length - behind).map(({ id }) => id);
  const keys = new QueueKeys('q', prefix).of;
  return { prefix, queue, keys, worker, watching, begun, contexts, ids, open: () => door.open() };
}

/** One that has taken as many as it may. A machine that stands still meanwhile makes handlers seem slow: then another one. */
async function newPrefetched(scene: Scene = {}): Promise<WorkingWorker> {
  const { concurrency = 1 } = scene.worker ?? {};
  const most = concurrency + Math.min(MOST_PREFETCHED, scene.behind ?? BEHIND);
  for (let round = 1; round <= ROUNDS; round += 1) {
    const held = await newHeld(scene);
    const { active } = await held.queue.counts();
    expect(active).toBeLessThanOrEqual(most);
    if (active === most) return held;
    await held.worker.stop({ graceMs: 0 });
  }
  throw new Error(`nothing was prefetched in ${ROUNDS} rounds`);
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe('prefetched tasks', () => {
  const waits = heldPrefetchWaits();
  const rechecks = heldRechecks();
  const timeouts = heldTimeouts(TIMEOUT_MS);

  test('are eight at most, and no slot is taken twice', async () => {
    let [running, most] = [0, 0];
    const slow = async (): Promise<void> => {
      running += 1;
      most = Math.max(most, running);
      await redis.ping();
      running -= 1;
    };
    const { queue, worker, open } = await newPrefetched({
      handlers: { slow },
      name: 'slow',
      worker: { concurrency: 3 },
    });
    expect(worker.running).toBe(3);
    open();
    await until(async () => (await queue.counts()).succeeded === 3 * QUICK_ONES + 3 + BEHIND);
    expect(most).toBeLessThanOrEqual(3);
  });

  test('begin in their order', async () => {
    const { queue, begun, contexts } = await newPrefetched();
    expect(begun).toEqual([]);
    timeouts.fire();
    await until(async () => (await queue.counts()).succeeded === QUICK_ONES + BEHIND);
    expect(begun).toEqual(numbers(BEHIND));
    expect(new Set(contexts.map(({ attempt }) => attempt))).toEqual(new Set([1]));
  });

  test('are not overtaken, when they go back, by what was asked for before that', async () => {
    const doors: (() => void)[] = [];
    let isOpen = false;
    const steps: number[] = [];
    const step = async (payload: number): Promise<void> => {
      steps.push(payload);
      if (!isOpen) await new Promise<void>((resolve) => doors.push(resolve));
    };
    const { queue, watching } = await newPrefetched({ handlers: { step }, name: 'step' });
    const { client } = watching;
    const callBuffer = client.callBuffer.bind(client);
    const answer = gate();
    let answers = 0;
    client.callBuffer = (async (...command: Parameters<typeof callBuffer>) => {
      const reply = await callBuffer(...command);
      answers += 1;
      if (answers === 1) await answer.passed;
      return reply;
    }) as typeof callBuffer;
    timeouts.fire();
    // The first one runs, the next seven wait, and the ninth is on its way.
    await until(() => steps.length === 1 && answers === 1);
    await until(async () => (await queue.counts()).active === 1 + MOST_PREFETCHED);
    expect(waits.fire()).toBeGreaterThan(0);
    await until(async () => (await queue.counts()).active === 2);
    isOpen = true;
    doors[0]!();
    await watching.quiet();
    answer.open();
    await until(async () => (await queue.counts()).succeeded === QUICK_ONES + BEHIND);
    expect(steps).toEqual(numbers(BEHIND));
  });

  test('may go before a higher priority that comes later, but only those', async () => {
    const { queue, begun } = await newPrefetched();
    await queue.enqueue('quick', 100, { priority: 'high' });
    timeouts.fire();
    await until(() => begun.length === BEHIND + 1);
    expect(begun.indexOf(100)).toBeLessThanOrEqual(MOST_PREFETCHED);
  });

  test('make one call do for several tasks', async () => {
    for (let round = 1; ; round += 1) {
      const { queue, watching, begun, open } = await newPrefetched({ behind: 200 });
      const before = watching.sent.length;
      open();
      await until(async () => (await queue.counts()).succeeded === QUICK_ONES + 1 + 200);
      await watching.quiet();
      const calls = watching.sent.slice(before).filter(({ what }) => what === 'fetcher.fetch-and-ack').length;
      expect(begun).toEqual(numbers(200));
      // A handler that the machine has held up starts over.
      if (calls > 60 && round < ROUNDS) continue;
      expect(calls).toBeLessThanOrEqual(60);
      return;
    }
  });

  test('go back when a slot does not become free in time; another worker has them, and it does not count', async () => {
    const { queue, prefix, worker, begun } = await newPrefetched();
    const run: { payload: number; attempt: number }[] = [];
    const quick = (payload: number, { attempt }: TaskContext): void => void run.push({ payload, attempt });
    await launch(redis, 'q', { quick }, { prefix });
    await until(() => run.length === BEHIND - MOST_PREFETCHED);
    await until(() => waits.fire() > 0);
    await until(() => run.length === BEHIND);
    expect([begun, worker.running]).toEqual([[], 1]);
    expect(run.map(({ payload }) => payload).toSorted((a, b) => a - b)).toEqual(numbers(BEHIND));
    expect(new Set(run.map(({ attempt }) => attempt))).toEqual(new Set([1]));
    await until(async () => (await queue.counts()).active === 1);
  });

  test('go back at once when the worker stops', async () => {
    const { queue, worker, begun, open } = await newPrefetched();
    const stopped = worker.stop();
    await until(async () => (await queue.counts()).active === 1);
    open();
    await stopped;
    expect(begun).toEqual([]);
    expect(await queue.counts()).toMatchObject({ active: 0, succeeded: QUICK_ONES + 1 });
  });

  test('go back at once when the worker pauses', async () => {
    const { queue, worker, begun, open } = await newPrefetched();
    worker.pause();
    await until(async () => (await queue.counts()).active === 1);
    open();
    await until(async () => (await queue.counts()).active === 0);
    expect(begun).toEqual([]);
    worker.resume();
    await until(() => begun.length === BEHIND);
    expect(begun).toEqual(numbers(BEHIND));
  });

  test('can be cancelled, and are not run', async () => {
    const { queue, watching, ids, begun } = await newPrefetched({
      prepare: (created) => created.configure({ keepEvents: 1 }),
    });
    const before = watching.sent.length;
    expect(await queue.cancel(ids[2]!)).toBe(true);
    await until(() => watching.sent.slice(before).some(({ what }) => what === 'heartbeater.renew'));
    await watching.quiet();
    timeouts.fire();
    await until(async () => (await queue.counts()).succeeded === QUICK_ONES + BEHIND - 1);
    expect(begun).toEqual(numbers(BEHIND).filter((n) => n !== 2));
    expect(await queue.get(ids[2]!)).toMatchObject({ state: 'cancelled' });
  });

  test('are not begun once they have expired', async () => {
    const { queue, ids, begun } = await newPrefetched({ behind: 8, options: { expiresInMs: 1_500 } });
    const { expiresAt = 0 } = (await queue.get(ids[7]!))!;
    await until(() => Date.now() > expiresAt + 1_000);
    timeouts.fire();
    await until(async () => (await queue.counts()).dead === 8);
    expect(begun).toEqual([]);
  });

  test('go back when the queue gets a limit', async () => {
    const doors: (() => void)[] = [];
    const wait = (): Promise<void> => new Promise((resolve) => doors.push(resolve));
    const { queue } = await newPrefetched({ handlers: { wait }, name: 'wait' });
    await queue.configure({ concurrency: 100 });
    timeouts.fire();
    await until(() => doors.length === 1);
    await until(async () => (await queue.counts()).active === 1);
    doors[0]!();
    await until(() => doors.length === 2);
    await until(async () => (await queue.counts()).active === 1);
    expect(doors).toHaveLength(2);
  });

  test('do not keep a full worker registered as idle', async () => {
    const { queue, prefix, keys, begun } = await newPrefetched({ behind: 3 });
    expect(await redis.zcard(keys.idle)).toBe(0);
    const run: number[] = [];
    await launch(redis, 'q', { quick: (payload: number) => void run.push(payload) }, { prefix });
    await until(async () => (await redis.zcard(keys.idle)) === 1);
    await queue.enqueue('quick', 100);
    await until(() => run.length === 1);
    expect([run, begun]).toEqual([[100], []]);
    expect(rechecks.fire()).toBeGreaterThan(0);
  });

  test('are not begun under a lease that is over, though no renewal has failed', async () => {
    const onError = (): void => undefined;
    const { queue, keys, ids, contexts } = await newPrefetched({
      behind: MOST_PREFETCHED,
      worker: { leaseMs: 1_000, onError },
    });
    // Another worker has them, as their second attempt.
    const others = Buffer.from('A\0\0\0\0\0\x02\x01\0\x05', 'latin1');
    await Promise.all(ids.map((id) => redis.hset(keys.attempts, encodeTaskId(id), others)));
    // Longer than the lease, whose timer goes off after this.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_200);
    timeouts.fire();
    // Tasks of the other one run again after their leases, too.
    await until(async () => (await queue.counts()).succeeded >= QUICK_ONES + MOST_PREFETCHED);
    expect(contexts.filter(({ attempt }) => attempt === 1)).toEqual([]);
  });
});

describe('none is prefetched', () => {
  heldPrefetchWaits();

  const scenes: Record<string, Scene> = {
    'under a concurrency of the queue': { prepare: (queue) => queue.configure({ concurrency: 100 }) },
    'under a rate': {
      prepare: (queue) => queue.configure({ rate: { limit: 1e6, periodMs: 1_000, burst: 1e6 } }),
    },
    'under a concurrency of groups': {
      prepare: (queue) => queue.configure({ groups: { concurrency: 100 } }),
    },
    'under a rate of groups': {
      prepare: (queue) => queue.configure({ groups: { rate: { limit: 1e6, periodMs: 1_000 } } }),
    },
    'of ordered groups': { prepare: (queue) => queue.configure({ groups: { ordered: true } }) },
    'beside a batch handler': { handlers: { many: { maxSize: 1, handleMany: () => undefined } } },
    'beside a handler with a concurrency': { handlers: { few: { concurrency: 1, handle: () => undefined } } },
    'of several queues': { queues: ['q', 'other'] },
    'of several shards': { queueOptions: { shards: 2 } },
    'when it is the last attempt': { options: { attempts: 1 } },
    'with prefetch 0': { worker: { prefetch: 0 } },
  };

  test.each(Object.entries(scenes))('%s', async (_, scene) => {
    const { queue, worker, watching } = await newHeld(scene);
    await until(async () => (await queue.counts()).active === worker.running);
    await watching.quiet();
    expect(worker.running).toBe(1);
    expect(await queue.counts()).toMatchObject({ active: 1 });
  });
});

test('a handler that becomes slow keeps what was prefetched for some milliseconds only', async () => {
  const { queue, worker, begun, open } = await newHeld();
  // Nobody holds this timer, and nothing else makes the worker give anything back.
  await until(async () => (await queue.counts()).active === 1);
  expect([worker.running, begun]).toEqual([1, []]);
  open();
  await until(() => begun.length === BEHIND);
  expect(begun).toEqual(numbers(BEHIND));
});
