import { expect, test } from '@jest/globals';
import {
  CountDownLatch,
  LatchLostError,
  LatchTimeoutError,
  LockSettingsError,
  RateLimiter,
} from '@mortise/locks';
import type {
  CountDownLatchOptions,
  CountDownOptions,
  LatchWaitOptions,
  RateLimiterOptions,
  TakeResult,
} from '@mortise/locks';
import { connect, freshPrefix } from '@mortise/test-kit';

const redis = connect();

test('the types are what the README says', async () => {
  const prefix = freshPrefix();
  const options: RateLimiterOptions = { limit: 10, periodMs: 60_000, burst: 5, prefix };
  const calls = new RateLimiter(redis, 'calls', options);
  const result: TakeResult = await calls.take(2);
  const isAllowed: boolean = result.isAllowed;
  const numbers: number[] = [
    result.remaining,
    result.retryAfterMs,
    result.resetAfterMs,
    calls.limit,
    calls.burst,
  ];
  const nothing: void = await calls.reset();
  expect([isAllowed, numbers.length, nothing, calls.periodMs, calls.name]).toEqual([
    true,
    5,
    undefined,
    60_000,
    'calls',
  ]);
  const terms: CountDownLatchOptions = { count: 2, keepMs: 60_000, prefix };
  const gate = new CountDownLatch(redis, 'import', terms);
  const down: CountDownOptions = { id: 'a', by: 1 };
  const wait: LatchWaitOptions = { waitMs: 1_000, signal: undefined };
  const remaining: number = await gate.countDown(down);
  expect([remaining, await gate.countDown(), await gate.remaining(), gate.count]).toEqual([1, 0, 0, 2]);
  const opened: void = await gate.wait(wait);
  const hadBegun: boolean = await gate.reset();
  expect([opened, hadBegun]).toEqual([undefined, true]);
});

test('errors have literal codes and typed fields', () => {
  expect(fieldsOf(new LatchTimeoutError('gate', 10))).toBe('gate 10');
  expect(fieldsOf(new LockSettingsError('count', 'gate', 3, 4))).toBe('gate 3 4');
  expect(fieldsOf(new LatchLostError('gate'))).toBe('gate');
});

function fieldsOf(error: LatchTimeoutError | LockSettingsError | LatchLostError): string {
  if (error.code === 'ERR_LATCH_TIMEOUT') return `${error.latchName} ${error.waitMs}`;
  if (error.code !== 'ERR_LATCH_LOST') return `${error.lockName} ${error.value} ${error.knownValue}`;
  return error.latchName;
}

test('misuse that the compiler refuses also throws at run time', async () => {
  // @ts-expect-error -- the options are missing
  expect(() => new RateLimiter(redis, 'calls')).toThrow(TypeError);
  // @ts-expect-error -- the period is missing
  expect(() => new RateLimiter(redis, 'calls', { limit: 1 })).toThrow(TypeError);
  // @ts-expect-error -- the options are missing
  expect(() => new CountDownLatch(redis, 'import')).toThrow(TypeError);
  // @ts-expect-error -- a count is a number
  expect(() => new CountDownLatch(redis, 'import', { count: '3' })).toThrow(TypeError);
  const calls = new RateLimiter(redis, 'calls', { limit: 1, periodMs: 1, prefix: freshPrefix() });
  // @ts-expect-error -- a cost is a number
  await expect(calls.take('1')).rejects.toThrow(TypeError);
});
