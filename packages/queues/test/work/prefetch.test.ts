/** A worker whose handlers are quick prefetches tasks; other workers, queues and tasks must not suffer from it. Then when, and for how long. */
import { describe, expect, test } from '@jest/globals';
import type { EnqueueOptions, Handlers, Queue, QueueOptions, TaskContext, Worker } from '@mortise/queues';
import type { WorkerOptions } from '@mortise/queues';
import { gate } from '@mortise/test-kit';
import { encodeTaskId } from '../../src/task/task-id.js';
import type { Attempt } from '../../src/work/attempt.js';
import { Prefetch } from '../../src/work/prefetch.js';
import type { Watched } from '../fixture/commands-of.js';
import { watched } from '../fixture/commands-of.js';
import { heldPrefetchWaits, heldRechecks, heldTimeouts } from '../fixture/paused-timers.js';
import { launch } from '../fixture/launch.js';
import type { NewQueue } from '../fixture/new-queue.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import type { Tasks } from '../fixture/launch.js';
import { counted, until } from '../fixture/until.js';

const MOST_PREFETCHED = 8;
const QUICK_ONES = 40;
const BEHIND = 20;
const ROUNDS = 20;
const HOUR_MS = 3_600_000;
/** When a test says so, the slots of handlers that are held are free, and nobody has learnt how long these take. */
const TIMEOUT_MS = 7_654_321;

interface Scene {
  readonly queues?: string[];
  readonly queueOptions?: QueueOptions;
  readonly prepare?: (queue: Queue<Tasks>) => Promise<unknown>;
  readonly worker?: WorkerOptions;
  /** Beside `quick` and `hold`. */
  readonly handlers?: Handlers<Tasks>;
  /** The number and kind of the tasks after the running ones. */
  readonly behind?: number;
  readonly name?: string;
  readonly options?: EnqueueOptions;
}

interface WorkingWorker extends NewQueue {
  readonly worker: Worker<Tasks>;
  readonly watching: Watched;
  /** The later tasks that have begun, in their order. */
  readonly begun: number[];
  readonly contexts: TaskContext[];
  readonly ids: readonly string[];
  /** Ends the handlers that are held; those that begin after that are not. */
  readonly open: () => void;
}

/** A worker that has run quick tasks, now has all its slots taken by handlers that do not end, and has more tasks after them. */
async function newHeld(scene: Scene = {}): Promise<WorkingWorker> {
  const { behind = BEHIND, name = 'quick', options = {} } = scene;
  const { concurrency = 1 } = scene.worker ?? {};
  const given = newQueue(scene.queueOptions);
  const { prefix, queue } = given;
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
  return { ...given, worker, watching, begun, contexts, ids, open: () => door.open() };
}

/** A worker that prefetched as many tasks as it may. A pause of the machine makes handlers seem slow; then another worker is tried. */
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

/** No timer goes off meanwhile. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function newAttempt(attempt = 1, attempts = 5): Attempt {
  return { attempt, attempts } as Partial<Attempt> as Attempt;
}

function newPrefetch(): { prefetch: Prefetch; given: Attempt[]; run: (ms: number, times: number) => void } {
  const given: Attempt[] = [];
  const prefetch = new Prefetch(8, (attempt) => void given.push(attempt));
  const run = (ms: number, times: number): void => {
    for (let n = 0; n < times; n += 1) prefetch.ran(ms);
  };
  return { prefetch, given, run };
}

/** The prefetch of a worker with quick handlers, whose queue has more tasks than it fetches. */
function newQuick(): ReturnType<typeof newPrefetch> {
  const made = newPrefetch();
  made.run(0.01, 20);
  for (let n = 0; n < 4; n += 1) made.prefetch.answered(true);
  return made;
}

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
    await counted(queue, { succeeded: 3 * QUICK_ONES + 3 + BEHIND });
    expect(most).toBeLessThanOrEqual(3);
  });

  test('begin in their order', async () => {
    const { queue, begun, contexts } = await newPrefetched();
    expect(begun).toEqual([]);
    timeouts.fire();
    await counted(queue, { succeeded: QUICK_ONES + BEHIND });
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
    await counted(queue, { active: 1 + MOST_PREFETCHED });
    expect(waits.fire()).toBeGreaterThan(0);
    await counted(queue, { active: 2 });
    isOpen = true;
    doors[0]!();
    await watching.quiet();
    answer.open();
    await counted(queue, { succeeded: QUICK_ONES + BEHIND });
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
      await counted(queue, { succeeded: QUICK_ONES + 1 + 200 });
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
    const { queue, work, worker, begun } = await newPrefetched();
    const run: { payload: number; attempt: number }[] = [];
    const quick = (payload: number, { attempt }: TaskContext): void => void run.push({ payload, attempt });
    await work({ quick });
    await until(() => run.length === BEHIND - MOST_PREFETCHED);
    await until(() => waits.fire() > 0);
    await until(() => run.length === BEHIND);
    expect([begun, worker.running]).toEqual([[], 1]);
    expect(run.map(({ payload }) => payload).toSorted((a, b) => a - b)).toEqual(numbers(BEHIND));
    expect(new Set(run.map(({ attempt }) => attempt))).toEqual(new Set([1]));
    await counted(queue, { active: 1 });
  });

  test('go back at once when the worker stops', async () => {
    const { queue, worker, begun, open } = await newPrefetched();
    const stopped = worker.stop();
    await counted(queue, { active: 1 });
    open();
    await stopped;
    expect(begun).toEqual([]);
    expect(await queue.counts()).toMatchObject({ active: 0, succeeded: QUICK_ONES + 1 });
  });

  test('go back at once when the worker pauses', async () => {
    const { queue, worker, begun, open } = await newPrefetched();
    worker.pause();
    await counted(queue, { active: 1 });
    open();
    await counted(queue, { active: 0 });
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
    await counted(queue, { succeeded: QUICK_ONES + BEHIND - 1 });
    expect(begun).toEqual(numbers(BEHIND).filter((n) => n !== 2));
    expect(await queue.get(ids[2]!)).toMatchObject({ state: 'cancelled' });
  });

  test('are not begun once they have expired', async () => {
    const { queue, ids, begun } = await newPrefetched({ behind: 8, options: { expiresInMs: 1_500 } });
    const { expiresAt = 0 } = (await queue.get(ids[7]!))!;
    await until(() => Date.now() > expiresAt + 1_000);
    timeouts.fire();
    await counted(queue, { dead: 8 });
    expect(begun).toEqual([]);
  });

  test('go back when the queue gets a limit', async () => {
    const doors: (() => void)[] = [];
    const wait = (): Promise<void> => new Promise((resolve) => doors.push(resolve));
    const { queue } = await newPrefetched({ handlers: { wait }, name: 'wait' });
    await queue.configure({ concurrency: 100 });
    timeouts.fire();
    await until(() => doors.length === 1);
    await counted(queue, { active: 1 });
    doors[0]!();
    await until(() => doors.length === 2);
    await counted(queue, { active: 1 });
    expect(doors).toHaveLength(2);
  });

  test('do not keep a full worker registered as idle', async () => {
    const { queue, keys, work, begun } = await newPrefetched({ behind: 3 });
    expect(await redis.zcard(keys.of.idle)).toBe(0);
    const run: number[] = [];
    await work({ quick: (payload: number) => void run.push(payload) });
    await until(async () => (await redis.zcard(keys.of.idle)) === 1);
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
    await Promise.all(ids.map((id) => redis.hset(keys.of.attempts, encodeTaskId(id), others)));
    // Longer than the lease, whose timer goes off after this.
    block(1_200);
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
  await counted(queue, { active: 1 });
  expect([worker.running, begun]).toEqual([1, []]);
  open();
  await until(() => begun.length === BEHIND);
  expect(begun).toEqual(numbers(BEHIND));
});

describe('places', () => {
  test('there are none until handlers have shown that they are quick', () => {
    const { prefetch, run } = newPrefetch();
    for (let n = 0; n < 10; n += 1) prefetch.answered(true);
    run(0.01, 5);
    expect(prefetch.places).toBe(0);
    run(0.01, 1);
    expect(prefetch.places).toBe(8);
  });

  test('there are none while they take half a millisecond, whatever one of them takes', () => {
    const { prefetch, run } = newQuick();
    run(1, 1);
    expect(prefetch.places).toBe(8);
    run(0.6, 20);
    expect(prefetch.places).toBe(0);
    run(0.4, 20);
    expect(prefetch.places).toBe(8);
  });

  test('they become more with each answer that is full, and none are left by one that is not', () => {
    const { prefetch, run } = newPrefetch();
    run(0.01, 20);
    expect(prefetch.places).toBe(0);
    const places = Array.from({ length: 5 }, () => {
      prefetch.answered(true);
      return prefetch.places;
    });
    expect(places).toEqual([1, 3, 7, 8, 8]);
    prefetch.answered(false);
    expect(prefetch.places).toBe(0);
  });
});

test('a queue that keeps back what may not wait is asked again after forty quick ones', () => {
  const { prefetch, run } = newQuick();
  prefetch.answered(false, true);
  prefetch.answered(true);
  run(0.01, 39);
  expect(prefetch.places).toBe(0);
  run(0.01, 1);
  expect(prefetch.places).toBe(1);
});

describe('a waiting task', () => {
  heldPrefetchWaits();

  test('is taken out in its order', () => {
    const { prefetch, given } = newQuick();
    const attempts = [newAttempt(), newAttempt(), newAttempt()];
    expect(attempts.map((attempt) => prefetch.add(attempt))).toEqual([true, true, true]);
    expect(prefetch.size).toBe(3);
    expect([prefetch.next(), prefetch.next()]).toEqual(attempts.slice(0, 2));
    prefetch.giveBack();
    expect(given).toEqual(attempts.slice(2));
    expect([prefetch.size, prefetch.next()]).toEqual([0, undefined]);
  });

  test('goes back when handlers have become slow', () => {
    const { prefetch, given, run } = newQuick();
    const attempt = newAttempt();
    prefetch.add(attempt);
    run(0.9, 100);
    // No more is taken, but this much may wait for its turn.
    expect([prefetch.places, given.length]).toEqual([0, 0]);
    run(20, 1);
    expect(given).toEqual([attempt]);
  });

  test('is no last attempt, nor a task that came after one with the same answer', () => {
    const { prefetch, given, run } = newQuick();
    const [first, last, behind] = [newAttempt(4, 5), newAttempt(5, 5), newAttempt(1, 5)];
    expect([first, last, behind].map((attempt) => prefetch.add(attempt))).toEqual([true, false, false]);
    expect([prefetch.size, prefetch.places, given.length]).toEqual([1, 0, 0]);
    prefetch.answered(true);
    expect(prefetch.add(behind)).toBe(true);
    expect(prefetch.places).toBe(0);
    run(0.01, 10);
    expect(prefetch.places).toBe(1);
  });
});

describe('how long prefetched tasks wait', () => {
  test('ends after eight milliseconds, also for tasks after the first one', async () => {
    const { prefetch, given } = newQuick();
    const startedAt = performance.now();
    const [first, second] = [newAttempt(), newAttempt()];
    prefetch.add(first);
    block(4);
    prefetch.add(second);
    expect(given).toEqual([]);
    await until(() => given.length === 2);
    expect(given).toEqual([first, second]);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(8);
    expect([prefetch.size, prefetch.places]).toEqual([0, 0]);
  });

  test('is that of the first one that still waits', async () => {
    const { prefetch, given } = newQuick();
    prefetch.add(newAttempt());
    block(4);
    const [, second] = [prefetch.next(), newAttempt()];
    const secondAt = performance.now();
    prefetch.add(second);
    await until(() => given.length > 0);
    expect(given).toEqual([second]);
    expect(performance.now() - secondAt).toBeGreaterThanOrEqual(8);
    expect(prefetch.size).toBe(0);
  });
});

test('the round is another one when something has gone back, or what comes with an answer has to', () => {
  const { prefetch, run } = newQuick();
  const rounds = [prefetch.round];
  const next = (act: () => unknown): void => {
    act();
    rounds.push(prefetch.round);
  };
  next(() => prefetch.giveBack());
  next(() => prefetch.add(newAttempt()));
  next(() => prefetch.giveBack());
  next(() => prefetch.add(newAttempt(5, 5)));
  next(() => {
    prefetch.answered(true);
    prefetch.add(newAttempt());
    run(20, 1);
  });
  expect(rounds.map((round) => rounds.indexOf(round))).toEqual([0, 0, 0, 3, 4, 5]);
});
