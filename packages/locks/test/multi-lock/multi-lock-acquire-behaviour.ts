import { describe, expect, test } from '@jest/globals';
import { LockTimeoutError } from '@mortise/locks';
import type { MultiLease } from '@mortise/locks';
import { connect, disconnect, until } from '@mortise/test-kit';
import { abortOf } from '../fixture/abort-of.js';
import { MultiLockBench } from './multi-lock-bench.js';
import { queued } from '../fixture/queued.js';

/** `acquire` of a MultiLock on any kind of server, given by its URL. Neighbours that wait do so at the same time. */
export function describeAcquire(url: string): void {
  const bench = new MultiLockBench(url);

  describe('acquire', () => {
    test('takes each lock as its Mutex does: same holder, a token each, one queue', async () => {
      const { multi, mutex } = bench.fresh();
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
        const { prefix, multi } = bench.fresh();
        const [good, bad, last] = [multi(['a', 'b']), multi(['c', 'd']), multi(['e', 'f'])];
        await bench.redis.rpush(`${prefix}:locks:{c}:${part}`, 'x');
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
          async () => (await bench.redis.exists(`${prefix}:locks:{d}:lease`)) === 0,
        );
      },
    );

    test('waits in the queue of the first lock that is not free, and keeps those before it', async () => {
      const { prefix, multi, mutex } = bench.fresh();
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
      expect(await bench.allFree(prefix)).toBe(true);
    });

    test('is first come, first served among mutexes and multi-locks', async () => {
      const { multi, mutex } = bench.fresh();
      const order: number[] = [];
      const holder = await mutex('b').acquire();
      const locks = [
        multi(['b', 'x']),
        mutex('b'),
        multi(['y', 'b'], {}, bench.other),
        mutex('b', {}, bench.redis),
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
      const { multi, mutex } = bench.fresh();
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
      const { multi, mutex } = bench.fresh();
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
      const { multi, mutex } = bench.fresh();
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
      const { prefix, multi, mutex } = bench.fresh();
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
      expect(await bench.allFree(prefix)).toBe(true);
    });

    test.concurrent('one deadline stands for all locks', async () => {
      const { prefix, multi, mutex } = bench.fresh();
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
      expect(await bench.allFree(prefix)).toBe(true);
    });

    test('an abort in the middle gives all back', async () => {
      const { prefix, multi, mutex } = bench.fresh();
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
      expect(await bench.allFree(prefix)).toBe(true);
      const aborted = AbortSignal.abort(new Error('never wanted'));
      await expect(lock.acquire({ signal: aborted })).rejects.toThrow('never wanted');
      expect(await bench.keysOf(prefix, 'lease')).toEqual([]);
    });

    test.concurrent('a client that is closed ends the wait, and its locks come free by themselves', async () => {
      const { prefix, multi, mutex } = bench.fresh();
      const client = connect(url);
      const lock = multi(['a', 'b'], { leaseMs: 100 }, client);
      const holder = await mutex(lock.names[1]!).acquire();
      const wait = lock.acquire().catch((error: unknown) => error);
      await queued(mutex(lock.names[1]!), 1);
      await until('the subscription', async () => {
        return ((await bench.redis.pubsub('CHANNELS', `${prefix}:*`)) as string[]).length > 0;
      });
      disconnect(client);
      expect(await wait).toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
      const lease = await mutex(lock.names[0]!).acquire();
      expect(await lease.release()).toBe(true);
      await holder.release();
      expect(await bench.allFree(prefix)).toBe(true);
    });

    test.concurrent('a holder of one lock that dies costs its lease', async () => {
      const { multi, mutex } = bench.fresh();
      const dying = connect(url);
      const lock = multi(['a', 'b', 'c']);
      await mutex(lock.names[1]!, { leaseMs: 200, renew: false }, dying).acquire();
      disconnect(dying);
      const lease = await lock.acquire({ waitMs: 15_000 });
      expect(lease.isValid).toBe(true);
      expect(await lease.release()).toBe(true);
    });

    test.concurrent('a multi-lock that dies in the middle costs its lease, and its place nothing', async () => {
      const { multi, mutex } = bench.fresh();
      const dying = connect(url);
      const lock = multi(['a', 'b'], { leaseMs: 2_000 }, dying);
      const holder = await mutex(lock.names[1]!).acquire();
      const lost = lock.acquire().catch((error: unknown) => error);
      await queued(mutex(lock.names[1]!), 1);
      const wait = multi(['a', 'b'], {}, bench.other).acquire();
      await queued(mutex(lock.names[0]!), 1);
      disconnect(dying);
      await lost;
      await holder.release();
      expect(await (await wait).release()).toBe(true);
    });

    test.concurrent('begins anew when what it took is taken away while it waits', async () => {
      const { multi, mutex } = bench.fresh();
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
      const { prefix, multi, mutex } = bench.fresh();
      const holder = await mutex('b', { renew: false }).acquire();
      const order: string[] = [];
      const waiting = mutex('b').using(() => order.push('mutex'));
      await queued(mutex('b'), 1);
      await bench.redis.del(`${prefix}:locks:{b}:lease`);
      const asked = multi(['a', 'b', 'c']);
      const later = asked.using(() => order.push('multi-lock'));
      await Promise.all([waiting, later]);
      expect(order).toEqual(['mutex', 'multi-lock']);
      expect(await holder.release()).toBe(false);
    });

    test.concurrent('keeps what it has, and its place, when all keys are lost while it waits', async () => {
      const { prefix, multi, mutex } = bench.fresh();
      const lock = multi(['a', 'b'], { leaseMs: 5_000 });
      const holder = await mutex(lock.names[1]!, { leaseMs: 5_000 }).acquire();
      const wait = lock.acquire();
      await queued(mutex(lock.names[1]!), 1);
      // The keys of one lock at once: without a lease, but with a token, the waiter would get the lock.
      for (const name of lock.names) {
        await bench.redis.del(
          ...['lease', 'token', 'queue'].map((part) => `${prefix}:locks:{${name}}:${part}`),
        );
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
      const { multi, mutex } = bench.fresh();
      const lock = multi(['a', 'b'], { fencing: false, fair: false });
      const lease = await lock.acquire();
      expect([...lease.fencingTokens.values()]).toEqual([0, 0]);
      const wait = lock.acquire();
      await queued(mutex(lock.names[0]!), 1);
      expect(await lease.release()).toBe(true);
      expect(await (await wait).release()).toBe(true);
    });
  });
}
