import { describe, expect, test } from '@jest/globals';
import { Worker } from '@mortise/queues';
import type { Handlers, TaskContext } from '@mortise/queues';
import { gate } from '@mortise/test-kit';
import { newQueue, redis } from '../fixture/new-queue.js';
import type { Tasks } from '../fixture/launch.js';
import { counted, reached, until } from '../fixture/until.js';

describe('an object with options', () => {
  test('runs tasks as a function does, as a method of its own', async () => {
    const { queue, work } = newQueue();
    class Greeter {
      greeting = 'hello';

      handle(payload: string, { attempt }: TaskContext): string {
        if (attempt === 1) throw new Error('not yet');
        return `${this.greeting} ${payload}`;
      }
    }
    await work({ t: new Greeter() }, { backoff: { delayMs: 0 } });
    const { id } = await queue.enqueue('t', 'world');
    expect(await reached(queue, id, 'succeeded')).toMatchObject({ result: 'hello world', attempt: 2 });
  });

  test('its backoff goes before that of the worker, and after that of a task', async () => {
    const { queue, work } = newQueue();
    const handle = (): never => {
      throw new Error('no');
    };
    await work(
      { t: { handle, backoff: { type: 'fixed', delayMs: 600_000, jitter: 0 } } },
      { backoff: { delayMs: 0 } },
    );
    await queue.enqueue('t', 1, { id: 'handler' });
    await queue.enqueue('t', 1, { id: 'task', backoff: { type: 'fixed', delayMs: 7_200_000, jitter: 0 } });
    await counted(queue, { retrying: 2 });
    const handler = (await queue.get('handler'))!.runAt! - Date.now();
    const task = (await queue.get('task'))!.runAt! - Date.now();
    expect(Math.round(handler / 60_000)).toBe(10);
    expect(Math.round(task / 60_000)).toBe(120);
  });

  test.each<unknown>([
    null,
    undefined,
    'text',
    {},
    { handle: 1 },
    { handle: () => 1, handleMany: () => undefined, maxSize: 1 },
    { handleMany: () => undefined },
    { handleMany: () => undefined, maxSize: 0 },
    { handleMany: () => undefined, maxSize: 51 },
    { handleMany: () => undefined, maxSize: 2, waitMs: -1 },
    { handleMany: () => undefined, maxSize: 2, waitMs: Infinity },
    { handle: () => 1, timeoutMs: 0 },
    { handle: () => 1, timeoutMs: 2 ** 31 },
    { handle: () => 1, timeoutMs: Number.NaN },
    { handle: () => 1, concurrency: 0 },
    { handle: () => 1, concurrency: 1.5 },
    { handle: () => 1, backoff: { type: 'custom' } },
    { handle: () => 1, backoff: 3 },
  ])('%p is refused', (handler) => {
    const handlers = { t: handler } as unknown as Handlers<Tasks>;
    expect(() => new Worker(redis, ['q'], handlers)).toThrow(
      /^(?!Cannot).*(handle|Size|Ms|concurrency|backoff)/,
    );
  });
});

describe('the concurrency of a name', () => {
  test('is never exceeded, and other names go on', async () => {
    const { queue, work } = newQueue();
    let active = 0;
    let most = 0;
    const door = gate();
    const fast: number[] = [];
    const order: number[] = [];
    await work(
      {
        slow: {
          concurrency: 3,
          handle: async (payload: number) => {
            active += 1;
            most = Math.max(most, active);
            order.push(payload);
            await door.passed;
            active -= 1;
          },
        },
        fast: (payload: number) => void fast.push(payload),
      },
      { concurrency: 10 },
    );
    // Far more than the worker can hold lie ahead of the others.
    const total = 300;
    await queue.enqueueMany(Array.from({ length: total }, (_, payload) => ({ name: 'slow', payload })));
    await queue.enqueueMany(Array.from({ length: 20 }, (_, payload) => ({ name: 'fast', payload })));
    await until(() => fast.length === 20);
    expect(active).toBe(3);
    // Those that run, and a line of 16.
    await counted(queue, { active: 19 });
    door.open();
    await counted(queue, { succeeded: total + 20 });
    expect(most).toBe(3);
    expect(order.toSorted((a, b) => a - b)).toEqual(Array.from({ length: total }, (_, index) => index));
    // Returned tasks come again in about their order.
    const successors = order.filter((payload, index) => payload === order[index - 1]! + 1);
    expect(successors.length).toBeGreaterThan(total / 2);
  });

  test('a waiting task does not count as an attempt, and goes back at once when the worker stops', async () => {
    const { queue, work } = newQueue();
    const door = gate();
    const run: unknown[] = [];
    const handle = async (payload: unknown, { attempt }: TaskContext): Promise<void> => {
      run.push([payload, attempt]);
      await door.passed;
    };
    const slow = { concurrency: 1, handle };
    const worker = await work({ slow });
    await queue.enqueueMany([1, 2, 3].map((payload) => ({ name: 'slow', payload })));
    await counted(queue, { active: 3 });
    expect([worker.running, run]).toEqual([1, [[1, 1]]]);
    const stopped = worker.stop();
    await counted(queue, { ready: 2 });
    expect(await queue.counts()).toMatchObject({ active: 1, ready: 2 });
    door.open();
    await stopped;
    await work({ slow });
    await counted(queue, { succeeded: 3 });
    expect(run).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
    ]);
  });

  test('a failed attempt makes room for the next one', async () => {
    const { queue, work } = newQueue();
    const run: number[] = [];
    const handle = (payload: number): never => {
      run.push(payload);
      throw new Error('no');
    };
    await work({ t: { handle, concurrency: 1 } });
    await queue.enqueueMany(
      [1, 2, 3, 4].map((payload) => ({ name: 't', payload, options: { attempts: 1 } })),
    );
    await counted(queue, { dead: 4 });
    expect(run).toEqual([1, 2, 3, 4]);
  });
});
