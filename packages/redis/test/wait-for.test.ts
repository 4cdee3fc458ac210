import { getEventListeners } from 'node:events';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { TIMED_OUT, waitFor } from '../src/index.js';

jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'clearImmediate', 'queueMicrotask'] });

const never = new Promise<never>(() => undefined);
const reason = new Error('enough');

afterEach(() => {
  expect(jest.getTimerCount()).toBe(0);
});

/** How a wait has ended so far. */
function ending(wait: Promise<unknown>): { how: unknown } {
  const seen: { how: unknown } = { how: 'waiting' };
  wait.then(
    (result) => (seen.how = result),
    (error: unknown) => (seen.how = error),
  );
  return seen;
}

/** Lets everything run that needs no timer. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('without a limit and a signal it is the work itself', () => {
  expect(waitFor(never, {})).toBe(never);
});

describe('the work', () => {
  test.each([
    ['resolves', Promise.resolve(5), 5],
    ['rejects', Promise.reject(reason), reason],
  ])('%s first', async (_, work, how) => {
    const { signal } = new AbortController();
    const seen = ending(waitFor(work, { waitMs: 1_000, signal }));
    await settled();
    expect(seen.how).toBe(how);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('may end late: nothing is made of it', async () => {
    let fail!: (error: Error) => void;
    const work = new Promise((_, reject) => (fail = reject));
    const seen = ending(waitFor(work, { waitMs: 10 }));
    await jest.advanceTimersByTimeAsync(10);
    await settled();
    fail(reason);
    await settled();
    expect(seen.how).toBe(TIMED_OUT);
  });
});

describe('the limit', () => {
  test.each([[1_000], [2 ** 31 + 1_000]])('ends the wait after %d ms, not before', async (waitMs) => {
    const seen = ending(waitFor(never, { waitMs }));
    await jest.advanceTimersByTimeAsync(waitMs - 1);
    await settled();
    expect(seen.how).toBe('waiting');
    await jest.advanceTimersByTimeAsync(1);
    await settled();
    expect(seen.how).toBe(TIMED_OUT);
  });

  test.each([[0], [-5]])('of %d ms still takes a result that has arrived', async (waitMs) => {
    const [there, away] = [
      ending(waitFor(Promise.resolve(5), { waitMs })),
      ending(waitFor(never, { waitMs })),
    ];
    await settled();
    await settled();
    expect([there.how, away.how]).toEqual([5, TIMED_OUT]);
  });

  test('lets a reply in that arrived before it and is read after it', async () => {
    let reply!: (result: string) => void;
    const seen = ending(waitFor(new Promise((resolve) => (reply = resolve)), { waitMs: 10 }));
    // The timer is due, and the sockets are read before `setImmediate`.
    jest.advanceTimersByTime(10);
    reply('in time');
    await settled();
    expect(seen.how).toBe('in time');
  });
});

describe('the signal', () => {
  test('ends the wait with its reason', async () => {
    const controller = new AbortController();
    const seen = ending(waitFor(never, { waitMs: 1_000, signal: controller.signal }));
    controller.abort(reason);
    await settled();
    expect(seen.how).toBe(reason);
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  test('that is aborted already ends it at once, and the work may still fail', async () => {
    const seen = ending(waitFor(Promise.reject(new Error('late')), { signal: AbortSignal.abort(reason) }));
    await settled();
    expect(seen.how).toBe(reason);
  });
});
