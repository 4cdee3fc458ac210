import { describe, expect, test } from '@jest/globals';
import { Worker } from '@mortise/queues';
import type { Handlers, TaskContext } from '@mortise/queues';
import { gate } from '@mortise/test-kit';
import { newQueue, redis } from '../fixture/new-queue.js';
import type { Tasks } from '../fixture/launch.js';
import { counted, reached, until } from '../fixture/until.js';

describe('handlers', () => {
  test('are given the payload and what belongs to the task', async () => {
    const { queue, work } = newQueue();
    const seen: unknown[] = [];
    await work({
      t: (payload, { id, queue: name, name: task, attempt, attempts, headers, signal }) => {
        seen.push(payload, { id, name, task, attempt, attempts, headers, isAborted: signal.aborted });
      },
    });
    const payload = { text: '🙂\0', list: [1.5, null], when: new Date(0) };
    await queue.enqueue('t', payload, { id: 'a', attempts: 3, headers: { trace: '1' } });
    await until(() => seen.length > 0);
    expect(seen).toEqual([
      { text: '🙂\0', list: [1.5, null], when: '1970-01-01T00:00:00.000Z' },
      { id: 'a', name: 'q', task: 't', attempt: 1, attempts: 3, headers: { trace: '1' }, isAborted: false },
    ]);
  });

  test('results are kept as JSON; nothing is kept of undefined', async () => {
    const { queue, work } = newQueue();
    await work({ t: (payload) => payload.result, nothing: () => undefined });
    for (const [id, result] of Object.entries({ a: { x: 'é' }, b: null, c: 0, d: '', e: false, f: [] })) {
      await queue.enqueue('t', { result }, { id });
      await reached(queue, id, 'succeeded');
      expect((await queue.get(id))!.result).toEqual(result);
    }
    await queue.enqueue('nothing', 1, { id: 'g' });
    expect(await reached(queue, 'g', 'succeeded')).not.toHaveProperty('result');
  });

  test('a result that cannot be kept is reported; the task has succeeded', async () => {
    const { queue, work } = newQueue();
    const cycle: { self?: object } = {};
    cycle.self = cycle;
    const errors: unknown[] = [];
    await work(
      {
        bigint: () => 1n,
        cycle: () => cycle,
        large: () => 'é'.repeat(131_072),
        hostile: () => ({
          toJSON: () => {
            throw Object.create(null);
          },
        }),
      },
      { onError: (error) => errors.push(error) },
    );
    for (const name of ['bigint', 'cycle', 'large', 'hostile']) await queue.enqueue(name, 1, { id: name });
    await counted(queue, { succeeded: 4 });
    expect(errors).toHaveLength(4);
    for (const name of ['bigint', 'cycle', 'large', 'hostile']) {
      expect(errors).toContainEqual(
        expect.objectContaining({ code: 'ERR_RESULT_NOT_KEPT', queue: 'q', taskId: name, taskName: name }),
      );
      expect(await queue.get(name)).not.toHaveProperty('result');
    }
    expect(String(errors[2])).toContain('262146 bytes');
  });

  test.each([[[]], ['q'], [[1]], [['']], [null]])('queues %j are refused', (queues) => {
    const handlers = { t: { handle: () => 1, queues } } as unknown as Handlers<Tasks>;
    expect(() => new Worker<Tasks>(redis, ['q'], handlers)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_ARG' }),
    );
  });

  test('a name without a handler is dead-lettered and reported, whatever Object has of that name', async () => {
    const { queue, work } = newQueue();
    const errors: unknown[] = [];
    const run: string[] = [];
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '{}', 'a\nb', '🙂', 'T'];
    await work(
      { t: (payload) => run.push(payload) },
      { unknownAfterMs: 0, onError: (error) => errors.push(error) },
    );
    await queue.enqueueMany(
      names.map((name, index) => ({ name, payload: 1, options: { id: String(index) } })),
    );
    await queue.enqueue('t', 'fine');
    await until(async () => (await queue.counts()).dead === names.length && run.length === 1);
    for (const [index, name] of names.entries()) {
      expect(await queue.get(String(index))).toMatchObject({
        name,
        state: 'dead',
        attempt: 1,
        error: { message: expect.stringContaining(`no handler for ${JSON.stringify(name)}`) },
      });
      expect(errors).toContainEqual(expect.objectContaining({ code: 'ERR_UNKNOWN_TASK', taskName: name }));
    }
    expect(errors).toHaveLength(names.length);
  });

  test('handlers of such names are found', async () => {
    const { queue, work } = newQueue();
    const run: string[] = [];
    const handlers: Tasks = { constructor: () => run.push('constructor'), '🙂': () => run.push('🙂') };
    Object.defineProperty(handlers, '__proto__', { value: () => run.push('__proto__'), enumerable: true });
    await work(handlers);
    for (const name of ['__proto__', 'constructor', '🙂']) await queue.enqueue(name, 1);
    await until(() => run.length === 3);
    expect(run.toSorted()).toEqual(['__proto__', 'constructor', '🙂']);
  });
});

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
    // The running tasks, and 16 waiting ones.
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
