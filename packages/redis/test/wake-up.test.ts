import { getEventListeners } from 'node:events';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { WakeUp } from '../src/index.js';

/** performance.now() moves with the timers. */
jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'clearImmediate', 'queueMicrotask'] });

const lost = new Error('lost');

afterEach(() => {
  expect(jest.getTimerCount()).toBe(0);
});

describe('wake', () => {
  test.each([[60_000], [Infinity]])('ends a wait of %d ms', async (ms) => {
    const wakeUp = new WakeUp();
    const wait = wakeUp.wait(ms);
    wakeUp.wake();
    expect(await wait).toBe(true);
  });

  test('before a wait ends it at once, several count once', async () => {
    const wakeUp = new WakeUp();
    wakeUp.wake();
    wakeUp.wake();
    expect(await wakeUp.wait()).toBe(true);
    expect(await wakeUp.wait(0)).toBe(false);
  });

  test('that ended a wait does not end the next one', async () => {
    const wakeUp = new WakeUp();
    const wait = wakeUp.wait();
    wakeUp.wake();
    await wait;
    expect(await wakeUp.wait(0)).toBe(false);
  });

  test('is forgotten after reset', async () => {
    const wakeUp = new WakeUp();
    wakeUp.wake();
    wakeUp.reset();
    expect(await wakeUp.wait(0)).toBe(false);
  });
});

describe('wait', () => {
  test.each([[1_000], [2 ** 31 + 1_000]])('ends after %d ms, not before', async (ms) => {
    const ended = jest.fn();
    void new WakeUp().wait(ms).then(ended);
    await jest.advanceTimersByTimeAsync(ms - 1);
    expect(ended).not.toHaveBeenCalled();
    await jest.advanceTimersByTimeAsync(1);
    expect(ended).toHaveBeenCalledWith(false);
  });

  test('rejects with the reason of a signal, before and during the wait', async () => {
    const wakeUp = new WakeUp();
    await expect(wakeUp.wait(5, AbortSignal.abort(lost))).rejects.toBe(lost);
    const controller = new AbortController();
    const wait = wakeUp.wait(60_000, controller.signal);
    controller.abort(lost);
    await expect(wait).rejects.toBe(lost);
    wakeUp.wake();
    expect(await wakeUp.wait()).toBe(true);
  });

  test('leaves no listener on the signal', async () => {
    const wakeUp = new WakeUp();
    const { signal } = new AbortController();
    const wait = wakeUp.wait(60_000, signal);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    wakeUp.wake();
    await wait;
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test('is refused while another one waits', async () => {
    const wakeUp = new WakeUp();
    const first = wakeUp.wait();
    await expect(wakeUp.wait()).rejects.toThrow(new TypeError('another wait has not ended'));
    wakeUp.wake();
    expect(await first).toBe(true);
  });
});

describe('close', () => {
  test('ends the present wait and all later ones at once', async () => {
    const wakeUp = new WakeUp();
    const wait = wakeUp.wait();
    wakeUp.close();
    expect([await wait, await wakeUp.wait(), await wakeUp.wait()]).toEqual([true, true, true]);
  });

  test('with an error makes them reject; the first error counts', async () => {
    const wakeUp = new WakeUp();
    const wait = wakeUp.wait();
    wakeUp.close(lost);
    wakeUp.close(new Error('later'));
    await expect(wait).rejects.toBe(lost);
    await expect(wakeUp.wait()).rejects.toBe(lost);
  });
});
