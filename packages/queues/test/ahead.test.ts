/** When tasks are taken ahead of free slots, and for how long they may wait for one; the worker's part is in worker-ahead.test.ts. */
import { describe, expect, test } from '@jest/globals';
import { Ahead } from '../src/work/ahead.js';
import type { Attempt } from '../src/work/attempt.js';
import { heldPatience } from './held-timers.js';
import { until } from './until.js';

/** No timer goes off meanwhile. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function newAttempt(attempt = 1, attempts = 5): Attempt {
  return { attempt, attempts } as Partial<Attempt> as Attempt;
}

function newAhead(): { ahead: Ahead; given: Attempt[]; run: (ms: number, times: number) => void } {
  const given: Attempt[] = [];
  const ahead = new Ahead((attempt) => void given.push(attempt));
  const run = (ms: number, times: number): void => {
    for (let n = 0; n < times; n += 1) ahead.ran(ms);
  };
  return { ahead, given, run };
}

/** Of a worker whose handlers are quick, and whose queue has more than it asks for. */
function newQuick(): ReturnType<typeof newAhead> {
  const made = newAhead();
  made.run(0.01, 20);
  for (let n = 0; n < 4; n += 1) made.ahead.answered(true);
  return made;
}

describe('places', () => {
  test('there are none until handlers have shown that they are quick', () => {
    const { ahead, run } = newAhead();
    for (let n = 0; n < 10; n += 1) ahead.answered(true);
    run(0.01, 5);
    expect(ahead.places).toBe(0);
    run(0.01, 1);
    expect(ahead.places).toBe(8);
  });

  test('there are none while they take half a millisecond, whatever one of them takes', () => {
    const { ahead, run } = newQuick();
    run(1, 1);
    expect(ahead.places).toBe(8);
    run(0.6, 20);
    expect(ahead.places).toBe(0);
    run(0.4, 20);
    expect(ahead.places).toBe(8);
  });

  test('they become more with each answer that is full, and none are left by one that is not', () => {
    const { ahead, run } = newAhead();
    run(0.01, 20);
    expect(ahead.places).toBe(0);
    const places = Array.from({ length: 5 }, () => {
      ahead.answered(true);
      return ahead.places;
    });
    expect(places).toEqual([1, 3, 7, 8, 8]);
    ahead.answered(false);
    expect(ahead.places).toBe(0);
  });
});

test('a queue that keeps back what may not wait is asked again after forty quick ones', () => {
  const { ahead, run } = newQuick();
  ahead.answered(false, true);
  ahead.answered(true);
  run(0.01, 39);
  expect(ahead.places).toBe(0);
  run(0.01, 1);
  expect(ahead.places).toBe(1);
});

describe('what waits', () => {
  heldPatience();

  test('is taken out in its order', () => {
    const { ahead, given } = newQuick();
    const attempts = [newAttempt(), newAttempt(), newAttempt()];
    expect(attempts.map((attempt) => ahead.add(attempt))).toEqual([true, true, true]);
    expect(ahead.size).toBe(3);
    expect([ahead.next(), ahead.next()]).toEqual(attempts.slice(0, 2));
    ahead.giveBack();
    expect(given).toEqual(attempts.slice(2));
    expect([ahead.size, ahead.next()]).toEqual([0, undefined]);
  });

  test('goes back when handlers have become slow', () => {
    const { ahead, given, run } = newQuick();
    const attempt = newAttempt();
    ahead.add(attempt);
    run(0.9, 100);
    // No more is taken, but this much may wait for its turn.
    expect([ahead.places, given.length]).toEqual([0, 0]);
    run(20, 1);
    expect(given).toEqual([attempt]);
  });

  test('is no last attempt, nor what came behind one with the same answer', () => {
    const { ahead, given, run } = newQuick();
    const [first, last, behind] = [newAttempt(4, 5), newAttempt(5, 5), newAttempt(1, 5)];
    expect([first, last, behind].map((attempt) => ahead.add(attempt))).toEqual([true, false, false]);
    expect([ahead.size, ahead.places, given.length]).toEqual([1, 0, 0]);
    ahead.answered(true);
    expect(ahead.add(behind)).toBe(true);
    expect(ahead.places).toBe(0);
    run(0.01, 10);
    expect(ahead.places).toBe(1);
  });
});

describe('patience', () => {
  test('ends after eight milliseconds, also for those behind the one that has waited so long', async () => {
    const { ahead, given } = newQuick();
    const startedAt = performance.now();
    const [first, second] = [newAttempt(), newAttempt()];
    ahead.add(first);
    block(4);
    ahead.add(second);
    expect(given).toEqual([]);
    await until(() => given.length === 2);
    expect(given).toEqual([first, second]);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(8);
    expect([ahead.size, ahead.places]).toEqual([0, 0]);
  });

  test('is that of the first one that still waits', async () => {
    const { ahead, given } = newQuick();
    ahead.add(newAttempt());
    block(4);
    const [, second] = [ahead.next(), newAttempt()];
    const secondAt = performance.now();
    ahead.add(second);
    await until(() => given.length > 0);
    expect(given).toEqual([second]);
    expect(performance.now() - secondAt).toBeGreaterThanOrEqual(8);
    expect(ahead.size).toBe(0);
  });
});

test('the round is another one when something has gone back, or what comes with an answer has to', () => {
  const { ahead, run } = newQuick();
  const rounds = [ahead.round];
  const next = (act: () => unknown): void => {
    act();
    rounds.push(ahead.round);
  };
  next(() => ahead.giveBack());
  next(() => ahead.add(newAttempt()));
  next(() => ahead.giveBack());
  next(() => ahead.add(newAttempt(5, 5)));
  next(() => {
    ahead.answered(true);
    ahead.add(newAttempt());
    run(20, 1);
  });
  expect(rounds.map((round) => rounds.indexOf(round))).toEqual([0, 0, 0, 3, 4, 5]);
});
