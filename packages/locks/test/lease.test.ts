import { describe, expect, test } from '@jest/globals';
import { LeaseLostError, Mutex } from '@mortise/locks';
import type { MutexOptions } from '@mortise/locks';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { abortOf } from './abort-of.js';
import { queued } from './queued.js';

const redis = connect();
const other = connect();

function fresh(options: MutexOptions = {}): { mutex: Mutex; key: string; prefix: string } {
  const prefix = freshPrefix();
  return {
    mutex: new Mutex(redis, 'lock', { prefix, ...options }),
    key: `${prefix}:locks:{lock}:lease`,
    prefix,
  };
}

function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

describe('the end of a lease', () => {
  test('is counted from before the command was sent', async () => {
    const { mutex } = fresh({ leaseMs: 1_000 });
    const before = performance.now();
    const lease = await mutex.acquire();
    expect(lease.expiresAt).toBeGreaterThanOrEqual(before + 1_000);
    expect(lease.expiresAt).toBeLessThanOrEqual(performance.now() + 1_000);
    await lease.release();
  });

  test('aborts the signal, and not before', async () => {
    const { mutex, key } = fresh({ leaseMs: 120, renew: false });
    const lease = await mutex.acquire();
    const { expiresAt } = lease;
    const abortedAt = await abortOf(lease.signal);
    expect(abortedAt).toBeGreaterThanOrEqual(expiresAt);
    expect(lease.isValid).toBe(false);
    expect(lease.signal.reason).toBeInstanceOf(LeaseLostError);
    expect(lease.signal.reason).toMatchObject({
      code: 'ERR_LEASE_LOST',
      held: 'lock "lock"',
      fencingToken: lease.fencingToken,
      reason: 'expired',
    });
    await until('the end on the server', async () => (await redis.exists(key)) === 0);
    expect(await lease.release()).toBe(false);
  });

  test('shows at once after the event loop was blocked', async () => {
    const { mutex } = fresh({ leaseMs: 60 });
    const lease = await mutex.acquire();
    const { signal } = lease;
    block(90);
    expect(lease.isValid).toBe(false);
    expect(lease.signal).toBe(signal);
    expect(signal.aborted).toBe(true);
    await expect(lease.renew()).rejects.toMatchObject({ reason: 'expired' });
    await lease.release();
  });

  test('a signal that is asked for after the end is aborted, after a release it is not', async () => {
    const { mutex } = fresh({ leaseMs: 30, renew: false });
    const lost = await mutex.acquire();
    await until('the end', () => !lost.isValid);
    expect(lost.signal.aborted).toBe(true);
    const kept = await mutex.acquire();
    await kept.release();
    const { signal } = kept;
    await until('the end', () => performance.now() > kept.expiresAt + 5);
    expect(signal.aborted).toBe(false);
  });
});

describe('the watchdog', () => {
  test('stops at maxHoldMs', async () => {
    const { mutex, key } = fresh({ leaseMs: 3_000, maxHoldMs: 3_500 });
    const before = performance.now();
    const lease = await mutex.acquire();
    const after = performance.now();
    const { expiresAt } = lease;
    const abortedAt = await abortOf(lease.signal);
    // It was renewed, but not beyond its limit.
    expect(lease.expiresAt).toBeGreaterThan(expiresAt);
    expect(lease.expiresAt).toBeGreaterThanOrEqual(before + 3_498);
    expect(lease.expiresAt).toBeLessThanOrEqual(after + 3_501);
    expect(abortedAt).toBeGreaterThanOrEqual(lease.expiresAt);
    await until('the end on the server', async () => (await redis.exists(key)) === 0);
    expect(await lease.release()).toBe(false);
  });

  test('never makes a lease shorter', async () => {
    const { mutex, key } = fresh();
    const lease = await mutex.acquire();
    await redis.pexpire(key, 100_000);
    await lease.renew();
    expect(await redis.pttl(key)).toBeGreaterThan(50_000);
    await lease.release();
  });
});

describe('renew', () => {
  test('lengthens the lease to leaseMs from now', async () => {
    const { mutex, key } = fresh({ leaseMs: 60_000, renew: false });
    const lease = await mutex.acquire();
    const { expiresAt } = lease;
    await redis.pexpire(key, 20_000);
    await lease.renew();
    expect(lease.expiresAt).toBeGreaterThan(expiresAt);
    expect(await redis.pttl(key)).toBeGreaterThan(40_000);
    await lease.release();
  });

  test('rejects with ERR_LEASE_LOST when the lock was taken away or released', async () => {
    const { mutex, key } = fresh();
    const lost = await mutex.acquire();
    await redis.del(key);
    await expect(lost.renew()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'taken' });
    expect(lost.isValid).toBe(false);
    expect(lost.signal.aborted).toBe(true);
    await expect(lost.renew()).rejects.toBe(lost.signal.reason);

    const released = await mutex.acquire();
    await released.release();
    await expect(released.renew()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'released' });
  });

  test('a release at the same time wins', async () => {
    const { mutex } = fresh();
    const lease = await mutex.acquire();
    const [renewal, release] = await Promise.allSettled([lease.renew(), lease.release()]);
    expect(renewal).toMatchObject({ status: 'rejected', reason: { reason: 'released' } });
    expect(release).toEqual({ status: 'fulfilled', value: true });
    expect((await mutex.inspect()).holder).toBeNull();
  });
});

describe('release', () => {
  test('is idempotent, and a second call cannot release the next holder', async () => {
    const { mutex } = fresh();
    const lease = await mutex.acquire();
    expect(await Promise.all([lease.release(), lease.release()])).toEqual([true, true]);
    const next = await mutex.acquire();
    expect(await lease.release()).toBe(true);
    await lease[Symbol.asyncDispose]();
    expect((await mutex.inspect()).holder).toBe(next.holder);
    expect(await next.release()).toBe(true);
  });

  test('makes the lease invalid before it is sent', async () => {
    const { mutex } = fresh();
    const lease = await mutex.acquire();
    const release = lease.release();
    expect(lease.isValid).toBe(false);
    expect(await release).toBe(true);
  });

  test('of a lost lease changes nothing, not even for those who wait', async () => {
    const { mutex, key, prefix } = fresh();
    const lost = await mutex.acquire();
    await redis.del(key);
    const next = await mutex.acquire();
    const wait = new Mutex(other, 'lock', { prefix }).acquire();
    await queued(mutex, 1);
    expect(await lost.release()).toBe(false);
    expect(await mutex.inspect()).toMatchObject({ holder: next.holder, queueLength: 1 });
    expect(await next.release()).toBe(true);
    expect(await (await wait).release()).toBe(true);
  });

  test('rejects when the connection is gone, may be repeated, and await using hides it', async () => {
    const prefix = freshPrefix();
    const client = connect();
    const mutex = new Mutex(client, 'lock', { prefix });
    const lease = await mutex.acquire();
    client.disconnect();
    await expect(lease.release()).rejects.toThrow('Connection is closed');
    await expect(lease[Symbol.asyncDispose]()).resolves.toBeUndefined();
    await client.connect();
    expect(await lease.release()).toBe(true);
    expect((await new Mutex(redis, 'lock', { prefix }).inspect()).holder).toBeNull();
  });
});
