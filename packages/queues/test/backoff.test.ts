import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { backoffDelayMs } from '../src/work/backoff.js';
import { DEFAULTS, resolveBackoff } from '../src/options.js';

const none = (): number => 0;
const almostOne = (): number => 1 - Number.EPSILON;

describe('backoffDelayMs', () => {
  test('doubles up to the limit', () => {
    const backoff = resolveBackoff({ delayMs: 100, maxDelayMs: 1_000, jitter: 0 });
    const delays = [1, 2, 3, 4, 5, 6, 60, 65_535].map((attempt) => backoffDelayMs(backoff, attempt));
    expect(delays).toEqual([100, 200, 400, 800, 1_000, 1_000, 1_000, 1_000]);
  });

  test('stays the same when fixed, whatever the limit of the exponential kind is', () => {
    const backoff = resolveBackoff({ type: 'fixed', delayMs: 7_200_000, jitter: 0 });
    expect([1, 2, 50].map((attempt) => backoffDelayMs(backoff, attempt))).toEqual(Array(3).fill(7_200_000));
  });

  test('takes the random part off', () => {
    const backoff = resolveBackoff({ delayMs: 1_000, jitter: 0.25 });
    expect(backoffDelayMs(backoff, 1, none)).toBe(1_000);
    expect(backoffDelayMs(backoff, 1, almostOne)).toBe(750);
    expect(backoffDelayMs(DEFAULTS.backoff, 3, none)).toBe(4_000);
    expect(backoffDelayMs(DEFAULTS.backoff, 3, almostOne)).toBe(2_000);
  });

  test('is a whole number of ms within its limits, for all options', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1e9, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.integer({ min: 1, max: 65_535 }),
        (delayMs, jitter, attempt) => {
          const delay = backoffDelayMs(resolveBackoff({ delayMs, jitter }), attempt);
          expect(Number.isInteger(delay)).toBe(true);
          expect(delay).toBeGreaterThanOrEqual(Math.floor(delayMs * (1 - jitter)));
          expect(delay).toBeLessThanOrEqual(Math.ceil(Math.max(delayMs, 3_600_000)));
        },
      ),
    );
  });
});
