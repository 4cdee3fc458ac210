import { afterEach, expect, test } from '@jest/globals';
import { Mutex, RateLimiter, ReadWriteLock, Semaphore } from '../../src/index.js';
import type { LockMatchers } from '../../src/testing/index.js';
import { lockMatchers, MemoryRedis } from '../../src/testing/index.js';

expect.extend(lockMatchers);
const expectLock = expect as unknown as (lock: object) => LockMatchers & { not: LockMatchers };

let memory: MemoryRedis | undefined;

function opened(): MemoryRedis {
  memory = new MemoryRedis();
  return memory;
}

afterEach(async () => {
  await memory?.close();
});

test('a lease ends with the time of the clock, and the first waiter has the lock', async () => {
  const redis = opened();
  const mutex = new Mutex(redis, 'invoice', { leaseMs: 10_000, renew: false });
  const lease = await mutex.acquire();
  const wait = new Mutex(redis.duplicate(), 'invoice').acquire({ waitMs: 60_000 });
  await redis.clock.advance('9s');
  await expectLock(mutex).toBeHeldBy(lease);
  expect(lease.isValid).toBe(true);
  await redis.clock.advance('2s');
  expect([lease.isValid, lease.signal.aborted]).toEqual([false, true]);
  const next = await wait;
  await expectLock(mutex).toBeHeldBy(next.holder);
  await expectLock(mutex).not.toBeHeldBy(lease);
  await next.release();
  await expectLock(mutex).toBeFree();
});

test('the watchdog renews for hours', async () => {
  const redis = opened();
  const mutex = new Mutex(redis, 'long', { leaseMs: 10_000 });
  const lease = await mutex.acquire();
  await redis.clock.advance('2h');
  await expectLock(mutex).toBeHeldBy(lease);
  expect(lease.isValid).toBe(true);
  await lease.release();
});

test('the permits of a rate limiter come back with the time of the clock', async () => {
  const redis = opened();
  const calls = new RateLimiter(redis, 'calls', { limit: 6, periodMs: 60_000, burst: 3 });
  await calls.take(3);
  expect((await calls.peek()).remaining).toBe(0);
  await redis.clock.advance('21s');
  const state = await calls.peek();
  expect(state.remaining).toBe(2);
  expect(state.resetAfterMs).toBeGreaterThan(8_000);
  expect(state.resetAfterMs).toBeLessThan(10_000);
  const terms = { limit: 6, periodMs: 60_000, burst: 3 };
  expect(await RateLimiter.inspect(redis, 'calls')).toMatchObject({ terms, remaining: 2 });
  await redis.clock.advance('10s');
  expect(await RateLimiter.inspect(redis, 'calls')).toBeNull();
});

test('a waiter gives up at its time', async () => {
  const redis = opened();
  const mutex = new Mutex(redis, 'busy');
  const lease = await mutex.acquire();
  const wait = new Mutex(redis.duplicate(), 'busy')
    .acquire({ waitMs: 5_000 })
    .catch((error: unknown) => error);
  await redis.clock.advance('5s');
  expect(await wait).toMatchObject({ code: 'ERR_LOCK_TIMEOUT' });
  await lease.release();
});

test('readers, writers and holders of permits are found', async () => {
  const redis = opened();
  const both = new ReadWriteLock(redis, 'page');
  const reader = await both.read.acquire();
  await expectLock(both.read).toBeHeldBy(reader);
  await reader.release();
  const writer = await both.write.acquire();
  await expectLock(both.write).toBeHeldBy(writer);
  await writer.release();
  const semaphore = new Semaphore(redis, 'pool', { permits: 2 });
  const permit = await semaphore.acquire();
  await expectLock(semaphore).toBeHeldBy(permit);
  await expect(expectLock(semaphore).toBeFree()).rejects.toThrow(permit.holder);
  await permit.release();
});
