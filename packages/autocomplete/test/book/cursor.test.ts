import { expect, test } from '@jest/globals';
import type { Cursor } from '../../src/book/complete/cursor.js';
import { readCursor, writeCursor } from '../../src/book/complete/cursor.js';

const SCOPE = ['book', 0, 'score', false, 'an'];
const forged = (cursor: unknown): string => writeCursor(cursor as Cursor, SCOPE);

test.each<Cursor>([
  ['s', '-12', '\u0003an anna\u0001anna', 0, 10],
  ['s', '-1.5e+20', 'anna', 2, 0],
  ['s', '-0', '', 1, 3],
  ['a', 'anna\0'],
])('%j is read as it was written', (...cursor) => {
  expect(readCursor(writeCursor(cursor, SCOPE), SCOPE, cursor[0])).toEqual(cursor);
});

test.each([
  [['s', 'x', 'anna', 0, 1]],
  [['s', -12, 'anna', 0, 1]],
  [['s', '', 'anna', 0, 1]],
  [['s', '-12', 7, 0, 1]],
  [['s', '-12', 'anna', 3, 1]],
  [['s', '-12', 'anna', '1', 1]],
  [['s', '-12', 'anna', 0, -1]],
  [['s', '-12', 'anna', 0, 0.5]],
  [['s', '-12', 'anna', 0]],
  [['s', '-12', 'anna', 0, 1, 2]],
  [['a']],
  [['a', 1]],
  [['b', 'anna']],
  [null],
  [{ 0: 'a', 1: 'anna' }],
])('the forged cursor %j is refused', (cursor) => {
  expect(() => readCursor(forged(cursor), SCOPE, 's')).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_CURSOR' }),
  );
});
