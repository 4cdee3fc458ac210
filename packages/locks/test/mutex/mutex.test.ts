import { describe, expect, test } from '@jest/globals';
import { Mutex } from '@mortise/locks';
import type { MutexOptions } from '@mortise/locks';
import { connect, freshPrefix } from '@mortise/test-kit';
import { queued } from '../fixture/queued.js';
import { roundTrips } from '../fixture/round-trips.js';

const [redis, other] = [connect(), connect()];

/** The same lock, as each of two processes sees it, and the name of one of its keys. */
function shared(options: MutexOptions = {}): [Mutex, Mutex, (part: string) => string] {
  const prefix = freshPrefix();
  const of = (client: typeof redis): Mutex => new Mutex(client, 'lock', { prefix, ...options });
  return [of(redis), of(other), (part) => `${prefix}:locks:{lock}:${part}`];
}

describe('acquire', () => {
  test('without fairness a free lock goes to whoever asks first, past those who wait', async () => {
    const [mutex, second] = shared({ fair: false });
    // The server knows the scripts: sent again, the release would come after the request.
    await mutex.using(() => 1);
    const holder = await mutex.acquire();
    const patient = second.acquire();
    await queued(mutex, 1);
    // The re-check that follows the subscription has been.
    await roundTrips(other);
    const released = holder.release();
    const bargeing = mutex.tryAcquire();
    expect(await released).toBe(true);
    const barger = await bargeing;
    expect(barger?.isValid).toBe(true);
    expect(await mutex.inspect()).toMatchObject({ holder: barger?.holder, queueLength: 1 });
    await barger?.release();
    const lease = await patient;
    expect(lease.fencingToken).toBeGreaterThan(barger!.fencingToken);
    expect(await mutex.inspect()).toMatchObject({ holder: lease.holder, queueLength: 0 });
    await lease.release();
  });

  test('a fair waiter gets the lock from an unfair holder', async () => {
    const prefix = freshPrefix();
    const unfair = new Mutex(redis, 'lock', { prefix, fair: false });
    const fair = new Mutex(other, 'lock', { prefix });
    const holder = await unfair.acquire();
    const wait = fair.acquire();
    await queued(fair, 1);
    await holder.release();
    const lease = await wait;
    expect(lease.isValid).toBe(true);
    expect(await lease.release()).toBe(true);
  });

  test('tokens rise also when the clock of the server is behind the last one', async () => {
    const [mutex, waiting, key] = shared();
    const future = (Date.now() + 3_600_000) * 1_000;
    await redis.set(key('token'), future);
    const first = await mutex.acquire();
    const wait = waiting.acquire();
    await queued(mutex, 1);
    await first.release();
    const second = await wait;
    expect([first.fencingToken, second.fencingToken]).toEqual([future + 1, future + 2]);
    expect(second.isValid).toBe(true);
    await second.release();
  });
});

describe('tryAcquire', () => {
  test('leaves a lock that ran out to those who wait for it', async () => {
    const [mutex, second, key] = shared();
    const holder = await mutex.acquire();
    const wait = second.acquire();
    await queued(mutex, 1);
    await redis.del(key('lease'));
    expect(await mutex.tryAcquire()).toBeNull();
    const lease = await wait;
    expect(lease.fencingToken).toBeGreaterThan(holder.fencingToken);
    await lease.release();
  });
});

describe('inspect', () => {
  test('shows a lock that nobody has used', async () => {
    const [mutex] = shared();
    expect(await mutex.inspect()).toEqual({
      holder: null,
      fencingToken: null,
      position: null,
      remainingMs: 0,
      queueLength: 0,
      longestWaitMs: 0,
    });
  });
});

describe('renewFor and releaseFor', () => {
  test.each([1, 5, 179_518_222_041_929, Number.MAX_SAFE_INTEGER, 2e15])(
    'a token that cannot have been given, %p, restores nothing',
    async (token) => {
      const [mutex, , key] = shared();
      const { holder } = await mutex.acquire();
      await redis.del(key('lease'), key('token'));
      expect(await mutex.renewFor(holder, 10_000, token)).toBe(false);
      expect(await mutex.inspect()).toMatchObject({ holder: null, fencingToken: null });
    },
  );

  test('with its token a holder comes back after the loss of all keys', async () => {
    const [mutex, , key] = shared();
    const { holder, fencingToken } = await mutex.acquire();
    await redis.del(key('lease'), key('token'));
    expect(await mutex.renewFor(holder)).toBe(false);
    expect(await mutex.renewFor(holder, 10_000, fencingToken)).toBe(true);
    expect(await mutex.inspect()).toMatchObject({ holder, fencingToken });
    expect(await mutex.releaseFor(holder)).toBe(true);
    // A token is stored, so another holder may have had the lock since.
    expect(await mutex.renewFor(holder, 10_000, fencingToken)).toBe(false);
    await expect(mutex.renewFor(holder, 10_000, -1)).rejects.toThrow(RangeError);
  });
});

describe('forceRelease', () => {
  test('leaves a token behind, without which the former holder would have the lock back', async () => {
    const [mutex, , key] = shared();
    const lease = await mutex.acquire();
    // As after a week.
    await redis.del(key('token'));
    expect(await mutex.forceRelease()).toBe(true);
    await expect(lease.renew()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'taken' });
    expect((await mutex.inspect()).holder).toBeNull();
  });
});
