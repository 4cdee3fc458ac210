import { describe, expect, test } from '@jest/globals';
import { describeError } from '../src/index.js';

describe('describeError', () => {
  test('keeps the stack, up to 2,000 characters', () => {
    expect(describeError(new TypeError('no'))).toMatch(/^TypeError: no\n {4}at /);
    expect(describeError(new Error('x'.repeat(5_000)))).toHaveLength(2_001);
  });

  test.each([
    ['text', 'plain', 'plain'],
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
    ['an object', {}, '[object Object]'],
    ['an object without a prototype', Object.create(null), 'an error that cannot be shown (object)'],
    ['an error without a stack', Object.assign(new Error('bare'), { stack: undefined }), 'Error: bare'],
    ['an error with a stack of another type', Object.assign(new Error('bare'), { stack: 5 }), 'Error: bare'],
    [
      'a Proxy that throws',
      new Proxy(
        {},
        {
          getPrototypeOf: () => {
            throw new Error('never');
          },
        },
      ),
      'an error that cannot be shown (object)',
    ],
  ])('shows %s', (_, thrown, text) => {
    expect(describeError(thrown)).toBe(text);
  });
});
