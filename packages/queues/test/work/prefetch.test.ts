/** When tasks are prefetched, and how long they may wait for a slot; worker.prefetch.test.ts has the worker's part. */
import { describe, expect, test } from '@jest/globals';
import { Prefetch } from '../../src/work/prefetch.js';
import type { Attempt } from '../../src/work/attempt.js';
import { heldPrefetchWaits } from '../fixture/paused-timers.js';
import { until } from '../fixture/until.js';

/** No timer goes off meanwhile. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function newAttempt(attempt = 1, attempts = 5): Attempt {
  return { attempt, attempts } as Partial<Attempt> as Attempt;
}

function newPrefetch(): { prefetch: Prefetch; given: Attempt[]; run: (ms: number, times: number) => void } {
  const given: Attempt[] = [];
  const prefetch = new Prefetch(8, (attempt) => void given.push(attempt));
  const run = (ms: number, times: number): void => {
    for (let n = 0; n < times; n += 1) prefetch.ran(ms);
  };
  return { prefetch, given, run };
}

/** Of a worker whose handlers are quick, and whose queue has more than it asks for. */
function newQuick(): ReturnType<typeof newPrefetch> {
  const made = newPrefetch();
  made.run(0.01, 20);
  for (let n = 0; n < 4; n += 1) made.prefetch.answered(true);
  return made;
}

describe('places', () => {
  test('there are none when the option is 0', () => {
    const prefetch = new Prefetch(0, () => undefined);
    for (let n = 0; n < 10; n += 1) {
      prefetch.ran(0.01);
      prefetch.answered(true);
    }
    expect(prefetch.places).toBe(0);
  });

  test('there are none until handlers have shown that they are quick', () => {
    const { prefetch, run } = newPrefetch();
    for (let n = 0; n < 10; n += 1) prefetch.answered(true);
    run(0.01, 5);
    expect(prefetch.places).toBe(0);
    run(0.01, 1);
    expect(prefetch.places).toBe(8);
  });

  test('there are none while they take half a millisecond, whatever one of them takes', () => {
    const { prefetch, run } = newQuick();
    run(1, 1);
    expect(prefetch.places).toBe(8);
    run(0.6, 20);
    expect(prefetch.places).toBe(0);
    run(0.4, 20);
    expect(prefetch.places).toBe(8);
  });

  test('they become more with each answer that is full, and none are left by one that is not', () => {
    const { prefetch, run } = newPrefetch();
    run(0.01, 20);
    expect(prefetch.places).toBe(0);
    const places = Array.from({ length: 5 }, () => {
      prefetch.answered(true);
      return prefetch.places;
    });
    expect(places).toEqual([1, 3, 7, 8, 8]);
    prefetch.answered(false);
    expect(prefetch.places).toBe(0);
  });
});

test('a queue that keeps back what may not wait is asked again after forty quick ones', () => {
  const { prefetch, run } = newQuick();
  prefetch.answered(false, true);
  prefetch.answered(true);
  run(0.01, 39);
  expect(prefetch.places).toBe(0);
  run(0.01, 1);
  expect(prefetch.places).toBe(1);
});

describe('a waiting task', () => {
  heldPrefetchWaits();

  test('is taken out in its order', () => {
    const { prefetch, given } = newQuick();
    const attempts = [newAttempt(), newAttempt(), newAttempt()];
    expect(attempts.map((attempt) => prefetch.add(attempt))).toEqual([true, true, true]);
    expect(prefetch.size).toBe(3);
    expect([prefetch.next(), prefetch.next()]).toEqual(attempts.slice(0, 2));
    prefetch.giveBack();
    expect(given).toEqual(attempts.slice(2));
    expect([prefetch.size, prefetch.next()]).toEqual([0, undefined]);
  });

  test('goes back when handlers have become slow', () => {
    const { prefetch, given, run } = newQuick();
    const attempt = newAttempt();
    prefetch.add(attempt);
    run(0.9, 100);
    // No more is taken, but this much may wait for its turn.
    expect([prefetch.places, given.length]).toEqual([0, 0]);
    run(20, 1);
    expect(given).toEqual([attempt]);
  });

  test('is no last attempt, nor what came behind one with the same answer', () => {
    const { prefetch, given, run } = newQuick();
    const [first, last, behind] = [newAttempt(4, 5), newAttempt(5, 5), newAttempt(1, 5)];
    expect([first, last, behind].map((attempt) => prefetch.add(attempt))).toEqual([true, false, false]);
    expect([prefetch.size, prefetch.places, given.length]).toEqual([1, 0, 0]);
    prefetch.answered(true);
    expect(prefetch.add(behind)).toBe(true);
    expect(prefetch.places).toBe(0);
    run(0.01, 10);
    expect(prefetch.places).toBe(1);
  });
});

describe('how long prefetched tasks wait', () => {
  test('ends after eight milliseconds, also for tasks after the first one', async () => {
    const { prefetch, given } = newQuick();
    const startedAt = performance.now();
    const [first, second] = [newAttempt(), newAttempt()];
    prefetch.add(first);
    block(4);
    prefetch.add(second);
    expect(given).toEqual([]);
    await until(() => given.length === 2);
    expect(given).toEqual([first, second]);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(8);
    expect([prefetch.size, prefetch.places]).toEqual([0, 0]);
  });

  test('is that of the first one that still waits', async () => {
    const { prefetch, given } = newQuick();
    prefetch.add(newAttempt());
    block(4);
    const [, second] = [prefetch.next(), newAttempt()];
    const secondAt = performance.now();
    prefetch.add(second);
    await until(() => given.length > 0);
    expect(given).toEqual([second]);
    expect(performance.now() - secondAt).toBeGreaterThanOrEqual(8);
    expect(prefetch.size).toBe(0);
  });
});

test('the round is another one when something has gone back, or what comes with an answer has to', () => {
  const { prefetch, run } = newQuick();
  const rounds = [prefetch.round];
  const next = (act: () => unknown): void => {
    act();
    rounds.push(prefetch.round);
  };
  next(() => prefetch.giveBack());
  next(() => prefetch.add(newAttempt()));
  next(() => prefetch.giveBack());
  next(() => prefetch.add(newAttempt(5, 5)));
  next(() => {
    prefetch.answered(true);
    prefetch.add(newAttempt());
    run(20, 1);
  });
  expect(rounds.map((round) => rounds.indexOf(round))).toEqual([0, 0, 0, 3, 4, 5]);
});
