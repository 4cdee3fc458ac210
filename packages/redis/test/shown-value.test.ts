import { expect, test } from '@jest/globals';
import { shownValue } from '../src/index.js';

const cycle: { self?: object } = {};
cycle.self = cycle;

test.each<[unknown, string]>([
  ['a "b"', '"a \\"b\\""'],
  [5, '5'],
  [undefined, 'undefined'],
  [Symbol('s'), 'undefined'],
  [7n, 'bigint'],
  [cycle, 'object'],
])('%p is shown', (value, text) => {
  expect(shownValue(value)).toBe(text);
});
