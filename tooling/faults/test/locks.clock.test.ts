import { afterEach, expect, test } from '@jest/globals';
import { nowUs, skewDate, toUs } from '../src/locks/clock.js';

const RealDate = Date;

afterEach(() => {
  globalThis.Date = RealDate;
});

test('a skewed process reads another time of day everywhere', () => {
  skewDate(10_000);
  const real = RealDate.now();
  expect(Date.now() - real).toBeGreaterThanOrEqual(10_000);
  expect(Date.now() - real).toBeLessThan(15_000);
  expect(new Date().getTime() - real).toBeGreaterThanOrEqual(10_000);
  expect(new Date(0).toISOString()).toBe('1970-01-01T00:00:00.000Z');
  expect(new Date()).toBeInstanceOf(Date);
});

test('instants do not know of the time of day', () => {
  skewDate(-10_000);
  const before = nowUs();
  const between = toUs(performance.now());
  const after = nowUs();
  expect(between).toBeGreaterThanOrEqual(before - 1_000);
  expect(between).toBeLessThanOrEqual(after + 1_000);
});
