import { describe, expect, test } from '@jest/globals';
import { LeaseLostError, Semaphore } from '@mortise/locks';
import type { AcquirePermitsOptions, SemaphoreOptions } from '@mortise/locks';
import { ClientClosedError } from '@mortise/redis';
import { connect, freshPrefix } from '@mortise/test-kit';
import { queued } from './queued.js';

const redis = connect();
const prefix = freshPrefix();
const NUMBERS = [0, -1, 0.5, 1.5, Number.NaN, Infinity, -Infinity, 2 ** 53, 1e300];

function make(options: object, name: unknown = 'pool'): Semaphore {
  return new Semaphore(redis, name as string, { prefix, permits: 2, ...options });
}

describe('options of the constructor', () => {
  test.each([...NUMBERS, 1_000_001])('refuses permits %p', (permits) => {
    expect(() => make({ permits })).toThrow(
      new RangeError(`permits must be a whole number from 1 to 1000000, got ${permits}`),
    );
  });

  test.each([...NUMBERS, 9, 86_400_001])('refuses leaseMs %p', (leaseMs) => {
    expect(() => make({ leaseMs })).toThrow(RangeError);
  });

  test.each([0, 9_999, 31 * 86_400_000 + 1, Number.NaN, Infinity])('refuses maxHoldMs %p', (maxHoldMs) => {
    expect(() => make({ maxHoldMs })).toThrow(RangeError);
  });

  test.each([
    { permits: undefined },
    { permits: null },
    { permits: '2' },
    { permits: 2n },
    { leaseMs: '10' },
    { renew: 1 },
    { maxHoldMs: '10000' },
    { prefix: 7 },
  ])('refuses a value of another type: %p', (options) => {
    expect(() => make(options)).toThrow(TypeError);
  });

  test('refuses to be made without options', () => {
    expect(() => new Semaphore(redis, 'pool', undefined as unknown as SemaphoreOptions)).toThrow(TypeError);
  });

  test.each([null, 7, {}, ['a']])('refuses the name %p', (name) => {
    expect(() => make({}, name)).toThrow(TypeError);
  });

  test('refuses names that are empty or too long, and what is no client', () => {
    expect(() => make({}, '')).toThrow(RangeError);
    expect(() => make({}, 'x'.repeat(1_025))).toThrow(RangeError);
    expect(() => new Semaphore({} as typeof redis, 'pool', { permits: 1 })).toThrow(TypeError);
  });
});

describe('options of a call', () => {
  test.each([...NUMBERS, 3])('acquire, tryAcquire and using refuse permits %p of 2', async (permits) => {
    const message = new RangeError(`permits must be a whole number from 1 to 2, got ${permits}`);
    const semaphore = make({});
    await expect(semaphore.acquire({ permits })).rejects.toThrow(message);
    await expect(semaphore.tryAcquire({ permits })).rejects.toThrow(message);
    await expect(semaphore.using(() => 1, { permits })).rejects.toThrow(message);
  });

  test.each([-1, Number.NaN, Infinity, 86_400_001])('acquire refuses waitMs %p', async (waitMs) => {
    await expect(make({}).acquire({ waitMs })).rejects.toThrow(RangeError);
  });

  test.each([{ permits: '1' }, { permits: null }, { waitMs: '1' }, { signal: 'no' }, { signal: {} }])(
    'acquire refuses a value of another type: %p',
    async (options) => {
      await expect(make({}).acquire(options as unknown as AcquirePermitsOptions)).rejects.toThrow(TypeError);
    },
  );

  test.each([...NUMBERS, 1_000_001])('setPermits refuses %p', async (permits) => {
    await expect(make({}).setPermits(permits)).rejects.toThrow(RangeError);
  });

  test.each([undefined, null, 7, '', 'x', 'abcdefghijklmnop.1', 'a\nb', '*'])(
    'releaseFor and renewFor refuse the holder %p',
    async (holder) => {
      await expect(make({}).releaseFor(holder as string)).rejects.toThrow(TypeError);
      await expect(make({}).renewFor(holder as string)).rejects.toThrow(TypeError);
    },
  );

  test.each([...NUMBERS, 9])('renewFor refuses leaseMs %p', async (leaseMs) => {
    await expect(make({}).renewFor('abcdefghijklmnop.1.1000.1', leaseMs)).rejects.toThrow(RangeError);
  });

  test('nothing of all that has reached Redis', async () => {
    expect(await redis.keys(`${prefix}:*`)).toEqual([]);
  });
});

describe('names', () => {
  test.each(['}x', '{}', '{', '%', '%7D', 'a:b', '😀', 'a\nb', '\0', '\ud800', '*', ' ', '__proto__'])(
    '%p is one of its own',
    async (name) => {
      const [semaphore, same] = [make({ permits: 1 }, name), make({ permits: 1 }, name)];
      const lease = await semaphore.acquire();
      expect(await same.tryAcquire()).toBeNull();
      const wait = same.acquire();
      expect(await lease.release()).toBe(true);
      expect(await (await wait).release()).toBe(true);
    },
  );
});

describe('misuse', () => {
  test('a closed client rejects, and never hangs', async () => {
    const client = connect();
    const semaphore = new Semaphore(client, 'closed', { prefix, permits: 1 });
    const holder = await new Semaphore(redis, 'closed', { prefix, permits: 1 }).acquire();
    const results = Promise.allSettled([semaphore.acquire(), semaphore.using(() => 1)]);
    await queued(semaphore, 2);
    await client.quit();
    const rejected = { status: 'rejected', reason: expect.any(ClientClosedError) };
    expect(await results).toEqual([rejected, rejected]);
    await expect(semaphore.acquire()).rejects.toThrow('Connection is closed');
    await expect(semaphore.tryAcquire()).rejects.toThrow('Connection is closed');
    await expect(semaphore.setPermits(1)).rejects.toThrow('Connection is closed');
    await expect(semaphore.available()).rejects.toThrow('Connection is closed');
    expect(await holder.release()).toBe(true);
  });

  test('a second release and one by somebody else free nothing twice', async () => {
    const semaphore = make({ permits: 3 }, 'twice');
    const [first, second] = [await semaphore.acquire({ permits: 2 }), await semaphore.acquire()];
    expect(await first.release()).toBe(true);
    expect(await first.release()).toBe(true);
    await first[Symbol.asyncDispose]();
    expect(await semaphore.releaseFor(first.holder)).toBe(false);
    expect(await semaphore.releaseFor(second.holder.replace(/1$/, '3'))).toBe(false);
    expect(await semaphore.available()).toBe(2);
    expect(await second.release()).toBe(true);
    expect(await semaphore.available()).toBe(3);
    await expect(second.renew()).rejects.toThrow(LeaseLostError);
  });
});
