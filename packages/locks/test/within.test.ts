import { getEventListeners } from 'node:events';
import { expect, test } from '@jest/globals';
import { TIMED_OUT, within } from '../src/acquire/within.js';

const never = new Promise<never>(() => undefined);

test('gives the result or the error of the work', async () => {
  const failure = new Error('failed');
  expect(await within(Promise.resolve(1), 1_000, undefined)).toBe(1);
  await expect(within(Promise.reject(failure), 1_000, undefined)).rejects.toBe(failure);
});

test('gives up when the time is up', async () => {
  const startedAt = performance.now();
  expect(await within(never, 30, undefined)).toBe(TIMED_OUT);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(25);
  expect(await within(never, -5, undefined)).toBe(TIMED_OUT);
});

test('rejects with the reason of the signal, and leaves no listener behind', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  expect(await within(Promise.resolve(1), 1_000, signal)).toBe(1);
  expect(await within(never, 1, signal)).toBe(TIMED_OUT);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  const results = Array.from({ length: 20 }, () => within(never, 1_000, signal));
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  controller.abort('enough');
  expect(await Promise.allSettled(results)).toEqual(
    results.map(() => ({ status: 'rejected', reason: 'enough' })),
  );
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});
