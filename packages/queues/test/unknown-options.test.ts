import { describe, expect, test } from '@jest/globals';
import { Claims, Queue, RetryLater, Worker } from '@mortise/queues';
import { connect, freshPrefix, interposed } from '@mortise/test-kit';

/** A call that is refused sends nothing. */
const redis = interposed(connect(), () => Promise.reject(new Error('a command was sent')));
const prefix = freshPrefix();
const queue = new Queue<Record<string, unknown>>(redis, 'q', { prefix });
const claims = new Claims(redis, 'q', { prefix });

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
  ['names', (options) => Queue.names(redis, options)],
  ['exists', (options) => Queue.exists(redis, 'q', options)],
  ['pauseAll', (options) => Queue.pauseAll(redis, options)],
  ['resumeAll', (options) => Queue.resumeAll(redis, options)],
  ['Queue', (options) => new Queue(redis, 'q', options)],
  ['Worker', (options) => new Worker(redis, ['q'], { t: () => 1 }, options)],
  ['Claims', (options) => new Claims(redis, 'q', options)],
  ['RetryLater', (options) => Promise.reject(new RetryLater(options))],
  ['configure', (options) => queue.configure({}, options)],
  ['claim', (options) => claims.claim(options)],
  ['fail', (options) => claims.fail('a', '0-1', options)],
  ['giveBack', (options) => claims.giveBack('a', '0-1', options)],
  ['stop', (options) => new Worker(redis, ['q'], { t: () => 1 }, { prefix }).stop(options)],
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
