import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { SharedTimer } from '../src/shared-timer.js';

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

test('runs each entry once, when it is due, whatever the order of the entries', () => {
  const timer = new SharedTimer(1);
  const startedAt = performance.now();
  const ran = new Map<number, number>();
  for (const delay of [60, 20, 40, 20.5]) {
    timer.set(() => ran.set(delay, performance.now() - startedAt), startedAt + delay);
  }
  jest.advanceTimersByTime(1_000);
  expect([...ran.keys()]).toEqual([20, 20.5, 40, 60]);
  for (const [delay, at] of ran) {
    expect(at).toBeGreaterThanOrEqual(delay - 1);
    expect(at).toBeLessThanOrEqual(delay + 1);
  }
});

test('an entry that is set again moves, and one that is deleted does not run', () => {
  const timer = new SharedTimer(1);
  const now = performance.now();
  let moved = 0;
  let deleted = 0;
  const entry = (): void => void (moved = performance.now());
  const unwanted = (): void => void (deleted += 1);
  timer.set(entry, now + 10);
  timer.set(entry, now + 50);
  timer.set(unwanted, now + 20);
  timer.delete(unwanted);
  jest.advanceTimersByTime(1_000);
  expect(moved).toBeGreaterThanOrEqual(now + 49);
  expect(deleted).toBe(0);
});

test('a callback that is due a little later runs at the same time', () => {
  const timer = new SharedTimer(1_000);
  const ran: string[] = [];
  const now = performance.now();
  timer.set(() => ran.push('later'), now + 900);
  timer.set(() => ran.push('soon'), now + 10);
  timer.set(() => ran.push('much later'), now + 5_000);
  jest.advanceTimersByTime(20);
  expect(ran).toEqual(['later', 'soon']);
});

test('an entry may set itself again', () => {
  const timer = new SharedTimer(5);
  let runs = 0;
  const entry = (): void => {
    runs += 1;
    if (runs < 5) timer.set(entry, 0);
  };
  timer.set(entry, 0);
  jest.advanceTimersByTime(1_000);
  expect(runs).toBe(5);
});
