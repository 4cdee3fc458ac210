/**
 * A lease as time goes by in its process. The clock and the timers stand still here unless a test moves them, so
 * neither a slow machine nor a long wait has a part in it; the server's clock goes on.
 */
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { Mutex, Semaphore } from '@mortise/locks';
import type { MutexOptions } from '@mortise/locks';
import { connect, freshPrefix } from '@mortise/test-kit';
import { queued } from '../fixture/queued.js';
import { roundTrips } from '../fixture/round-trips.js';

const redis = connect();
const other = connect();

beforeAll(async () => {
  await Promise.all([redis.ping(), other.ping()]);
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'clearImmediate', 'queueMicrotask'] });
});

afterAll(() => {
  jest.useRealTimers();
});

function fresh(options: MutexOptions): { mutex: Mutex; key: string; prefix: string } {
  const prefix = freshPrefix();
  const mutex = new Mutex(redis, 'lock', { prefix, ...options });
  return { mutex, key: `${prefix}:locks:{lock}:lease`, prefix };
}

/** Lets time go by; what is due in each half second is done in it. */
async function elapse(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) {
    await jest.advanceTimersByTimeAsync(Math.min(left, 500));
    await Promise.all([redis, other].map((client) => roundTrips(client)));
  }
}

test('the signal is aborted at the end of the lease, to the ms', async () => {
  const { mutex } = fresh({ leaseMs: 10_000, renew: false });
  const startedAt = performance.now();
  const lease = await mutex.acquire();
  const { expiresAt, signal } = lease;
  expect(expiresAt).toBe(startedAt + 10_000);
  await elapse(9_999);
  expect([lease.isValid, signal.aborted]).toEqual([true, false]);
  await elapse(1);
  expect([lease.isValid, signal.aborted]).toEqual([false, true]);
  expect(signal.reason).toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'expired' });
  // Nothing has renewed it.
  expect(lease.expiresAt).toBe(expiresAt);
  await lease.release();
});

test('the watchdog renews at a third of the lease, until the release, and cannot outlive that', async () => {
  const { mutex, key, prefix } = fresh({ leaseMs: 9_000 });
  const lease = await mutex.acquire();
  const { expiresAt: first, signal } = lease;
  await elapse(2_900);
  expect(lease.expiresAt).toBe(first);
  await elapse(200);
  expect(lease.expiresAt).toBeGreaterThan(first + 2_900);
  await redis.pexpire(key, 5_000);
  // Beyond the end of the first lease, and of the second.
  await elapse(12_000);
  expect([lease.isValid, signal.aborted]).toEqual([true, false]);
  expect(lease.expiresAt).toBeGreaterThan(first + 14_000);
  expect(await redis.pttl(key)).toBeGreaterThan(5_000);
  expect(await lease.release()).toBe(true);
  const rival = await new Mutex(other, 'lock', { prefix, renew: false }).acquire();
  await elapse(9_000);
  expect(await redis.get(key)).toBe(rival.holder);
  expect(signal.aborted).toBe(false);
  expect(await rival.release()).toBe(true);
});

test('it lengthens the claim of a waiter to a whole lease, also with renew: false', async () => {
  const { mutex, key, prefix } = fresh({});
  const holder = await mutex.acquire();
  const wait = new Mutex(other, 'lock', { prefix, leaseMs: 60_000, renew: false }).acquire();
  await queued(mutex, 1);
  await roundTrips(other);
  await holder.release();
  const grantedAt = performance.now();
  const lease = await wait;
  expect(lease.expiresAt).toBeLessThanOrEqual(grantedAt + 1_000);
  await elapse(500);
  // Half of the claim has gone by. A whole lease counts from the grant, too.
  expect(lease.expiresAt).toBe(grantedAt + 60_000);
  expect(await redis.pttl(key)).toBeGreaterThan(30_000);
  await elapse(59_499);
  expect(lease.isValid).toBe(true);
  await elapse(1);
  expect(lease.isValid).toBe(false);
  expect(await lease.release()).toBe(true);
});

test('it tells the holder when somebody else has the lock', async () => {
  const { mutex, key } = fresh({ leaseMs: 9_000 });
  const lease = await mutex.acquire();
  const { signal } = lease;
  await redis.set(key, 'somebody', 'PX', 60_000);
  await elapse(3_100);
  expect(signal.aborted).toBe(true);
  expect(signal.reason).toMatchObject({ reason: 'taken' });
  expect(await redis.get(key)).toBe('somebody');
  expect(await lease.release()).toBe(false);
  expect(await redis.get(key)).toBe('somebody');
});

test('it renews leases of many locks', async () => {
  const prefix = freshPrefix();
  const leases = await Promise.all(
    Array.from({ length: 200 }, (_, index) =>
      new Mutex(redis, `lock ${index}`, { prefix, leaseMs: 9_000 }).acquire(),
    ),
  );
  const last = Math.max(...leases.map(({ expiresAt }) => expiresAt));
  await elapse(9_500);
  expect(performance.now()).toBeGreaterThan(last);
  expect(leases.filter(({ isValid }) => !isValid)).toEqual([]);
  expect(await Promise.all(leases.map((lease) => lease.release()))).toEqual(leases.map(() => true));
});

test('permits that a waiter gets are a claim at first, which its first renewal makes a whole lease', async () => {
  const options = { prefix: freshPrefix(), permits: 1, leaseMs: 60_000 };
  const [semaphore, second] = [redis, other].map((client) => new Semaphore(client, 'pool', options)) as [
    Semaphore,
    Semaphore,
  ];
  const held = await semaphore.acquire();
  const wait = second.acquire();
  await queued(semaphore, 1);
  await roundTrips(other);
  await held.release();
  const grantedAt = performance.now();
  const lease = await wait;
  expect(lease.expiresAt).toBeLessThanOrEqual(grantedAt + 1_000);
  await lease.renew();
  expect(lease.expiresAt).toBe(grantedAt + 60_000);
  const { holders } = await semaphore.inspect();
  expect(holders).toHaveLength(1);
  expect(holders[0]!.remainingMs).toBeGreaterThan(30_000);
  expect(await lease.release()).toBe(true);
});
