import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { Pacer } from '../../src/wait/pacer.js';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

test('the first call is at once, and the others follow in their order, a pause apart', () => {
  const pacer = new Pacer(100);
  const called: string[] = [];
  for (const name of ['a', 'b', 'c']) pacer.request(() => called.push(name));
  expect(called).toEqual(['a']);
  jest.advanceTimersByTime(99);
  expect(called).toEqual(['a']);
  jest.advanceTimersByTime(1);
  expect(called).toEqual(['a', 'b']);
  jest.advanceTimersByTime(100);
  expect(called).toEqual(['a', 'b', 'c']);
});

test('a withdrawn request costs the others no time', () => {
  const pacer = new Pacer(100);
  const called: string[] = [];
  const request = (name: string): (() => void) => pacer.request(() => called.push(name));
  request('a');
  const withdraw = request('b');
  request('c');
  withdraw();
  jest.advanceTimersByTime(100);
  expect(called).toEqual(['a', 'c']);
});

test('a request soon after the last call waits, and one after the pause does not', () => {
  const pacer = new Pacer(100);
  const called: string[] = [];
  pacer.request(() => called.push('a'));
  jest.advanceTimersByTime(50);
  pacer.request(() => called.push('b'));
  expect(called).toEqual(['a']);
  jest.advanceTimersByTime(200);
  pacer.request(() => called.push('c'));
  expect(called).toEqual(['a', 'b', 'c']);
});
