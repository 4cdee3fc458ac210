import { describe, expect, test } from '@jest/globals';
import { Mutex } from '@mortise/locks';
import type { AcquireOptions, MutexOptions } from '@mortise/locks';
import { connect, freshPrefix } from '@mortise/test-kit';

const redis = connect();
const prefix = freshPrefix();

describe('options of the constructor', () => {
  test.each([0, -1, 9, 86_400_001, 10.5, Number.NaN, Infinity, -Infinity, 2 ** 53])(
    'refuses leaseMs %p',
    (leaseMs) => {
      const limits = 'leaseMs must be a whole number from 10 to 86400000';
      expect(() => new Mutex(redis, 'lock', { leaseMs })).toThrow(
        new RangeError(`${limits}, got ${leaseMs}`),
      );
    },
  );

  test.each([0, -1, 9_999, 31 * 86_400_000 + 1, Number.NaN, Infinity])(
    'refuses maxHoldMs %p',
    (maxHoldMs) => {
      expect(() => new Mutex(redis, 'lock', { maxHoldMs })).toThrow(RangeError);
    },
  );

  test('maxHoldMs may not be below leaseMs', () => {
    expect(() => new Mutex(redis, 'lock', { leaseMs: 500, maxHoldMs: 499 })).toThrow(
      'maxHoldMs must be from 500 to 2678400000 ms, got 499',
    );
    expect(new Mutex(redis, 'lock', { leaseMs: 500, maxHoldMs: 500 }).name).toBe('lock');
  });

  test.each([
    { leaseMs: '10' },
    { leaseMs: null },
    { leaseMs: 10n },
    { fair: 1 },
    { fair: null },
    { renew: 'yes' },
    { fencing: 0 },
    { maxHoldMs: '10000' },
    { prefix: 7 },
  ])('refuses a value of another type: %p', (options) => {
    expect(() => new Mutex(redis, 'lock', options as unknown as MutexOptions)).toThrow(TypeError);
  });

  test.each([undefined, null, 7, {}, ['a']])('refuses the name %p', (name) => {
    expect(() => new Mutex(redis, name as string)).toThrow(TypeError);
  });

  test('refuses names that are empty or too long', () => {
    expect(() => new Mutex(redis, '')).toThrow(RangeError);
    expect(() => new Mutex(redis, 'x'.repeat(1_025))).toThrow('name must have 1 to 1024 bytes, got 1025');
    expect(() => new Mutex(redis, 'lock', { prefix: '' })).toThrow(RangeError);
    expect(new Mutex(redis, 'x'.repeat(1_024)).name).toHaveLength(1_024);
  });

  test('refuses what is no client', () => {
    expect(() => new Mutex({} as unknown as typeof redis, 'lock')).toThrow(TypeError);
    expect(() => new Mutex(null as unknown as typeof redis, 'lock')).toThrow(TypeError);
  });
});

describe('options of acquire and using', () => {
  const mutex = new Mutex(redis, 'lock', { prefix });

  test.each([0, -1, 86_400_001, Number.NaN, Infinity, -Infinity])('refuses waitMs %p', async (waitMs) => {
    const limits = 'waitMs must be from 1 to 86400000 ms';
    await expect(mutex.acquire({ waitMs })).rejects.toThrow(new RangeError(`${limits}, got ${waitMs}`));
    await expect(mutex.using(() => 1, { waitMs })).rejects.toThrow(RangeError);
  });

  test.each([{ waitMs: '5' }, { waitMs: null }, { signal: {} }, { signal: null }, { signal: 'abort' }])(
    'refuses a value of another type: %p',
    async (options) => {
      await expect(mutex.acquire(options as unknown as AcquireOptions)).rejects.toThrow(TypeError);
    },
  );

  test('sends nothing for a call that it refuses', async () => {
    expect(await redis.keys(`${prefix}:*`)).toEqual([]);
  });

  test('undefined reads as absent', async () => {
    const lease = await mutex.acquire({ waitMs: undefined, signal: undefined });
    expect(await lease.release()).toBe(true);
  });
});
