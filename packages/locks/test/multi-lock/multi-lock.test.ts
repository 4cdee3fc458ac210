import { describe, expect, test } from '@jest/globals';
import { LockTimeoutError, MultiLock, Mutex } from '@mortise/locks';
import type { MultiLease, MutexOptions } from '@mortise/locks';
import { startProxy } from '@mortise/redis-server';
import { connect, disconnect, freshPrefix, runServer, until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import { abortOf } from '../fixture/abort-of.js';
import { queued } from '../fixture/queued.js';

const { server } = await runServer();
const HOSTILE = ['}x', '{}', '%', '🔒', 'a\nb', 'nul\0', '\ud800', 'a b', '*', ':', '{a}{b}', 'lease'];

/** Locks that no other test sees. */
interface Scene {
  readonly prefix: string;
  /** Through `redis` unless a client is given. */
  readonly multi: (names: readonly string[], options?: MutexOptions, client?: Redis) => MultiLock;
  /** Through `other` unless a client is given. */
  readonly mutex: (name: string, options?: MutexOptions, client?: Redis) => Mutex;
}

describe.each([
  { node: 'a node that takes all locks in one call', url: server.url },
  { node: 'a node that enforces its slots', url: process.env['MORTISE_TEST_REDIS']! },
])('on $node', ({ url }) => {
  const [redis, other] = [connect(url), connect(url)];

  function fresh(): Scene {
    const prefix = freshPrefix();
    return {
      prefix,
      multi: (names, options, client = redis) => new MultiLock(client, names, { prefix, ...options }),
      mutex: (name, options, client = other) => new Mutex(client, name, { prefix, ...options }),
    };
  }

  async function keysOf(prefix: string, part: string): Promise<string[]> {
    return redis.keys(`${prefix}:*:${part}`);
  }

  /** Nothing is held and nobody waits. */
  async function allFree(prefix: string): Promise<boolean> {
    return until('all locks to be free', async () => {
      const left = [...(await keysOf(prefix, 'lease')), ...(await keysOf(prefix, 'queue'))];
      return left.length === 0;
    });
  }

  describe('names', () => {
    test('are sorted alike whatever order they come in, and count once', () => {
      const { multi } = fresh();
      const names = Array.from({ length: 40 }, (_, index) => `name ${index}`);
      const given = multi([...names, ...names]).names;
      expect(given.toSorted()).toEqual(names.toSorted());
      expect(multi(names.toReversed()).names).toEqual(given);
      expect(given).not.toEqual(names);
    });

    test('may be anything that a name of a mutex may be', async () => {
      const { prefix, multi, mutex } = fresh();
      const lock = multi(HOSTILE);
      const lease = await lock.acquire();
      expect(Array.from(lease.fencingTokens.keys()).toSorted()).toEqual(HOSTILE.toSorted());
      for (const name of HOSTILE) expect(await mutex(name).tryAcquire()).toBeNull();
      expect(await lease.release()).toBe(true);
      for (const name of HOSTILE) expect(await (await mutex(name).acquire()).release()).toBe(true);
      expect(await allFree(prefix)).toBe(true);
    });

    test('are refused if they are none, too many or no names', () => {
      const { multi } = fresh();
      expect(() => multi([])).toThrow(RangeError);
      expect(() => multi(Array.from({ length: 101 }, (_, index) => `n${index}`))).toThrow(RangeError);
      expect(() => multi(['a', ''])).toThrow(/names\[1\] must have 1 to 1024 bytes/);
      expect(() => multi(['x'.repeat(1_025)])).toThrow(RangeError);
      for (const bad of ['a', undefined, null, {}, [1], [null], Array.from({ length: 2 })]) {
        expect(() => multi(bad as never)).toThrow(TypeError);
      }
      expect(multi(Array.from({ length: 101 }, (_, index) => `n${index % 100}`)).names).toHaveLength(100);
    });

    test('a hundred of them are one lock', async () => {
      const { prefix, multi } = fresh();
      const lease = await multi(Array.from({ length: 100 }, (_, index) => `n${index}`)).acquire();
      expect(await keysOf(prefix, 'lease')).toHaveLength(100);
      await lease.renew();
      expect(await lease.release()).toBe(true);
      expect(await keysOf(prefix, 'lease')).toEqual([]);
    });
  });

  // Neighbours that wait do so at the same time.
  describe('acquire', () => {
    test('takes each lock as its Mutex does: same holder, a token each, one queue', async () => {
      const { multi, mutex } = fresh();
      const lock = multi(['a', 'b', 'c']);
      const before = await mutex('b').acquire();
      await before.release();
      const lease = await lock.acquire();
      expect(lease.isValid).toBe(true);
      const states = await lock.inspect();
      expect([...states.keys()]).toEqual(lock.names);
      for (const [name, state] of states) {
        expect(state).toMatchObject({ holder: lease.holder, fencingToken: lease.fencingTokens.get(name) });
        expect(await mutex(name).inspect()).toMatchObject({ holder: lease.holder });
      }
      expect(lease.fencingTokens.get('b')).toBeGreaterThan(before.fencingToken);
      expect(await lease.release()).toBe(true);
      expect(await lease.release()).toBe(true);
      expect(lease.isValid).toBe(false);
    });

    test.each(['lease', 'queue'])(
      'a %s of a foreign type fails nobody who asks in the same tick',
      async (part) => {
        const { prefix, multi } = fresh();
        const [good, bad, last] = [multi(['a', 'b']), multi(['c', 'd']), multi(['e', 'f'])];
        await redis.rpush(`${prefix}:locks:{c}:${part}`, 'x');
        for (const ask of ['acquire', 'tryAcquire'] as const) {
          const [first, second, third] = await Promise.allSettled([good[ask](), bad[ask](), last[ask]()]);
          expect(second).toMatchObject({ reason: { message: expect.stringMatching(/^WRONGTYPE/) } });
          for (const [lock, result] of [
            [good, first],
            [last, third],
          ] as const) {
            const lease = (result as PromiseFulfilledResult<MultiLease>).value;
            for (const { holder } of (await lock.inspect()).values()) expect(holder).toBe(lease.holder);
            expect(await lease.release()).toBe(true);
          }
        }
        await until(
          'the other lock to be free',
          async () => (await redis.exists(`${prefix}:locks:{d}:lease`)) === 0,
        );
      },
    );

    test('waits in the queue of the first lock that is not free, and keeps those before it', async () => {
      const { prefix, multi, mutex } = fresh();
      const lock = multi(['a', 'b', 'c', 'd']);
      const [first, second, third, fourth] = lock.names as [string, string, string, string];
      const holder = await mutex(second).acquire();
      const wait = lock.acquire();
      await queued(mutex(second), 1);
      expect((await mutex(first).inspect()).holder).not.toBeNull();
      expect((await lock.inspect()).get(second)).toMatchObject({ queueLength: 1, position: 1 });
      const free = [await mutex(third).acquire(), await mutex(fourth).acquire()];
      await holder.release();
      await queued(mutex(third), 1);
      await free[0]!.release();
      await queued(mutex(fourth), 1);
      await free[1]!.release();
      const lease = await wait;
      expect(lease.isValid).toBe(true);
      expect(lease.fencingTokens.get(fourth)).toBeGreaterThan(free[1]!.fencingToken);
      expect(await lease.release()).toBe(true);
      expect(await allFree(prefix)).toBe(true);
    });

    test('is first come, first served among mutexes and multi-locks', async () => {
      const { multi, mutex } = fresh();
      const order: number[] = [];
      const holder = await mutex('b').acquire();
      const locks = [
        multi(['b', 'x']),
        mutex('b'),
        multi(['y', 'b'], {}, other),
        mutex('b', {}, redis),
        multi(['b']),
      ];
      const waits: Promise<unknown>[] = [];
      for (const [index, lock] of locks.entries()) {
        waits.push(lock.using(() => order.push(index)));
        await queued(mutex('b'), index + 1);
      }
      await holder.release();
      await Promise.all(waits);
      expect(order).toEqual([0, 1, 2, 3, 4]);
    });

    test.concurrent('keeps what it has while it waits for longer than a lease', async () => {
      const { multi, mutex } = fresh();
      const lock = multi(['a', 'b'], { leaseMs: 3_000 });
      const [first, second] = lock.names as [string, string];
      const holder = await mutex(second).acquire();
      const wait = lock.acquire();
      await queued(mutex(second), 1);
      const { holder: waiter } = await mutex(first).inspect();
      const startedAt = performance.now();
      await until('a lease to pass', async () => {
        expect((await mutex(first).inspect()).holder).toBe(waiter);
        return performance.now() > startedAt + 3_000;
      });
      await holder.release();
      const lease = await wait;
      expect(lease.holder).toBe(waiter);
      expect(await lease.release()).toBe(true);
    });

    test.concurrent('without background renewals it keeps what it has while it waits, too, and gives nearly a whole lease', async () => {
      const { multi, mutex } = fresh();
      const lock = multi(['a', 'b'], { leaseMs: 2_400, renew: false });
      const holder = await mutex(lock.names[1]!).acquire();
      const wait = lock.acquire();
      await queued(mutex(lock.names[1]!), 1);
      const startedAt = performance.now();
      await until('more than a lease to pass', () => performance.now() > startedAt + 2_500);
      const releasedAt = performance.now();
      await holder.release();
      const lease = await wait;
      expect(lease.expiresAt).toBeGreaterThanOrEqual(releasedAt + 2_160);
      expect(lease.expiresAt).toBeLessThanOrEqual(performance.now() + 2_400);
      const { expiresAt } = lease;
      await abortOf(lease.signal);
      expect(lease.expiresAt).toBe(expiresAt);
      expect(lease.signal.reason).toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'expired' });
      await lease.release();
    });

    test.concurrent('renews what it took first before it gives a lease that nobody renews', async () => {
      const { multi, mutex } = fresh();
      const lock = multi(['a', 'b'], { leaseMs: 6_000, renew: false });
      const holder = await mutex(lock.names[1]!).acquire();
      const wait = lock.acquire();
      await queued(mutex(lock.names[1]!), 1);
      const startedAt = performance.now();
      await until('less than a third of a lease', () => performance.now() > startedAt + 900);
      const releasedAt = performance.now();
      await holder.release();
      const lease = await wait;
      // Not what is left of the first one's.
      expect(lease.expiresAt).toBeGreaterThanOrEqual(releasedAt + 5_400);
      expect(await lease.release()).toBe(true);
    });

    test.concurrent('gives all back when its time is up, and names the lock that it waited for', async () => {
      const { prefix, multi, mutex } = fresh();
      const lock = multi(['a', 'b', 'c']);
      const holder = await mutex(lock.names[2]!).acquire();
      const refusal = await lock.acquire({ waitMs: 500 }).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(LockTimeoutError);
      expect(refusal).toMatchObject({ code: 'ERR_LOCK_TIMEOUT', lockName: lock.names[2], waitMs: 500 });
      await until('the others to be free', async () => {
        const states = await Promise.all(lock.names.map((name) => mutex(name).inspect()));
        return states.filter((state) => state.holder === null && state.queueLength === 0).length === 2;
      });
      await holder.release();
      expect(await allFree(prefix)).toBe(true);
    });

    test.concurrent('one deadline stands for all locks', async () => {
      const { prefix, multi, mutex } = fresh();
      const lock = multi(['a', 'b', 'c']);
      const holders = await Promise.all(lock.names.map((name) => mutex(name).acquire()));
      const startedAt = performance.now();
      const refusal = lock.acquire({ waitMs: 4_000 }).then(
        () => ({ error: undefined, tookMs: 0 }),
        (error: unknown) => ({ error, tookMs: performance.now() - startedAt }),
      );
      await queued(mutex(lock.names[0]!), 1);
      await until('half of the time', () => performance.now() > startedAt + 2_000);
      const afterMs = performance.now() - startedAt;
      await holders[0]!.release();
      await queued(mutex(lock.names[1]!), 1);
      const { error, tookMs } = await refusal;
      expect(error).toMatchObject({ code: 'ERR_LOCK_TIMEOUT', lockName: lock.names[1] });
      expect(tookMs).toBeGreaterThanOrEqual(3_990);
      // The deadline of a second lock.
      expect(tookMs).toBeLessThan(afterMs + 4_000);
      for (const holder of holders.slice(1)) await holder.release();
      expect(await allFree(prefix)).toBe(true);
    });

    test('an abort in the middle gives all back', async () => {
      const { prefix, multi, mutex } = fresh();
      const lock = multi(['a', 'b', 'c']);
      const holder = await mutex(lock.names[1]!).acquire();
      const controller = new AbortController();
      const wait = lock.acquire({ signal: controller.signal }).catch((error: unknown) => error);
      await queued(mutex(lock.names[1]!), 1);
      const behind = mutex(lock.names[0]!).acquire();
      await queued(mutex(lock.names[0]!), 1);
      controller.abort(new Error('changed my mind'));
      expect(await wait).toMatchObject({ message: 'changed my mind' });
      expect(await (await behind).release()).toBe(true);
      await queued(mutex(lock.names[1]!), 0);
      await holder.release();
      expect(await allFree(prefix)).toBe(true);
      const aborted = AbortSignal.abort(new Error('never wanted'));
      await expect(lock.acquire({ signal: aborted })).rejects.toThrow('never wanted');
      expect(await keysOf(prefix, 'lease')).toEqual([]);
    });

    test.concurrent('a client that is closed ends the wait, and its locks come free by themselves', async () => {
      const { prefix, multi, mutex } = fresh();
      const client = connect(url);
      const lock = multi(['a', 'b'], { leaseMs: 1_000 }, client);
      const holder = await mutex(lock.names[1]!).acquire();
      const wait = lock.acquire().catch((error: unknown) => error);
      await queued(mutex(lock.names[1]!), 1);
      await until('the subscription', async () => {
        return ((await redis.pubsub('CHANNELS', `${prefix}:*`)) as string[]).length > 0;
      });
      disconnect(client);
      expect(await wait).toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
      const lease = await mutex(lock.names[0]!).acquire();
      expect(await lease.release()).toBe(true);
      await holder.release();
      expect(await allFree(prefix)).toBe(true);
    });

    test.concurrent('a holder of one lock that dies costs its lease', async () => {
      const { multi, mutex } = fresh();
      const dying = connect(url);
      const lock = multi(['a', 'b', 'c']);
      await mutex(lock.names[1]!, { leaseMs: 200, renew: false }, dying).acquire();
      disconnect(dying);
      const lease = await lock.acquire({ waitMs: 15_000 });
      expect(lease.isValid).toBe(true);
      expect(await lease.release()).toBe(true);
    });

    test.concurrent('a multi-lock that dies in the middle costs its lease, and its place nothing', async () => {
      const { multi, mutex } = fresh();
      const dying = connect(url);
      const lock = multi(['a', 'b'], { leaseMs: 2_000 }, dying);
      const holder = await mutex(lock.names[1]!).acquire();
      const lost = lock.acquire().catch((error: unknown) => error);
      await queued(mutex(lock.names[1]!), 1);
      const wait = multi(['a', 'b'], {}, other).acquire();
      await queued(mutex(lock.names[0]!), 1);
      disconnect(dying);
      await lost;
      await holder.release();
      expect(await (await wait).release()).toBe(true);
    });

    test.concurrent('begins anew when what it took is taken away while it waits', async () => {
      const { multi, mutex } = fresh();
      const lock = multi(['a', 'b'], { leaseMs: 4_000 });
      const [first, second] = lock.names as [string, string];
      const holder = await mutex(second).acquire();
      const wait = lock.acquire();
      await queued(mutex(second), 1);
      const { holder: waiter } = await mutex(first).inspect();
      expect(await mutex(first).forceRelease()).toBe(true);
      const thief = await mutex(first).acquire();
      // Its next renewal finds that out; whoever waits for a lock must not hold a later one.
      await queued(mutex(first), 1);
      expect((await mutex(first).inspect()).holder).toBe(thief.holder);
      await holder.release();
      await thief.release();
      const lease = await wait;
      expect(lease.holder).not.toBe(waiter);
      expect(lease.fencingTokens.get(first)).toBeGreaterThan(thief.fencingToken);
      expect(await lease.release()).toBe(true);
    });

    test('leaves a lock that a dead holder left behind to those who wait for it', async () => {
      const { prefix, multi, mutex } = fresh();
      const holder = await mutex('b', { renew: false }).acquire();
      const order: string[] = [];
      const waiting = mutex('b').using(() => order.push('mutex'));
      await queued(mutex('b'), 1);
      await redis.del(`${prefix}:locks:{b}:lease`);
      const asked = multi(['a', 'b', 'c']);
      const later = asked.using(() => order.push('multi-lock'));
      await Promise.all([waiting, later]);
      expect(order).toEqual(['mutex', 'multi-lock']);
      expect(await holder.release()).toBe(false);
    });

    test.concurrent('keeps what it has, and its place, when all keys are lost while it waits', async () => {
      const { prefix, multi, mutex } = fresh();
      const lock = multi(['a', 'b'], { leaseMs: 5_000 });
      const holder = await mutex(lock.names[1]!, { leaseMs: 5_000 }).acquire();
      const wait = lock.acquire();
      await queued(mutex(lock.names[1]!), 1);
      // The keys of one lock at once: without a lease, but with a token, the waiter would get the lock.
      for (const name of lock.names) {
        await redis.del(...['lease', 'token', 'queue'].map((part) => `${prefix}:locks:{${name}}:${part}`));
      }
      await until('the holder to be known again', async () => {
        return (await mutex(lock.names[1]!).inspect()).holder === holder.holder;
      });
      await queued(mutex(lock.names[1]!), 1);
      expect(await holder.release()).toBe(true);
      const lease = await wait;
      expect(lease.fencingTokens.get(lock.names[1]!)).toBeGreaterThan(holder.fencingToken);
      expect(await lease.release()).toBe(true);
    });

    test('without fencing all tokens are 0, without fairness a free lock goes to whoever asks first', async () => {
      const { multi, mutex } = fresh();
      const lock = multi(['a', 'b'], { fencing: false, fair: false });
      const lease = await lock.acquire();
      expect([...lease.fencingTokens.values()]).toEqual([0, 0]);
      const wait = lock.acquire();
      await queued(mutex(lock.names[0]!), 1);
      expect(await lease.release()).toBe(true);
      expect(await (await wait).release()).toBe(true);
    });
  });

  describe('tryAcquire', () => {
    test('keeps nothing when one lock is taken', async () => {
      const { prefix, multi, mutex } = fresh();
      const lock = multi(['a', 'b', 'c']);
      for (const name of lock.names) {
        const holder = await mutex(name).acquire();
        expect(await lock.tryAcquire()).toBeNull();
        expect(await keysOf(prefix, 'lease')).toHaveLength(1);
        await holder.release();
      }
      const lease = await lock.tryAcquire();
      expect(lease?.isValid).toBe(true);
      expect(await multi(['c', 'd']).tryAcquire()).toBeNull();
      expect(await keysOf(prefix, 'lease')).toHaveLength(3);
      expect(await lease?.release()).toBe(true);
    });

    test('leaves a lock that a dead holder left behind to those who wait for it', async () => {
      const { prefix, multi, mutex } = fresh();
      await mutex('b', { renew: false }).acquire();
      const wait = mutex('b').acquire();
      await queued(mutex('b'), 1);
      await redis.del(`${prefix}:locks:{b}:lease`);
      expect(await multi(['a', 'b', 'c']).tryAcquire()).toBeNull();
      const lease = await wait;
      expect(await keysOf(prefix, 'lease')).toHaveLength(1);
      expect(await lease.release()).toBe(true);
    });

    test('passes nobody who waits, but those who are dead', async () => {
      const { prefix, multi, mutex } = fresh();
      const lock = multi(['a', 'b']);
      const [first, second] = lock.names as [string, string];
      const dead = `${'x'.repeat(16)}.1.1000`;
      for (const name of [first, second]) {
        await redis.zadd(`${prefix}:locks:{${name}}:queue`, 1, dead);
      }
      const lease = await lock.tryAcquire();
      expect(lease).not.toBeNull();
      const wait = mutex(second).acquire();
      await queued(mutex(second), 1);
      expect(await multi([second]).tryAcquire()).toBeNull();
      await lease?.release();
      expect(await (await wait).release()).toBe(true);
    });
  });

  describe('a lease', () => {
    test('is lost when one of its locks is', async () => {
      const { multi, mutex } = fresh();
      const lock = multi(['a', 'b', 'c']);
      const lease = await lock.acquire();
      const { signal } = lease;
      await mutex(lock.names[1]!).forceRelease();
      await expect(lease.renew()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'taken' });
      expect(lease.isValid).toBe(false);
      expect(signal.aborted).toBe(true);
      expect(String(signal.reason)).toContain(lock.names.join(', '));
      expect(await lease.release()).toBe(false);
      for (const name of lock.names) expect((await mutex(name).inspect()).holder).toBeNull();
    });

    test('that is over gives nothing back to Redis when its keys were lost', async () => {
      const { prefix, multi, mutex } = fresh();
      const lease = await multi(['a', 'b'], { leaseMs: 50, renew: false }).acquire();
      await abortOf(lease.signal);
      for (const key of await redis.keys(`${prefix}:*`)) await redis.del(key);
      await expect(lease.renew()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
      expect(await lease.release()).toBe(false);
      expect((await mutex('a').inspect()).fencingToken).toBeNull();
    });

    test('gets its locks back when their keys were lost while it was valid', async () => {
      const { prefix, multi, mutex } = fresh();
      const lease = await multi(['a', 'b']).acquire();
      for (const key of await redis.keys(`${prefix}:*`)) await redis.del(key);
      await lease.renew();
      for (const name of ['a', 'b']) {
        expect(await mutex(name).inspect()).toMatchObject({
          holder: lease.holder,
          fencingToken: lease.fencingTokens.get(name),
        });
      }
      expect(await lease.release()).toBe(true);
    });

    test('is kept and ended for others by its holder', async () => {
      const { multi, mutex } = fresh();
      const lock = multi(['a', 'b'], { renew: false });
      const lease = await lock.acquire();
      const same = multi(['b', 'a'], {}, other);
      expect(await same.renewFor(lease.holder, 60_000)).toBe(true);
      expect((await mutex('b').inspect()).remainingMs).toBeGreaterThan(30_000);
      expect(await multi(['a', 'b', 'c']).renewFor(lease.holder)).toBe(false);
      expect(await same.releaseFor(lease.holder)).toBe(true);
      expect(await same.releaseFor(lease.holder)).toBe(false);
      await expect(same.releaseFor('*')).rejects.toThrow(TypeError);
      await expect(same.renewFor('nobody')).rejects.toThrow(TypeError);
      await expect(same.renewFor(lease.holder, 0)).rejects.toThrow(RangeError);
    });
  });
});

test('the next request finds a lost lock: it never waits for a lock while it holds a later one', async () => {
  const [redis, other] = [connect(server.url), connect(server.url)];
  const prefix = freshPrefix();
  const lock = new MultiLock(redis, ['a', 'b', 'c'], { prefix });
  const [first, second, third] = lock.names.map((name) => new Mutex(other, name, { prefix })) as [
    Mutex,
    Mutex,
    Mutex,
  ];
  const holder = await third.acquire();
  const wait = lock.acquire();
  await queued(third, 1);
  await first.forceRelease();
  const thief = await first.acquire();
  // The grant of the third finds the first one gone, before any renewal does.
  await holder.release();
  await queued(first, 1);
  await until('the second to be free', async () => (await second.inspect()).holder === null);
  await thief.release();
  expect(await (await wait).release()).toBe(true);
});

test('replies that come after the end of the lease are never acquired locks, and are given back', async () => {
  const proxy = await startProxy(server);
  const [slow, direct] = [connect(proxy.url), connect(server.url)];
  await slow.ping();
  const prefix = freshPrefix();
  const lock = new MultiLock(slow, ['a', 'b', 'c'], { prefix, leaseMs: 200 });
  const leases = async (): Promise<number> => (await direct.keys(`${prefix}:*:lease`)).length;
  await lock.using(() => undefined);
  proxy.delay({ repliesMs: 300 });
  try {
    expect(await lock.tryAcquire()).toBeNull();
    expect(await leases()).toBe(0);
    await expect(lock.acquire({ waitMs: 700 })).rejects.toMatchObject({ code: 'ERR_LOCK_TIMEOUT' });
  } finally {
    await proxy.restore();
  }
  await until('all locks to be free', async () => (await leases()) === 0);
  const lease = await lock.acquire();
  expect(lease.isValid).toBe(true);
  expect(await lease.release()).toBe(true);
  slow.disconnect();
  await proxy.stop();
});
