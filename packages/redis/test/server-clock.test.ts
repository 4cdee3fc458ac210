import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { ServerClock } from '../src/index.js';

/** The server's clock minus that of the process. */
const AHEAD = 1_700_000_000_000;
let now = 0;

afterEach(() => {
  jest.restoreAllMocks();
});

/** A clock of a process whose own time is `now`. */
function newClock(): ServerClock {
  now = 1_000;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  return new ServerClock();
}

/** A call whose server reads its clock `there` ms after the sending, and whose reply takes `back` ms. */
function call(clock: ServerClock, there: number, back: number, ahead = AHEAD): void {
  const sentAt = now;
  now += there + back;
  clock.learn(sentAt, Math.floor(sentAt + there + ahead));
}

test('knows nothing before the first reply, and after forget()', () => {
  const clock = newClock();
  const unknown = { isKnown: false, learnedAt: -Infinity };
  expect(clock).toMatchObject(unknown);
  expect([clock.now(), clock.latest()]).toEqual([0, Infinity]);
  call(clock, 1, 1);
  expect(clock).toMatchObject({ isKnown: true, learnedAt: 1_002 });
  clock.forget();
  expect(clock).toMatchObject(unknown);
  expect([clock.now(), clock.latest(), clock.earliestLocal(AHEAD)]).toEqual([0, Infinity, -Infinity]);
});

test('the guess lies between the sending and the receiving of every call', () => {
  const clock = newClock();
  call(clock, 20, 20);
  expect(Math.abs(clock.now() - now - AHEAD)).toBeLessThanOrEqual(1);
  call(clock, 0, 1_000);
  call(clock, 1_000, 0);
  expect(Math.abs(clock.now() - now - AHEAD)).toBeLessThanOrEqual(21);
});

test('the latest time is never before that of the server, and ahead by less than the quickest round trip', () => {
  const clock = newClock();
  for (const [there, back] of [
    [0, 40],
    [40, 0],
    [3, 2],
    [0, 500],
  ] as const) {
    call(clock, there, back);
    expect(clock.latest()).toBeGreaterThanOrEqual(now + AHEAD);
    expect(clock.latest()).toBeLessThan(now + AHEAD + there + back + 1.5);
  }
  expect(clock.latest()).toBeLessThan(now + AHEAD + 5);
});

test('an instant of the server is at hand on the local clock, never too late', () => {
  const clock = newClock();
  call(clock, 3, 2);
  const local = clock.earliestLocal(now + AHEAD + 10_000);
  expect(local).toBeLessThanOrEqual(now + 10_000);
  expect(local).toBeGreaterThan(now + 9_994);
});

test('the bound widens with the time since the last reply, as clocks drift', () => {
  const clock = newClock();
  call(clock, 0, 0);
  const early = clock.latest() - now;
  now += 10_000;
  expect(clock.latest() - now - early).toBeCloseTo(5, 3);
});

describe('a clock that is set', () => {
  test.each([[60_000], [-60_000]])('by %d ms is followed at once', (step) => {
    const clock = newClock();
    call(clock, 1, 1);
    call(clock, 1, 1, AHEAD + step);
    expect(Math.abs(clock.now() - now - AHEAD - step)).toBeLessThanOrEqual(3);
    expect(clock.latest()).toBeGreaterThanOrEqual(now + AHEAD + step);
    expect(clock.latest()).toBeLessThan(now + AHEAD + step + 3);
  });
});

test('an exact time of the server narrows the latest time by the ms that is not rounded off', () => {
  const clock = newClock();
  const sentAt = now;
  now += 2;
  clock.learn(sentAt, sentAt + 1 + AHEAD, 0);
  expect(clock.latest()).toBe(now + AHEAD + 1);
});
