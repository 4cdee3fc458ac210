import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Backoff, ResolvedBackoff } from '../src/index.js';
import { backoffDelayMs, resolveBackoff } from '../src/index.js';

const DEFAULTS: ResolvedBackoff = { type: 'exponential', delayMs: 1_000, maxDelayMs: 3_600_000, jitter: 0.5 };
const resolve = (backoff?: Backoff): ResolvedBackoff => resolveBackoff(backoff, DEFAULTS);

describe('resolveBackoff', () => {
  test.each<[Backoff | undefined, Partial<ResolvedBackoff>]>([
    [undefined, {}],
    [{ type: undefined, delayMs: undefined, maxDelayMs: undefined, jitter: undefined }, {}],
    [
      { delayMs: 0, jitter: 0 },
      { delayMs: 0, jitter: 0 },
    ],
    [{ delayMs: 7_200_000 }, { delayMs: 7_200_000, maxDelayMs: 7_200_000 }],
    [
      { type: 'fixed', maxDelayMs: 2_000 },
      { type: 'fixed', maxDelayMs: 2_000 },
    ],
  ])('fills the gaps of %j', (backoff, expected) => {
    expect(resolve(backoff)).toEqual({ ...DEFAULTS, ...expected });
  });

  test.each([
    [[], TypeError, 'backoff must be an object, got an array'],
    [{ delay: 5 }, TypeError, 'backoff has no option "delay"; there are type, delayMs, maxDelayMs, jitter'],
    [{ type: 'linear' }, RangeError, 'backoff.type must be one of exponential, fixed, got "linear"'],
    [{ delayMs: -1 }, RangeError, 'backoff.delayMs must be from 0 to 315576000000 ms, got -1'],
    [
      { delayMs: 200, maxDelayMs: 100 },
      RangeError,
      'backoff.maxDelayMs must be from 200 to 315576000000 ms, got 100',
    ],
    [{ jitter: '1' }, TypeError, 'backoff.jitter must be a number, got string'],
    [{ jitter: Number.NaN }, RangeError, 'backoff.jitter must be from 0 to 1, got NaN'],
  ])('refuses %j', (backoff, Misuse, message) => {
    expect(() => resolve(backoff as Backoff)).toThrow(new Misuse(message));
  });
});

describe('backoffDelayMs', () => {
  const none = (): number => 0;
  const almostOne = (): number => 1 - Number.EPSILON;

  test('doubles up to the limit', () => {
    const backoff = resolve({ delayMs: 100, maxDelayMs: 1_000, jitter: 0 });
    const delays = [1, 2, 3, 4, 5, 6, 60, 65_535].map((attempt) => backoffDelayMs(backoff, attempt));
    expect(delays).toEqual([100, 200, 400, 800, 1_000, 1_000, 1_000, 1_000]);
  });

  test('stays the same when fixed', () => {
    const backoff = resolve({ type: 'fixed', delayMs: 7_200_000, jitter: 0 });
    expect([1, 2, 50].map((attempt) => backoffDelayMs(backoff, attempt))).toEqual(Array(3).fill(7_200_000));
  });

  test('takes the random share off', () => {
    const backoff = resolve({ jitter: 0.25 });
    expect(backoffDelayMs(backoff, 1, none)).toBe(1_000);
    expect(backoffDelayMs(backoff, 1, almostOne)).toBe(750);
    expect(backoffDelayMs(DEFAULTS, 3, none)).toBe(4_000);
    expect(backoffDelayMs(DEFAULTS, 3, almostOne)).toBe(2_000);
  });

  test('is a whole number of ms within its limits, for all options', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1e9, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.integer({ min: 1, max: 65_535 }),
        (delayMs, jitter, attempt) => {
          const delay = backoffDelayMs(resolve({ delayMs, jitter }), attempt);
          expect(Number.isInteger(delay)).toBe(true);
          expect(delay).toBeGreaterThanOrEqual(Math.floor(delayMs * (1 - jitter)));
          expect(delay).toBeLessThanOrEqual(Math.ceil(Math.max(delayMs, 3_600_000)));
        },
      ),
    );
  });
});
