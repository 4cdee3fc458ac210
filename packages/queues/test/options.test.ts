import { describe, expect, test } from '@jest/globals';
import { Claims, DEFAULTS, Queue, RetryLater, RunAtPastError, Worker } from '@mortise/queues';
import { sandbox } from '@mortise/queues/sandbox';
import { TaskHandler } from '@mortise/queues/nestjs';
import type { Backoff, EnqueueOptions, QueueOptions, WorkerOptions } from '@mortise/queues';
import {
  requireTaskName,
  resolveAttempts,
  resolveBackoff,
  resolveHeaders,
  resolvePriorities,
  resolveWhen,
  resolveWorkerOptions,
} from '../src/options.js';
import { freshPrefix, interposed } from '@mortise/test-kit';
import type { Tasks } from './fixture/launch.js';
import { newQueue, redis } from './fixture/new-queue.js';

const YEAR_MS = 365.25 * 86_400_000;

describe('undefined is the default', () => {
  test('of workers', () => {
    const options = Object.fromEntries(
      ['concurrency', 'leaseMs', 'backoff', 'keepSucceeded', 'keepSucceededMs', 'keepDead'].map((name) => [
        name,
        undefined,
      ]),
    );
    expect(resolveWorkerOptions(options)).toMatchObject({
      concurrency: 50,
      leaseMs: 10_000,
      keepSucceeded: 1_000,
      keepSucceededMs: 86_400_000,
      keepDead: 10_000,
      backoff: { type: 'exponential', delayMs: 1_000, maxDelayMs: 3_600_000, jitter: 0.5 },
    });
  });

  test('of a backoff and of tasks', () => {
    expect(resolveBackoff({ delayMs: undefined, jitter: 0 })).toEqual({
      ...DEFAULTS.backoff,
      jitter: 0,
    });
    expect(resolveBackoff({ delayMs: 7_200_000 }).maxDelayMs).toBe(7_200_000);
    expect([resolveAttempts(undefined), resolveHeaders(undefined), resolveWhen({})]).toEqual([
      5,
      undefined,
      0,
    ]);
  });
});

test.each<[string, WorkerOptions, typeof TypeError | typeof RangeError, string]>([
  [
    'concurrency 0',
    { concurrency: 0 },
    RangeError,
    'concurrency must be a whole number from 1 to 10000, got 0',
  ],
  ['concurrency 10,001', { concurrency: 10_001 }, RangeError, 'concurrency'],
  ['concurrency NaN', { concurrency: Number.NaN }, RangeError, 'got NaN'],
  ['concurrency 1.5', { concurrency: 1.5 }, RangeError, 'got 1.5'],
  [
    'concurrency of text',
    { concurrency: '5' as unknown as number },
    TypeError,
    'concurrency must be a number',
  ],
  ['a lease of 999 ms', { leaseMs: 999 }, RangeError, 'leaseMs'],
  ['a lease without end', { leaseMs: Infinity }, RangeError, 'leaseMs'],
  ['keepSucceeded -1', { keepSucceeded: -1 }, RangeError, 'keepSucceeded'],
  ['keepSucceededMs -1', { keepSucceededMs: -1 }, RangeError, 'keepSucceededMs'],
  ['keepDead 0', { keepDead: 0 }, RangeError, 'keepDead'],
  ['a backoff of NaN', { backoff: { delayMs: Number.NaN } }, RangeError, 'backoff.delayMs'],
  ['a backoff below 0', { backoff: { delayMs: -1 } }, RangeError, 'backoff.delayMs'],
  ['a limit below the delay', { backoff: { delayMs: 10, maxDelayMs: 9 } }, RangeError, 'backoff.maxDelayMs'],
  ['a backoff without end', { backoff: { maxDelayMs: Infinity } }, RangeError, 'backoff.maxDelayMs'],
  ['jitter of 2', { backoff: { jitter: 2 } }, RangeError, 'backoff.jitter must be from 0 to 1, got 2'],
  ['jitter NaN', { backoff: { jitter: Number.NaN } }, RangeError, 'backoff.jitter'],
  ['jitter of text', { backoff: { jitter: '0' as unknown as number } }, TypeError, 'backoff.jitter'],
  ['an unknown kind', { backoff: { type: 'linear' as 'fixed' } }, RangeError, 'backoff.type'],
  [
    'a backoff of 5',
    { backoff: 5 as unknown as Backoff },
    TypeError,
    'backoff must be an object, got number',
  ],
  ['no function to report to', { onError: 'log' as unknown as () => void }, TypeError, 'onError'],
  ['an empty prefix', { prefix: '' }, RangeError, 'prefix'],
])('a worker refuses %s', (_, options, type, message) => {
  const create = (): unknown => new Worker(redis, ['q'], { t: () => 1 }, options);
  expect(create).toThrow(type);
  expect(create).toThrow(message);
});

test.each<[string, unknown, unknown]>([
  ['no queue', [], {}],
  ['a name in place of names', 'mail', {}],
  ['the same queue twice', ['a', 'a'], {}],
  ['an empty name', [''], {}],
  ['a number', [1], {}],
  ['a handler that is no function', ['a'], { t: 1 }],
  ['no handlers', ['a'], null],
])('a worker refuses %s', (_, queues, handlers) => {
  expect(() => new Worker(redis, queues as string[], handlers as Record<string, () => void>)).toThrow(
    /must (be|have)|null/,
  );
});

test.each<[string, QueueOptions, string]>([
  ['no priorities', { priorities: [] }, 'priorities must have 1 to 16 items, got 0'],
  [
    '17 priorities',
    { priorities: Array.from({ length: 17 }, (_, index) => `p${index}`) },
    '1 to 16 items, got 17',
  ],
  ['a priority twice', { priorities: ['a', 'a'] }, 'priorities must differ'],
  ['a priority with a comma', { priorities: ['a,b'] }, 'a priority must be'],
  ['an empty priority', { priorities: [''] }, 'a priority must be'],
  ['a priority with a newline', { priorities: ['a\n'] }, 'a priority must be'],
  ['a priority that is a number', { priorities: [1 as unknown as string] }, 'a priority must be'],
  ['payloads of one byte', { maxPayloadBytes: 1 }, 'maxPayloadBytes'],
  ['payloads without limit', { maxPayloadBytes: Infinity }, 'maxPayloadBytes'],
])('a queue refuses %s', (_, options, message) => {
  expect(() => new Queue(redis, 'q', options)).toThrow(RangeError);
  expect(() => new Queue(redis, 'q', options)).toThrow(message);
});

test('a queue refuses text in place of the names of its priorities', () => {
  const create = (): unknown => new Queue(redis, 'q', { priorities: 'high' as unknown as string[] });
  expect(create).toThrow(TypeError);
  expect(create).toThrow('priorities must be an array, got string');
});

describe('misuse has a code, and its own class of error', () => {
  const { queue } = newQueue();

  test.each<[string, string, () => unknown]>([
    ['an id that is a number', 'TypeError', () => queue.get(5 as unknown as string)],
    ['no queue name', 'RangeError', () => new Queue(redis, '')],
    ['a long queue name', 'RangeError', () => new Queue(redis, 'x'.repeat(1_025))],
    ['a queue name that is a number', 'TypeError', () => new Queue(redis, 7 as never)],
    ['schemas that are none', 'TypeError', () => new Queue(redis, 'q', { schemas: 5 as never })],
    ['a cursor that is none', 'RangeError', () => queue.list('dead', { cursor: 'x' })],
    ['no client', 'TypeError', () => new Queue(null as never, 'q')],
    ['a client that is none', 'TypeError', () => new Queue({} as never, 'q')],
  ])('%s', async (_, name, call) => {
    const refused = new Promise((resolve) => resolve(call()));
    await expect(refused).rejects.toMatchObject({ name, code: 'ERR_INVALID_ARG' });
    await expect(refused).rejects.toBeInstanceOf(name === 'TypeError' ? TypeError : RangeError);
  });
});

describe('resolveWhen', () => {
  test('is relative below 0 and an instant above', () => {
    const now = Date.now();
    expect(resolveWhen({ delayMs: 1 })).toBe(-1);
    expect(resolveWhen({ delayMs: 0.1 })).toBe(-1);
    expect(resolveWhen({ delayMs: 0 })).toBe(0);
    expect(resolveWhen({ delayMs: -0 })).toBe(0);
    expect(resolveWhen({ runAt: now })).toBe(now);
    expect(resolveWhen({ runAt: new Date(now) })).toBe(now);
    expect(resolveWhen({ runAt: now + 0.5 })).toBe(now + 1);
    // It has only just passed.
    expect(resolveWhen({ runAt: now - 1_000 })).toBe(now - 1_000);
  });

  test.each([
    ['an instant of last year', Date.now() - 365 * 86_400_000],
    ['seconds for ms', Math.floor(Date.now() / 1_000)],
  ])('%s is in the past', (_, runAt) => {
    expect(() => resolveWhen({ runAt })).toThrow(RunAtPastError);
    expect(() => resolveWhen({ runAt: new Date(runAt) })).toThrow(
      expect.objectContaining({ code: 'ERR_RUN_AT_PAST', runAt }),
    );
  });

  test.each<[string, unknown, typeof TypeError | typeof RangeError]>([
    ['both', { delayMs: 1, runAt: 1 }, TypeError],
    ['a delay of NaN', { delayMs: Number.NaN }, RangeError],
    ['a delay below 0', { delayMs: -1 }, RangeError],
    ['a delay without end', { delayMs: Infinity }, RangeError],
    ['a delay of more than 10 years', { delayMs: 10 * YEAR_MS + 1 }, RangeError],
    ['a delay of text', { delayMs: '5' }, TypeError],
    ['a delay of null', { delayMs: null }, TypeError],
    ['a delay of BigInt', { delayMs: 5n }, TypeError],
    ['an instant of NaN', { runAt: Number.NaN }, RangeError],
    ['a Date that is none', { runAt: new Date('never') }, RangeError],
    ['an instant before 1970', { runAt: new Date(-1) }, RangeError],
    ['an instant without end', { runAt: Infinity }, RangeError],
    ['an instant of text', { runAt: '2030-01-01' }, TypeError],
  ])('refuses %s', (_, options, type) => {
    expect(() => resolveWhen(options as EnqueueOptions)).toThrow(type);
  });
});

describe('resolveHeaders', () => {
  test('copies strings, whatever their names', () => {
    const headers = JSON.parse('{"__proto__":"a","":"","traceparent":"00-1","\\u0000":"🙂"}') as Record<
      string,
      string
    >;
    expect(resolveHeaders(headers)).not.toBe(headers);
    expect(JSON.stringify(resolveHeaders(headers))).toBe(JSON.stringify(headers));
    expect(resolveHeaders({})).toBeUndefined();
    expect(resolveHeaders({ a: 'x'.repeat(16_384 - 8) })).toEqual({ a: 'x'.repeat(16_376) });
  });

  test.each<[string, unknown]>([
    ['a number', { a: 1 }],
    ['undefined', { a: undefined }],
    ['null', { a: null }],
    ['an object', { a: {} }],
    ['a function', { a: () => 'x', toJSON: () => ({}) }],
  ])('refuses a value that is %s', (_, headers) => {
    expect(() => resolveHeaders(headers as Record<string, string>)).toThrow(TypeError);
    expect(() => resolveHeaders(headers as Record<string, string>)).toThrow(
      'the header "a" must be a string',
    );
  });

  test('refuses other values than objects, and too many bytes', () => {
    for (const headers of ['x', ['x'], null, 5]) {
      expect(() => resolveHeaders(headers as unknown as Record<string, string>)).toThrow(TypeError);
    }
    expect(() => resolveHeaders({ a: 'x'.repeat(16_377) })).toThrow(
      new RangeError('headers must have at most 16384 bytes as JSON, got 16385'),
    );
    expect(() => resolveHeaders({ a: 'é'.repeat(8_189) })).toThrow(RangeError);
  });
});

test('prefetch is a whole number from 0 to 100', () => {
  for (const prefetch of [-1, 101, 1.5]) {
    expect(() => new Worker(redis, ['q'], { t: () => undefined }, { prefetch })).toThrow(RangeError);
  }
  for (const prefetch of [0, 100]) expect(resolveWorkerOptions({ prefetch })).toMatchObject({ prefetch });
});

test('attempts and names of tasks have their limits', () => {
  for (const attempts of [0, -1, 1.5, 65_536, Number.NaN, Infinity]) {
    expect(() => resolveAttempts(attempts)).toThrow(RangeError);
  }
  expect(() => resolveAttempts('3' as unknown as number)).toThrow(TypeError);
  expect(() => requireTaskName('')).toThrow(RangeError);
  expect(() => requireTaskName('é'.repeat(513))).toThrow(RangeError);
  expect(() => requireTaskName('a\udfff')).toThrow(TypeError);
  expect(() => requireTaskName(undefined)).toThrow(TypeError);
  expect(requireTaskName('\0{}%🙂\n')).toBe('\0{}%🙂\n');
  expect(resolvePriorities(['a.b', 'C-d', '_1'])).toEqual(['a.b', 'C-d', '_1']);
});

test.each([
  ['a function', () => 1],
  ['an array', [() => 1]],
  ['nothing', undefined],
  ['an empty object', {}],
])('%s is no handlers', (_, handlers) => {
  expect(() => new Worker(redis, ['q'], handlers as never)).toThrow(/^handlers must/);
});

describe('an unknown option is refused', () => {
  const queue = new Queue(redis, 'q');
  test.each([
    ['enqueue', () => queue.enqueue('t', 1, { delay: 60_000 } as object), 'enqueue has no option "delay"'],
    [
      'backoff',
      () => queue.enqueue('t', 1, { backoff: { delay: 5 } as object }),
      'backoff has no option "delay"',
    ],
    ['configure', () => queue.configure({ concurency: 3 } as object), 'configure has no option "concurency"'],
    ['groups', () => queue.configure({ groups: { fifo: true } as object }), 'groups has no option "fifo"'],
    ['enqueueMany', () => queue.enqueueMany({} as never), 'tasks must be an array'],
    [
      'an order that is no boolean',
      () => queue.configure({ groups: { ordered: 1 as unknown as boolean } }),
      'groups.ordered must be true or false, got number',
    ],
  ])('%s', async (_, call, message) => {
    await expect(call()).rejects.toThrow(message);
  });

  test.each([
    ['a handler', { handle: () => 1, timeoutMS: 5 }, 'the handler of "t" has no option "timeoutMS"'],
    ['a handler with an option of batches', { handle: () => 1, waitMs: 5 }, 'no option "waitMs"'],
    ['a batch handler', { handleMany: () => [], maxSize: 2, waitMS: 5 }, 'no option "waitMS"'],
  ])('of %s', (_, handler, message) => {
    const create = (): unknown => new Worker(redis, ['q'], { t: handler });
    expect(create).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARG' }));
    expect(create).toThrow(message);
  });

  test('of a sandbox and of @TaskHandler', () => {
    const module = new URL('./sandbox/handlers.mjs', import.meta.url);
    expect(() => sandbox(module, { thread: 4 } as object)).toThrow('sandbox has no option "thread"');
    expect(() => sandbox(module, { execArgv: '--import' as never })).toThrow('execArgv must be an array');
    expect(() => sandbox(module, { resourceLimits: 5 as never })).toThrow('resourceLimits must be an object');
    expect(() => TaskHandler('t', { timeoutMS: 5 } as object)).toThrow(
      '@TaskHandler has no option "timeoutMS"',
    );
    expect(() => TaskHandler('t', { batch: { maxSize: 5, waitMS: 5 } as never })).toThrow(
      'no option "waitMS"',
    );
    expect(() => TaskHandler('t', { batch: 5 as never })).toThrow('batch must be an object');
  });
});

/** A call that is refused sends nothing. */
const silent = interposed(redis, () => Promise.reject(new Error('a command was sent')));
const prefix = freshPrefix();
const queue = new Queue<Tasks>(silent, 'q', { prefix });
const claims = new Claims(silent, 'q', { prefix });

/** Takes what a caller without types may give. */
// oxlint-disable-next-line typescript/no-explicit-any -- options of other libraries, and none at all
type Call = (options: any) => unknown;

const calls: readonly (readonly [string, Call])[] = [
  ['cancel', (options) => queue.cancel('a', options)],
  ['retryAll', (options) => queue.retryAll(options)],
  ['drain', (options) => queue.drain(options)],
  ['clean', (options) => queue.clean('dead', options)],
  ['list', (options) => queue.list('dead', options)],
  ['summaries', (options) => queue.summaries('dead', options)],
  ['result', (options) => queue.result('a', options)],
  ['events', (options) => queue.events(options)],
  ['schedule', (options) => queue.schedule('k', { everyMs: 1_000 }, 't', 1, options)],
  ['names', (options) => Queue.names(silent, options)],
  ['exists', (options) => Queue.exists(silent, 'q', options)],
  ['pauseAll', (options) => Queue.pauseAll(silent, options)],
  ['resumeAll', (options) => Queue.resumeAll(silent, options)],
  ['Queue', (options) => new Queue(silent, 'q', options)],
  ['Worker', (options) => new Worker(silent, ['q'], { t: () => 1 }, options)],
  ['Claims', (options) => new Claims(silent, 'q', options)],
  ['RetryLater', (options) => Promise.reject(new RetryLater(options))],
  ['configure', (options) => queue.configure({}, options)],
  ['claim', (options) => claims.claim(options)],
  ['fail', (options) => claims.fail('a', '0-1', options)],
  ['giveBack', (options) => claims.giveBack('a', '0-1', options)],
  ['stop', (options) => new Worker(silent, ['q'], { t: () => 1 }, { prefix }).stop(options)],
  ['a task of a flow', (task) => queue.enqueueFlow(task)],
];

const refusal = async (call: () => unknown): Promise<unknown> => {
  try {
    return await call();
  } catch (error) {
    return String(error);
  }
};

describe.each(calls)('%s', (label, call) => {
  test('refuses an option that it does not have', async () => {
    const options = { name: 't', payload: 1, state: 'dead', timeoutMS: 5, error: 1, delayMs: 1 };
    expect(await refusal(() => call(options))).toMatch(new RegExp(`^TypeError: ${label} has no option "`));
  });

  test.each([null, 5, 'text', []])('refuses %j in place of options', async (value) => {
    expect(await refusal(() => call(value))).toMatch(/^TypeError: .* must be an object, got /);
  });
});

describe('a signal that is none', () => {
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  const signal: any = 5;

  test.each([
    ['result', () => queue.result('a', { signal })],
    ['events', () => queue.events({ signal })],
    ['claim', () => claims.claim({ signal })],
  ])('is refused by %s', async (_, call) => {
    expect(await refusal(call)).toBe('TypeError: signal must be an AbortSignal, got number');
  });
});
