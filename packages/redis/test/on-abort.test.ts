import { getEventListeners } from 'node:events';
import { expect, test } from '@jest/globals';
import { onAbort, Waiter } from '../src/index.js';

test('however many listen, the signal has one listener, and none when all are through', () => {
  const { signal } = new AbortController();
  const stops = Array.from({ length: 1_000 }, () => onAbort(signal, () => undefined));
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  for (const stop of stops) stop();
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('all callbacks are called in their order, once, except removed ones', () => {
  const controller = new AbortController();
  const calls: string[] = [];
  onAbort(controller.signal, () => calls.push('a'));
  const stop = onAbort(controller.signal, () => calls.push('b'));
  const stopLate = onAbort(controller.signal, () => calls.push('late'));
  onAbort(controller.signal, () => {
    calls.push('c');
    stopLate();
  });
  stop();
  stop();
  controller.abort();
  controller.abort();
  expect(calls).toEqual(['a', 'late', 'c']);
});

test('a callback that is removed twice removes no other', () => {
  const controller = new AbortController();
  const calls: string[] = [];
  const stop = onAbort(controller.signal, () => calls.push('a'));
  stop();
  onAbort(controller.signal, () => calls.push('b'));
  stop();
  controller.abort();
  expect(calls).toEqual(['b']);
});

test('many waiters may share a signal without a warning of Node', async () => {
  const warnings: Error[] = [];
  const warned = (warning: Error): number => warnings.push(warning);
  process.on('warning', warned);
  const controller = new AbortController();
  const reason = new Error('enough');
  const waits = Array.from({ length: 100 }, (_, index) =>
    new Waiter('channel', String(index), () => undefined).next({ signal: controller.signal }),
  );
  // Warnings come after the present tick.
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings).toEqual([]);
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
  controller.abort(reason);
  const results = await Promise.allSettled(waits);
  expect(results).toEqual(waits.map(() => ({ status: 'rejected', reason })));
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  process.off('warning', warned);
});
