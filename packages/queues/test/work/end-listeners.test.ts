import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Discard, Queue, RetryLater } from '@mortise/queues';
import type { Handlers, WorkerOptions } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';
import { launch } from '../fixture/launch.js';
import { serverNow } from '../fixture/set-due.js';
import { until } from '../fixture/until.js';

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
type Tasks = Record<string, any>;

const redis = connect();

/** A worker whose listeners write to `seen`, and its queue. */
async function listening(handlers: Handlers<Tasks>, options: WorkerOptions = {}) {
  const prefix = freshPrefix();
  const seen: unknown[] = [];
  const errors: unknown[] = [];
  await launch(redis, 'q', handlers, {
    prefix,
    onError: (error) => errors.push(error),
    onSucceeded: ({ id, name, attempt }, result) => seen.push(['succeeded', id, name, attempt, result]),
    onFailed: ({ id, attempt, attempts }, error, { isFinal }) =>
      seen.push(['failed', id, `${attempt} of ${attempts}`, (error as Error).message, isFinal]),
    ...options,
  });
  return { queue: new Queue<Tasks>(redis, 'q', { prefix }), seen, errors };
}

const fails = (): never => {
  throw new Error('no');
};

describe('onSucceeded and onFailed', () => {
  test('learn of each end, with the result or the error', async () => {
    const { queue, seen } = await listening({
      t: (payload) => ({ got: payload }),
      fails,
      discards: () => {
        throw new Discard('hopeless');
      },
    });
    await queue.enqueue('t', 1, { id: 'a' });
    await until(() => seen.length === 1);
    await queue.enqueue('fails', 1, { id: 'b', attempts: 2, backoff: { type: 'fixed', delayMs: 0 } });
    await until(() => seen.length === 3);
    await queue.enqueue('discards', 1, { id: 'c' });
    await until(() => seen.length === 4);
    expect(seen).toEqual([
      ['succeeded', 'a', 't', 1, { got: 1 }],
      ['failed', 'b', '1 of 2', 'no', false],
      ['failed', 'b', '2 of 2', 'no', true],
      ['failed', 'c', '1 of 5', 'hopeless', true],
    ]);
  });

  test('onFailed learns of a task that timed out, expired or has no handler, not of RetryLater', async () => {
    let isLater = true;
    const { queue, seen } = await listening(
      {
        slow: (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
        later: () => {
          if (!isLater) return;
          isLater = false;
          throw new RetryLater({ delayMs: 0 });
        },
        t: () => undefined,
      },
      { unknownAfterMs: 0 },
    );
    await queue.enqueue('slow', 1, { id: 'slow', attempts: 1, timeoutMs: 1 });
    await until(() => seen.length === 1);
    await queue.enqueue('nobody', 1, { id: 'nobody' });
    await until(() => seen.length === 2);
    await queue.pause();
    await queue.enqueue('t', 1, { id: 'late', expiresInMs: 1 });
    const { enqueuedAt } = (await queue.get('late'))!;
    await until(async () => (await serverNow(redis)) > enqueuedAt + 1);
    await queue.resume();
    await until(() => seen.length === 3);
    await queue.enqueue('later', 1, { id: 'later' });
    await until(() => seen.length === 4);
    expect(seen).toEqual([
      ['failed', 'slow', '1 of 1', expect.stringContaining('took longer than 1 ms'), true],
      ['failed', 'nobody', '1 of 5', expect.stringContaining('no handler for "nobody"'), true],
      ['failed', 'late', '1 of 5', expect.stringContaining('was not started within 1 ms'), true],
      ['succeeded', 'later', 'later', 1, undefined],
    ]);
  });

  test('learn of each task of a batch', async () => {
    const { queue, seen } = await listening({
      many: {
        maxSize: 2,
        handleMany: (batch) => batch.map(({ payload }) => (payload === 1 ? new Error('one') : payload)),
      },
    });
    await queue.enqueueMany([1, 2].map((payload) => ({ name: 'many', payload, options: { attempts: 1 } })));
    await until(() => seen.length === 2);
    expect(seen.map((entry) => (entry as [string])[0]).toSorted()).toEqual(['failed', 'succeeded']);
  });

  test('their errors go to onError, and the task ends', async () => {
    const thrown = new Error('a listener');
    const { queue, errors } = await listening(
      { t: () => 1 },
      {
        onSucceeded: async () => {
          throw thrown;
        },
      },
    );
    const { id } = await queue.enqueue('t', 1);
    expect(await queue.result(id, { waitMs: 20_000 })).toBe(1);
    expect(errors).toEqual([
      expect.objectContaining({ code: 'ERR_LISTENER_FAILED', taskId: id, taskName: 't', cause: thrown }),
    ]);
  });

  test('are functions', async () => {
    for (const option of ['onSucceeded', 'onFailed']) {
      await expect(launch(redis, 'q', {}, { [option]: 1 })).rejects.toMatchObject({
        code: 'ERR_INVALID_ARG',
      });
    }
  });
});

describe('without listeners', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  async function linesOf(options: WorkerOptions): Promise<unknown[]> {
    const lines: unknown[] = [];
    jest.spyOn(console, 'error').mockImplementation((...line) => void lines.push(...line));
    const none = { onSucceeded: undefined, onFailed: undefined };
    const { queue } = await listening({ fails }, { ...none, ...options });
    const { id } = await queue.enqueue('fails', 1, {
      id: 'a',
      attempts: 2,
      backoff: { type: 'fixed', delayMs: 0 },
    });
    await queue.result(id, { waitMs: 20_000 }).catch(() => undefined);
    return lines;
  }

  test('a dead task is one line on stderr', async () => {
    expect(await linesOf({})).toEqual([
      'mortise worker: task "a" ("fails") of queue "q" is dead after attempt 2 of 2: Error: no',
    ]);
  });

  test('with one of them there is no line', async () => {
    expect(await linesOf({ onSucceeded: () => undefined })).toEqual([]);
    jest.restoreAllMocks();
    expect(await linesOf({ onFailed: () => undefined })).toEqual([]);
  });
});
