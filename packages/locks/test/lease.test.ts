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

  test('aborts the signal in time, and not before', async () => {
    const { mutex, key } = fresh({ leaseMs: 120, renew: false });
    const lease = await mutex.acquire();
    const { expiresAt } = lease;
    const abortedAt = await abortOf(lease.signal);
    expect(abortedAt - expiresAt).toBeGreaterThanOrEqual(0);
    expect(abortedAt - expiresAt).toBeLessThan(250);
    expect(lease.isValid).toBe(false);
    expect(lease.signal.reason).toBeInstanceOf(LeaseLostError);
    expect(lease.signal.reason).toMatchObject({
      code: 'ERR_LEASE_LOST',
      lockName: 'lock',
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
  test('keeps a lease until it is released, and cannot outlive the release', async () => {
    const { mutex, key } = fresh({ leaseMs: 250 });
    const lease = await mutex.acquire();
    const { expiresAt: first, signal } = lease;
    await until('the third lease', () => performance.now() > first + 300);
    expect(lease.isValid).toBe(true);
    expect(signal.aborted).toBe(false);
    expect(await lease.release()).toBe(true);
    const rival = await new Mutex(other, 'lock', { prefix: key.split(':locks')[0]!, renew: false }).acquire();
    await until('another renewal', () => performance.now() > rival.expiresAt - 10_000 + 120);
    expect(await redis.get(key)).toBe(rival.holder);
    expect(signal.aborted).toBe(false);
    await rival.release();
  });

  test('does nothing with renew: false', async () => {
    const { mutex } = fresh({ leaseMs: 60, renew: false });
    const lease = await mutex.acquire();
    const { expiresAt } = lease;
    await until('the end', () => !lease.isValid);
    expect(lease.expiresAt).toBe(expiresAt);
  });

  test('stops at maxHoldMs', async () => {
    const { mutex, key } = fresh({ leaseMs: 60, maxHoldMs: 200 });
    const before = performance.now();
    const lease = await mutex.acquire();
    const abortedAt = await abortOf(lease.signal);
    expect(abortedAt - before).toBeGreaterThanOrEqual(198);
    expect(abortedAt - before).toBeLessThan(450);
    await until('the end on the server', async () => (await redis.exists(key)) === 0);
    expect(await lease.release()).toBe(false);
  });

  test('lengthens the claim of a waiter to a whole lease, also with renew: false', async () => {
    const { mutex, key, prefix } = fresh();
    const holder = await mutex.acquire();
    const wait = new Mutex(other, 'lock', { prefix, leaseMs: 5_000, renew: false }).acquire();
    await queued(mutex, 1);
    await holder.release();
    const lease = await wait;
    const { expiresAt: claimEnd } = lease;
    expect(claimEnd - performance.now()).toBeLessThanOrEqual(1_000);
    await until('the renewal', () => lease.expiresAt > claimEnd);
    expect(lease.expiresAt - claimEnd).toBeGreaterThan(3_900);
    expect(lease.expiresAt - claimEnd).toBeLessThan(4_001);
    expect(await redis.pttl(key)).toBeGreaterThan(4_000);
    expect(await lease.release()).toBe(true);
  });

  test('tells the holder when somebody else has the lock', async () => {
    const { mutex, key } = fresh({ leaseMs: 400 });
    const lease = await mutex.acquire();
    await redis.set(key, 'somebody', 'PX', 1_000);
    const { expiresAt } = lease;
    expect(await abortOf(lease.signal)).toBeLessThan(expiresAt);
    expect(lease.signal.reason).toMatchObject({ reason: 'taken' });
    expect(await redis.get(key)).toBe('somebody');
    expect(await lease.release()).toBe(false);
    expect(await redis.get(key)).toBe('somebody');
  });

  test('never makes a lease shorter', async () => {
    const { mutex, key } = fresh({ leaseMs: 60 });
    const lease = await mutex.acquire();
    await redis.pexpire(key, 100_000);
    await lease.renew();
    expect(await redis.pttl(key)).toBeGreaterThan(90_000);
    await lease.release();
  });

  test('renews leases of many locks', async () => {
    const prefix = freshPrefix();
    const leases = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        new Mutex(redis, `lock ${index}`, { prefix, leaseMs: 1_500 }).acquire(),
      ),
    );
    const last = Math.max(...leases.map(({ expiresAt }) => expiresAt));
    await until('the first leases to be over', () => performance.now() > last);
    expect(leases.filter(({ isValid }) => !isValid)).toEqual([]);
    expect(await Promise.all(leases.map((lease) => lease.release()))).toEqual(leases.map(() => true));
  });
});

describe('renew', () => {
  test('lengthens the lease to leaseMs from now', async () => {
    const { mutex, key } = fresh({ leaseMs: 5_000, renew: false });
    const lease = await mutex.acquire();
    const { expiresAt } = lease;
    await redis.pexpire(key, 1_000);
    await lease.renew();
    expect(lease.expiresAt).toBeGreaterThan(expiresAt);
    expect(await redis.pttl(key)).toBeGreaterThan(4_000);
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
