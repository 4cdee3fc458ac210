import { afterEach, expect, jest, test } from '@jest/globals';
import { callAfter } from '../src/index.js';

/** performance.now() moves with the timers. */
jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'clearImmediate', 'queueMicrotask'] });

afterEach(() => {
  expect(jest.getTimerCount()).toBe(0);
});

test.each([[1], [2 ** 31 - 1], [2 ** 31], [2 ** 33 + 5]])(
  'calls back after %d ms, not before',
  async (ms) => {
    const callback = jest.fn();
    callAfter(ms, callback);
    await jest.advanceTimersByTimeAsync(ms - 1);
    expect(callback).not.toHaveBeenCalled();
    await jest.advanceTimersByTimeAsync(1);
    expect(callback).toHaveBeenCalledTimes(1);
  },
);

test('a part of a millisecond counts as a whole one', async () => {
  const callback = jest.fn();
  callAfter(10.25, callback);
  await jest.advanceTimersByTimeAsync(10);
  expect(callback).not.toHaveBeenCalled();
  await jest.advanceTimersByTimeAsync(1);
  expect(callback).toHaveBeenCalledTimes(1);
});

test('a cancelled call is not made, also after its first timer', async () => {
  const callback = jest.fn();
  const cancels = [callAfter(5, callback), callAfter(2 ** 32, callback)];
  await jest.advanceTimersByTimeAsync(2);
  cancels[0]!();
  await jest.advanceTimersByTimeAsync(2 ** 31);
  cancels[1]!();
  await jest.advanceTimersByTimeAsync(2 ** 32);
  expect(callback).not.toHaveBeenCalled();
});

test('Infinity needs no timer', () => {
  const cancel = callAfter(Infinity, () => undefined);
  expect(jest.getTimerCount()).toBe(0);
  cancel();
});
