import { describe, expect, test } from '@jest/globals';
import { QueueInUseError } from '@mortise/queues';
import { ArgumentRangeError, ClientClosedError } from '@mortise/redis';

import { problemOf } from '../../src/http/problem-of.js';
import { Problem } from '../../src/http/problem.js';

function reply(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

describe('problemOf', () => {
  test.each([
    [new ArgumentRangeError('limit must be 1'), false, 'invalid-query'],
    [new ArgumentRangeError('limit must be 1'), true, 'invalid-body'],
    [new ClientClosedError(), true, 'redis-unavailable'],
    [reply('NOPERM this user has no permissions'), false, 'redis-denied'],
    [reply('LOADING Redis is loading the dataset'), false, 'redis-unavailable'],
    [reply('ERR something else'), false, 'internal-error'],
    [new TypeError('x is undefined'), true, 'internal-error'],
    ['thrown text', true, 'internal-error'],
  ])('%p', (error, isChange, slug) => {
    expect(problemOf(error, isChange)).toMatchObject({ slug });
  });

  test('a refusal of the queue keeps its fields', () => {
    const error = new QueueInUseError('mail', 2, 1);
    expect(problemOf(error, true).toDocument()).toMatchObject({
      type: 'https://mortise.dev/problems/queue-in-use',
      status: 409,
      queue: 'mail',
      active: 2,
    });
  });

  test('an unknown error tells nothing', () => {
    expect(problemOf(new Error('secret'), false).toDocument()).toEqual({
      type: 'https://mortise.dev/problems/internal-error',
      title: 'The server failed',
      status: 500,
    });
  });

  test('a problem stays as it is', () => {
    const problem = new Problem('unknown-task');
    expect(problemOf(problem, true)).toBe(problem);
  });
});
