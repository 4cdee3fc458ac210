/**
 * The actions of a worker as time goes by in its process. The clock and the timers stand still here unless a test moves them, so
 * neither a slow machine nor a long wait has a part in it; the server's clock goes on.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import { Queue, Worker } from '@mortise/queues';
import type { TaskContext } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';
import { fetcherFetchAndAck, heartbeaterRenew } from '../../src/scripts.gen.js';

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
type Tasks = Record<string, any>;

const LEASE_MS = 9_000;
const redis = connect();
const workers = new Set<Worker<Tasks>>();

beforeAll(async () => {
  await redis.ping();
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'clearImmediate', 'queueMicrotask'] });
});
afterEach(async () => {
  const stopping = [...workers].map((worker) => worker.stop({ graceMs: 0 }));
  await jest.advanceTimersByTimeAsync(10_000);
  await Promise.all(stopping);
  workers.clear();
});
afterAll(() => {
  jest.useRealTimers();
});

/** A client whose replies to a script come in only when what `hold` has returned last is called. */
function holding({ sha1 }: { readonly sha1: string }): {
  readonly client: typeof redis;
  readonly hold: () => () => void;
  /** Whether every call has its reply. */
  readonly isQuiet: () => boolean;
  /** When the last call that has its reply was sent, by `performance.now()`. */
  readonly lastSentAt: () => number;
} {
  let door: Promise<void> | undefined;
  let underWay = 0;
  let lastSentAt = 0;
  const client = new Proxy(redis, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      if (property !== 'call' && property !== 'callBuffer') return value.bind(target);
      return async (command: string, args: string[]) => {
        underWay += 1;
        const sentAt = performance.now();
        try {
          const reply: unknown = await value.call(target, command, ...args);
          if (args[0] === sha1) {
            await door;
            lastSentAt = sentAt;
          }
          return reply;
        } finally {
          underWay -= 1;
        }
      };
    },
  });
  return {
    client,
    isQuiet: () => underWay === 0,
    lastSentAt: () => lastSentAt,
    hold() {
      let open!: () => void;
      const mine = new Promise<void>((resolve) => {
        open = resolve;
      });
      door = mine;
      return () => {
        if (door === mine) door = undefined;
        open();
      };
    },
  };
}

/** Lets what is under way come to its end. */
async function settle(): Promise<void> {
  for (let round = 0; round < 5; round += 1) {
    await redis.ping();
    await turn();
  }
}

/** Looks as long as it takes; time stands still. */
async function until(look: () => unknown): Promise<void> {
  while (!(await look())) await settle();
}

async function launch(
  client: typeof redis,
  t: (payload: unknown, context: TaskContext) => unknown,
): Promise<{
  queue: Queue<Tasks>;
  errors: unknown[];
}> {
  const prefix = freshPrefix();
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const worker = new Worker<Tasks>(
    client,
    ['q'],
    { t },
    { prefix, leaseMs: LEASE_MS, concurrency: 1, onError },
  );
  workers.add(worker);
  await worker.start();
  return { queue: new Queue(redis, 'q', { prefix }), errors };
}

test('an attempt whose lease cannot be renewed is aborted at its earliest end, to the ms', async () => {
  const { client, hold, isQuiet, lastSentAt } = holding(heartbeaterRenew);
  const contexts: TaskContext[] = [];
  const { queue, errors } = await launch(client, (_, context) => {
    contexts.push(context);
    return new Promise(() => undefined);
  });
  const { id } = await queue.enqueue('t', 1);
  await until(() => contexts.length === 1);
  const { signal } = contexts[0]!;
  // Once it is renewed.
  await jest.advanceTimersByTimeAsync(LEASE_MS / 3);
  await settle();
  await until(isQuiet);
  const release = hold();
  // Not always just now: a subscription that opens late renews early. Redis may count it from almost 1 ms earlier.
  await jest.advanceTimersByTimeAsync(lastSentAt() + LEASE_MS - 2 - performance.now());
  await settle();
  expect(signal.aborted).toBe(false);
  await jest.advanceTimersByTimeAsync(1);
  expect(signal.reason).toMatchObject({ code: 'ERR_LEASE_LOST', taskId: id });
  expect(errors).toEqual([signal.reason]);
  release();
});

test('leases are renewed at a third of them, while handlers run', async () => {
  const contexts: TaskContext[] = [];
  const { queue, errors } = await launch(redis, (_, context) => {
    contexts.push(context);
    return new Promise(() => undefined);
  });
  await queue.enqueue('t', 1);
  await until(() => contexts.length === 1);
  for (let third = 0; third < 9; third += 1) {
    await jest.advanceTimersByTimeAsync(LEASE_MS / 3);
    await settle();
  }
  expect(contexts[0]!.signal.aborted).toBe(false);
  expect(errors).toEqual([]);
});

test('a task whose reply comes after its lease is not begun, and is taken again', async () => {
  const { client, hold } = holding(fetcherFetchAndAck);
  const run: boolean[] = [];
  const { queue, errors } = await launch(client, (_, { signal }) => void run.push(signal.aborted));
  // Idle, and with nothing under way.
  await settle();
  const first = hold();
  // A task with one attempt is not handed off.
  const { id } = await queue.enqueue('t', 1, { attempts: 1 });
  await until(async () => (await queue.get(id))?.state === 'active');
  await jest.advanceTimersByTimeAsync(LEASE_MS);
  const second = hold();
  first();
  await settle();
  // It was given back, and the next reply has not come yet.
  expect(run).toEqual([]);
  second();
  await until(async () => {
    await jest.advanceTimersByTimeAsync(100);
    return (await queue.get(id))?.state === 'succeeded';
  });
  expect(run).toEqual([false]);
  expect(errors).toEqual([]);
});
