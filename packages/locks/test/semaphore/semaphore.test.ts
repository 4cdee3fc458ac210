import { describe, expect, test } from '@jest/globals';
import { LeaseLostError, LockSettingsError, LockTimeoutError, Semaphore } from '@mortise/locks';
import type { Lease, SemaphoreOptions } from '@mortise/locks';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { unlessExpired } from '../fixture/occupants.js';
import { queued } from '../fixture/queued.js';

const redis = connect();
const other = connect();

function fresh(permits: number, options: Partial<SemaphoreOptions> = {}): [Semaphore, Semaphore, string] {
  const prefix = freshPrefix();
  const all = { prefix, permits, ...options };
  return [new Semaphore(redis, 'pool', all), new Semaphore(other, 'pool', all), prefix];
}

function releaseAll(leases: readonly Lease[]): Promise<boolean[]> {
  return Promise.all(leases.map((lease) => lease.release()));
}

describe('acquire', () => {
  test('gives permits up to the limit, and no more', async () => {
    const [semaphore, second] = fresh(3);
    const leases = [await semaphore.acquire(), await second.acquire(), await semaphore.acquire()];
    const startedAt = performance.now();
    const refused = semaphore.acquire({ waitMs: 50 });
    await expect(refused).rejects.toThrow(LockTimeoutError);
    await expect(refused).rejects.toThrow('semaphore "pool" was not acquired within 50 ms');
    expect(performance.now() - startedAt).toBeGreaterThan(45);
    expect(leases.map(({ isValid }) => isValid)).toEqual([true, true, true]);
    expect(await semaphore.inspect()).toMatchObject({ limit: 3, used: 3, position: null });
    expect(await releaseAll(leases)).toEqual([true, true, true]);
    expect(await semaphore.inspect()).toMatchObject({ used: 0, holders: [], queueLength: 0 });
  });

  test('gives as many permits at once as are asked for, all or none', async () => {
    const [semaphore] = fresh(5);
    const heavy = await semaphore.acquire({ permits: 4 });
    expect(await semaphore.available()).toBe(1);
    expect(await semaphore.tryAcquire({ permits: 2 })).toBeNull();
    const light = await semaphore.acquire();
    expect(await semaphore.available()).toBe(0);
    const { holders } = await semaphore.inspect();
    expect(new Map(holders.map(({ holder, permits }) => [holder, permits]))).toEqual(
      new Map([
        [heavy.holder, 4],
        [light.holder, 1],
      ]),
    );
    for (const { remainingMs } of holders) {
      expect(remainingMs).toBeGreaterThan(5_000);
      expect(remainingMs).toBeLessThanOrEqual(10_000);
    }
    expect(await heavy.release()).toBe(true);
    expect(await semaphore.available()).toBe(4);
    expect(await light.release()).toBe(true);
  });

  test('a heavy request at the head holds up light ones until it fits', async () => {
    const [semaphore, second] = fresh(4);
    const held = [await semaphore.acquire({ permits: 2 }), await semaphore.acquire({ permits: 1 })];
    const waits = [second.acquire({ permits: 3 })];
    await queued(semaphore, 1);
    waits.push(semaphore.acquire());
    await queued(semaphore, 2);
    expect(await semaphore.tryAcquire()).toBeNull();
    expect(await semaphore.available()).toBe(1);
    await held[1]!.release();
    expect(await semaphore.inspect()).toMatchObject({ used: 2, queueLength: 2 });
    await held[0]!.release();
    const [heavy, light] = (await Promise.all(waits)) as [Lease, Lease];
    expect(heavy.fencingToken).toBeLessThan(light.fencingToken);
    expect(await releaseAll([heavy, light])).toEqual([true, true]);
  });

  test('one release grants to many who wait', async () => {
    const [semaphore, second] = fresh(250);
    const heavy = await semaphore.acquire({ permits: 250 });
    const waits = Array.from({ length: 250 }, () => second.acquire());
    await queued(semaphore, 250);
    expect(await heavy.release()).toBe(true);
    // More than one call may grant, but the release has seen to all of them.
    expect(await semaphore.inspect()).toMatchObject({ used: 250, queueLength: 0 });
    const leases = await Promise.all(waits);
    expect(new Set(leases.map(({ fencingToken }) => fencingToken)).size).toBe(250);
    expect(await releaseAll(leases)).toEqual(leases.map(() => true));
  });

  test('a head that gives up lets those after it continue', async () => {
    const [semaphore, second] = fresh(3);
    const held = await semaphore.acquire({ permits: 2 });
    const controller = new AbortController();
    const reason = new Error('enough');
    const heavy = second.acquire({ permits: 3, signal: controller.signal });
    await queued(semaphore, 1);
    const light = semaphore.acquire();
    await queued(semaphore, 2);
    controller.abort(reason);
    await expect(heavy).rejects.toBe(reason);
    expect(await releaseAll([await light, held])).toEqual([true, true]);
  });
});

describe('a lease', () => {
  test('that ends frees its own permits only: a long lease outlasts the short one of a holder that died', async () => {
    const [semaphore, second, prefix] = fresh(2);
    const long = await semaphore.acquire();
    const crashed = await new Semaphore(other, 'pool', {
      prefix,
      permits: 2,
      leaseMs: 100,
      renew: false,
    }).acquire();
    await until('the end of the short lease', () => !crashed.isValid);
    const leases = [];
    await until('one more permit', async () => {
      const lease = await second.tryAcquire();
      if (lease) leases.push(lease);
      return lease !== null;
    });
    expect(await second.tryAcquire()).toBeNull();
    expect(await semaphore.tryAcquire()).toBeNull();
    expect(long.isValid).toBe(true);
    await long.renew();
    expect(await semaphore.inspect()).toMatchObject({ used: 2 });
    expect(await crashed.release()).toBe(false);
    expect(await long.release()).toBe(true);
    expect(await semaphore.available()).toBe(1);
  });

  test('does not depend on the clock of its host', async () => {
    const [semaphore, second] = fresh(1);
    const lease = await semaphore.acquire();
    const { now } = Date;
    Date.now = () => now() + 10_001;
    try {
      expect(await second.tryAcquire()).toBeNull();
      await expect(second.acquire({ waitMs: 30 })).rejects.toThrow(LockTimeoutError);
    } finally {
      Date.now = now;
    }
    expect(lease.isValid).toBe(true);
    expect(await lease.release()).toBe(true);
  });
});

describe('releaseFor and renewFor', () => {
  test('an expired lease cannot be renewed, and its release resolves to false', async () => {
    const [semaphore] = fresh(2, { leaseMs: 20, renew: false });
    const leases = [await semaphore.acquire(), await semaphore.acquire()];
    await until('the end', async () => (await semaphore.available()) === 2);
    expect(await semaphore.renewFor(leases[0]!.holder)).toBe(false);
    expect(await semaphore.releaseFor(leases[0]!.holder)).toBe(false);
    expect(await leases[1]!.release()).toBe(false);
    expect(await semaphore.inspect()).toMatchObject({ used: 0, holders: [] });
  });
});

describe('forceRelease', () => {
  test('gives the permits of one holder to waiters, and the former holder learns of it by a renewal', async () => {
    const [semaphore, second] = fresh(3);
    const [victim, kept] = [await semaphore.acquire({ permits: 2 }), await semaphore.acquire()];
    const waiting = second.acquire({ permits: 2 });
    await queued(semaphore, 1);
    expect(await second.forceRelease(victim.holder)).toBe(true);
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(victim.fencingToken);
    const { holders } = await semaphore.inspect();
    expect(new Set(holders.map(({ holder }) => holder))).toEqual(new Set([kept.holder, next.holder]));
    expect(victim.signal.aborted).toBe(false);
    await expect(victim.renew()).rejects.toThrow(LeaseLostError);
    expect(victim.signal.aborted).toBe(true);
    expect(await victim.release()).toBe(false);
    expect(await second.forceRelease(victim.holder)).toBe(false);
    expect(await releaseAll([kept, next])).toEqual([true, true]);
  });

  test('aborts the signal of a holder that renews by itself', async () => {
    const [semaphore, second] = fresh(1, { leaseMs: 1_000 });
    const lease = await semaphore.acquire();
    const ended = new Promise((resolve) => lease.signal.addEventListener('abort', resolve, { once: true }));
    expect(await second.forceRelease(lease.holder)).toBe(true);
    await ended;
    expect(lease.isValid).toBe(false);
  });

  test('leaves waiters, expired leases and other holders as they are', async () => {
    const [semaphore, second, prefix] = fresh(1);
    const held = await semaphore.acquire();
    const waiting = second.acquire();
    await queued(semaphore, 1);
    const [waiter] = await redis.zrange(`${prefix}:locks:{pool}:permits-queue`, '0', '-1');
    expect(await semaphore.forceRelease(waiter!)).toBe(false);
    expect(await semaphore.inspect()).toMatchObject({ used: 1, queueLength: 1 });
    expect(await held.release()).toBe(true);
    expect((await waiting).holder).toBe(waiter);
    const [brief] = fresh(1, { leaseMs: 20, renew: false });
    const { holder } = await brief.acquire();
    await until('the end', async () => (await brief.available()) === 1);
    expect(await brief.forceRelease(holder)).toBe(false);
    await expect(brief.forceRelease('*')).rejects.toThrow(TypeError);
  });
});

describe('release', () => {
  test('a second release and one by somebody else free nothing twice', async () => {
    const semaphore = fresh(3)[0];
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

describe('setPermits', () => {
  test('grants new permits to waiters, and the calling object continues with the limit', async () => {
    const [semaphore, second, prefix] = fresh(1);
    const held = await semaphore.acquire();
    const waits = [second.acquire(), second.acquire()];
    await queued(semaphore, 2);
    await semaphore.setPermits(3);
    const leases = [held, ...(await Promise.all(waits))];
    expect(await semaphore.inspect()).toMatchObject({ limit: 3, used: 3 });
    const refused = second.acquire();
    await expect(refused).rejects.toThrow(LockSettingsError);
    await expect(refused).rejects.toMatchObject({
      code: 'ERR_SEMAPHORE_LIMIT',
      lockName: 'pool',
      value: 1,
      knownValue: 3,
      message: expect.stringContaining('semaphore "pool" has the limit 3, not 1'),
    });
    await expect(second.tryAcquire()).rejects.toThrow(LockSettingsError);
    await Promise.all(leases.map((lease) => lease.renew()));
    expect(await releaseAll(leases)).toEqual([true, true, true]);
    const anew = new Semaphore(other, 'pool', { prefix, permits: 3 });
    expect(await (await anew.acquire({ permits: 3 })).release()).toBe(true);
    expect(await (await semaphore.acquire({ permits: 3 })).release()).toBe(true);
    await expect(semaphore.acquire({ permits: 4 })).rejects.toThrow(RangeError);
  });

  test('below what is used nobody loses any, and nothing is granted until it fits', async () => {
    const [semaphore, second] = fresh(3);
    const held = [await semaphore.acquire(), await semaphore.acquire(), await second.acquire()];
    const wait = second.acquire();
    await queued(semaphore, 1);
    await semaphore.setPermits(1);
    expect(await semaphore.inspect()).toMatchObject({ limit: 1, used: 3, queueLength: 1 });
    expect(await semaphore.available()).toBe(0);
    await Promise.all(held.map((lease) => lease.renew()));
    for (const lease of held.slice(1)) {
      expect(await lease.release()).toBe(true);
      expect((await semaphore.inspect()).queueLength).toBe(1);
    }
    expect(await held[0]!.release()).toBe(true);
    expect(await (await wait).release()).toBe(true);
  });

  test('waiters for more than the new limit are refused, at the head and after it', async () => {
    const [semaphore, second] = fresh(5);
    const held = await semaphore.acquire({ permits: 5 });
    const waits = [second.acquire({ permits: 4 }), semaphore.acquire(), second.acquire({ permits: 3 })];
    await queued(semaphore, 3);
    const startedAt = performance.now();
    const refusals = [waits[0]!, waits[2]!].map((wait) =>
      expect(wait).rejects.toMatchObject({ code: 'ERR_SEMAPHORE_LIMIT', value: 5, knownValue: 2 }),
    );
    await semaphore.setPermits(2);
    await Promise.all(refusals);
    // With the next re-check: they don't wait for permits that they can't get.
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    await until('the queue to be one', async () => (await semaphore.inspect()).queueLength === 1);
    expect(await held.release()).toBe(true);
    expect(await (await waits[1]!).release()).toBe(true);
    expect(await semaphore.inspect()).toMatchObject({ limit: 2, used: 0, queueLength: 0 });
  });

  test('makes a semaphore that is not there yet', async () => {
    const [semaphore, second] = fresh(1);
    await semaphore.setPermits(7);
    expect(await second.inspect()).toMatchObject({ limit: 7, used: 0 });
    expect(await semaphore.available()).toBe(7);
  });
});

describe('another limit', () => {
  test('is refused, whoever holds, and changes nothing', async () => {
    const [semaphore, , prefix] = fresh(2);
    const stranger = new Semaphore(other, 'pool', { prefix, permits: 3 });
    const lease = await semaphore.acquire();
    await expect(stranger.acquire()).rejects.toMatchObject({ value: 3, knownValue: 2 });
    await lease.release();
    await expect(stranger.tryAcquire()).rejects.toMatchObject({ value: 3, knownValue: 2 });
    await expect(stranger.using(() => 1)).rejects.toThrow(LockSettingsError);
    expect(await stranger.inspect()).toMatchObject({ limit: 2, used: 0, queueLength: 0 });
    expect(await (await semaphore.acquire()).release()).toBe(true);
  });

  test('is refused for itself in a batch', async () => {
    const prefix = freshPrefix();
    const [two, three] = [2, 3].map((permits) => new Semaphore(redis, 'pool', { prefix, permits })) as [
      Semaphore,
      Semaphore,
    ];
    const results = await Promise.allSettled([two.acquire(), three.acquire(), two.acquire()]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await two.inspect()).toMatchObject({ limit: 2, used: 2, queueLength: 0 });
  });
});

describe('contention', () => {
  test('never are there more inside than the limit, whatever their weights, and all get their turns', async () => {
    const prefix = freshPrefix();
    const limit = 5;
    const inside = new Map<Lease, number>();
    let most = 0;
    const counts = Array.from({ length: 40 }, () => 0);
    const clients = Array.from({ length: 4 }, () => connect());
    await Promise.all(
      counts.map(async (_, index) => {
        const semaphore = new Semaphore(clients[index % 4]!, 'pool', { prefix, permits: limit });
        const permits = 1 + (index % 3);
        while (counts[index]! < 10) {
          await semaphore
            .using(
              async (_signal, lease) => {
                inside.set(lease, permits);
                // A lease that is over, because this process stood still for a second, does not count.
                const valid = [...inside].filter(([{ isValid }]) => isValid);
                most = Math.max(
                  most,
                  valid.reduce((sum, [, each]) => sum + each, 0),
                );
                await clients[index % 4]!.ping();
                inside.delete(lease);
                counts[index]! += 1;
              },
              { permits },
            )
            .catch(unlessExpired);
        }
      }),
    );
    expect(most).toBeLessThanOrEqual(limit);
    expect(most).toBeGreaterThan(3);
    expect(counts).toEqual(counts.map(() => 10));
  });
});
