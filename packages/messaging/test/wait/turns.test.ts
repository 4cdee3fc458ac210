import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { Turns } from '../../src/wait/turns.js';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

test('the first turn is at once, and the others follow in their order, a pause apart', () => {
  const turns = new Turns(100);
  const had: string[] = [];
  for (const name of ['a', 'b', 'c']) turns.join(() => had.push(name));
  expect(had).toEqual(['a']);
  jest.advanceTimersByTime(99);
  expect(had).toEqual(['a']);
  jest.advanceTimersByTime(1);
  expect(had).toEqual(['a', 'b']);
  jest.advanceTimersByTime(100);
  expect(had).toEqual(['a', 'b', 'c']);
});

test('who gives a turn up costs the others no time', () => {
  const turns = new Turns(100);
  const had: string[] = [];
  const join = (name: string): (() => void) => turns.join(() => had.push(name));
  join('a');
  const giveUp = join('b');
  join('c');
  giveUp();
  jest.advanceTimersByTime(100);
  expect(had).toEqual(['a', 'c']);
});

test('a turn soon after the last one waits, and a turn a pause later does not', () => {
  const turns = new Turns(100);
  const had: string[] = [];
  turns.join(() => had.push('a'));
  jest.advanceTimersByTime(50);
  turns.join(() => had.push('b'));
  expect(had).toEqual(['a']);
  jest.advanceTimersByTime(200);
  turns.join(() => had.push('c'));
  expect(had).toEqual(['a', 'b', 'c']);
});
