import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import type { TaskError } from '@mortise/queues';
import { AttemptError, Discard } from '@mortise/queues';
import { freshPrefix } from '@mortise/test-kit';
import { readError, storeError } from '../../src/task/stored-error.js';
import { userFrames } from '../../src/task/user-frames.js';
import { newQueue } from '../fixture/new-queue.js';
import { counted } from '../fixture/until.js';

const stored = (thrown: unknown): TaskError => readError(storeError(thrown));

describe('a stored error', () => {
  test('has name, message, code and stack', () => {
    class Refusal extends Error {
      override readonly name = 'Refusal';
      readonly code = 'E_REFUSED';
    }
    const error = new Refusal('two\nlines');
    expect(stored(error)).toEqual({
      name: 'Refusal',
      message: 'two\nlines',
      code: 'E_REFUSED',
      stack: expect.stringMatching(/^Refusal: two\nlines\n {4}at .*stored-error\.test/),
    });
    expect(stored(new Discard('no'))).toMatchObject({
      name: 'Discard',
      code: 'ERR_DISCARDED',
      message: 'no',
    });
    const bare = Object.assign(new Error(''), { stack: undefined, code: 5 });
    expect(stored(bare)).toEqual({ name: 'Error', message: '', stack: 'Error' });
  });

  test.each<[string, unknown, string]>([
    ['a string', 'plain\0text', 'plain text'],
    ['undefined', undefined, 'undefined'],
    [
      'an object',
      { status: 503, body: { retry: ['later'] } },
      "{ status: 503, body: { retry: [ 'later' ] } }",
    ],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
    ['a bigint', 1n, '1n'],
  ])('of %s shows it', (_, thrown, message) => {
    expect(stored(thrown)).toEqual({ name: 'Error', message, stack: `Error: ${message}` });
  });

  test('is bounded, and readable where it is cut off', () => {
    const long = new Error('é'.repeat(5_000));
    expect(storeError(long).length).toBeLessThanOrEqual(2_000);
    expect(stored(long).message).toBe(`${'é'.repeat(1_000)}…`);
    const named = Object.assign(new Error('x'), { name: 'n '.repeat(5_000), code: 'c'.repeat(5_000) });
    expect(storeError(named).length).toBeLessThanOrEqual(2_000);
    const text = storeError(new TypeError('why'));
    for (let length = 0; length <= text.length; length += 1) {
      expect(Object.keys(readError(text.slice(0, length)))).toEqual(['name', 'message', 'stack']);
    }
    expect(readError(text.slice(0, 20))).toMatchObject({ name: 'TypeError', message: 'why' });
  });

  test('of an earlier version, or of a script, is a message', () => {
    expect(readError('Error: no\n    at f (file:1:1)')).toMatchObject({ name: 'Error' });
    expect(readError('sold', true)).toEqual({
      name: 'TaskCancelledError',
      message: 'sold',
      code: 'ERR_TASK_CANCELLED',
      stack: 'TaskCancelledError: sold',
    });
  });
});

describe('the frames of a stack', () => {
  const own = expect.stringMatching(/^ {4}at /);
  const framesOf = ({ stack }: TaskError): string[] => stack.split('\n').slice(1);

  test('are those of the handler, from the sources', async () => {
    const { queue, work } = newQueue();
    await work({
      sync: function ownSync() {
        throw new TypeError('at once');
      },
      library: async function ownCall(_, { progress }) {
        await progress(1n);
      },
    });
    for (const name of ['sync', 'library']) await queue.enqueue(name, 1, { id: name, attempts: 1 });
    await counted(queue, { dead: 2 });
    for (const id of ['sync', 'library']) {
      const frames = framesOf((await queue.get(id))!.error!);
      expect(frames).toEqual([own]);
      expect(frames[0]).toContain('stored-error.test');
    }
  });

  test('are none where Mortise made the error, also if the handler throws it', async () => {
    const { queue, work } = newQueue();
    await work({
      slow: (waits, { signal }) =>
        new Promise((_, reject) => {
          if (!waits) signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    });
    for (const waits of [true, false])
      await queue.enqueue('slow', waits, { id: String(waits), attempts: 1, timeoutMs: 10 });
    await counted(queue, { dead: 2 });
    for (const id of ['true', 'false']) {
      const { name, message, stack } = (await queue.get(id))!.error!;
      expect(stack).toBe(`${name}: ${message}`);
      expect(message).toMatch(/ took longer than 10 ms$/);
    }
    expect(stored(new AttemptError('ERR_TASK_TIMEOUT', 'mail', '1', 5)).stack).toContain('stored-error.test');
  });

  test('are those of the handler, from the built package', async () => {
    const program = join(import.meta.dirname, '..', 'fixture', 'throwing-process.mjs');
    const argument = JSON.stringify({ url: process.env['MORTISE_TEST_REDIS'], prefix: freshPrefix() });
    const { stdout } = await promisify(execFile)(process.execPath, [program, argument]);
    const errors = JSON.parse(stdout) as TaskError[];
    expect(errors.map(({ name, message, code }) => [name, message, code])).toEqual([
      ['TypeError', 'at once', undefined],
      ['Error', 'later', 'E_LATER'],
      ['TypeError', expect.stringContaining('progress'), 'ERR_INVALID_ARG'],
      ['Error', 'all', undefined],
    ]);
    expect(errors.map((error) => framesOf(error).map((frame) => /own\w+/.exec(frame)?.[0]))).toEqual([
      ['ownSync'],
      ['ownAsync'],
      ['ownCall'],
      ['ownBatch'],
    ]);
  });

  test('end before the call of a handler in a bundle, where one file has all', () => {
    const stack = [
      'TypeError: no',
      '    at n (/app/dist/main.js:1:100)',
      '    at async Object.handle (/app/dist/main.js:1:200)',
      '    at async Object.mortiseCallHandler (/app/dist/main.js:1:300)',
      '    at async a (/app/dist/main.js:1:400)',
    ];
    expect(userFrames(stack.join('\n'))).toEqual(stack.slice(1, 3));
    const batch = stack.map((line) => line.replace('Object.mortiseCallHandler', 'mortiseCallBatchHandler'));
    expect(userFrames(batch.join('\n'))).toEqual(stack.slice(1, 3));
  });

  test('of installed packages are cut, unless there are no others', () => {
    const library =
      '    at f (file:///app/node_modules/.pnpm/@mortise+queues@1/node_modules/@mortise/queues/dist/index.js:1:1)';
    const user = '    at async g (C:\\app\\src\\mortise\\handler.js:3:5)';
    expect(userFrames(['Error: no', library, user, library].join('\n'))).toEqual([user]);
    expect(userFrames(['Error: no', library].join('\n'))).toEqual([library]);
  });
});
