import { describe, expect, test } from '@jest/globals';
import { abortOf } from '../fixture/abort-of.js';
import { MultiLockBench } from './multi-lock-bench.js';
import { queued } from '../fixture/queued.js';

const HOSTILE = ['}x', '{}', '%', '🔒', 'a\nb', 'nul\0', '\ud800', 'a b', '*', ':', '{a}{b}', 'lease'];

/** A MultiLock on any kind of server, given by its URL. `acquire` has a file of its own. */
export function describeMultiLock(url: string): void {
  const bench = new MultiLockBench(url);

  describe('names', () => {
    test('are sorted alike whatever order they come in, and count once', () => {
      const { multi } = bench.fresh();
      const names = Array.from({ length: 40 }, (_, index) => `name ${index}`);
      const given = multi([...names, ...names]).names;
      expect(given.toSorted()).toEqual(names.toSorted());
      expect(multi(names.toReversed()).names).toEqual(given);
      expect(given).not.toEqual(names);
    });

    test('may be anything that a name of a mutex may be', async () => {
      const { prefix, multi, mutex } = bench.fresh();
      const lock = multi(HOSTILE);
      const lease = await lock.acquire();
      expect(Array.from(lease.fencingTokens.keys()).toSorted()).toEqual(HOSTILE.toSorted());
      for (const name of HOSTILE) expect(await mutex(name).tryAcquire()).toBeNull();
      expect(await lease.release()).toBe(true);
      for (const name of HOSTILE) expect(await (await mutex(name).acquire()).release()).toBe(true);
      expect(await bench.allFree(prefix)).toBe(true);
    });

    test('are refused if they are none, too many or no names', () => {
      const { multi } = bench.fresh();
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
      const { prefix, multi } = bench.fresh();
      const lease = await multi(Array.from({ length: 100 }, (_, index) => `n${index}`)).acquire();
      expect(await bench.keysOf(prefix, 'lease')).toHaveLength(100);
      await lease.renew();
      expect(await lease.release()).toBe(true);
      expect(await bench.keysOf(prefix, 'lease')).toEqual([]);
    });
  });

  describe('tryAcquire', () => {
    test('keeps nothing when one lock is taken', async () => {
      const { prefix, multi, mutex } = bench.fresh();
      const lock = multi(['a', 'b', 'c']);
      for (const name of lock.names) {
        const holder = await mutex(name).acquire();
        expect(await lock.tryAcquire()).toBeNull();
        expect(await bench.keysOf(prefix, 'lease')).toHaveLength(1);
        await holder.release();
      }
      const lease = await lock.tryAcquire();
      expect(lease?.isValid).toBe(true);
      expect(await multi(['c', 'd']).tryAcquire()).toBeNull();
      expect(await bench.keysOf(prefix, 'lease')).toHaveLength(3);
      expect(await lease?.release()).toBe(true);
    });

    test('leaves a lock that a dead holder left behind to those who wait for it', async () => {
      const { prefix, multi, mutex } = bench.fresh();
      await mutex('b', { renew: false }).acquire();
      const wait = mutex('b').acquire();
      await queued(mutex('b'), 1);
      await bench.redis.del(`${prefix}:locks:{b}:lease`);
      expect(await multi(['a', 'b', 'c']).tryAcquire()).toBeNull();
      const lease = await wait;
      expect(await bench.keysOf(prefix, 'lease')).toHaveLength(1);
      expect(await lease.release()).toBe(true);
    });

    test('passes nobody who waits, but those who are dead', async () => {
      const { prefix, multi, mutex } = bench.fresh();
      const lock = multi(['a', 'b']);
      const [first, second] = lock.names as [string, string];
      const dead = `${'x'.repeat(16)}.1.1000`;
      for (const name of [first, second]) {
        await bench.redis.zadd(`${prefix}:locks:{${name}}:queue`, 1, dead);
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
      const { multi, mutex } = bench.fresh();
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
      const { prefix, multi, mutex } = bench.fresh();
      const lease = await multi(['a', 'b'], { leaseMs: 50, renew: false }).acquire();
      await abortOf(lease.signal);
      for (const key of await bench.redis.keys(`${prefix}:*`)) await bench.redis.del(key);
      await expect(lease.renew()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
      expect(await lease.release()).toBe(false);
      expect((await mutex('a').inspect()).fencingToken).toBeNull();
    });

    test('gets its locks back when their keys were lost while it was valid', async () => {
      const { prefix, multi, mutex } = bench.fresh();
      const lease = await multi(['a', 'b']).acquire();
      for (const key of await bench.redis.keys(`${prefix}:*`)) await bench.redis.del(key);
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
      const { multi, mutex } = bench.fresh();
      const lock = multi(['a', 'b'], { renew: false });
      const lease = await lock.acquire();
      const same = multi(['b', 'a'], {}, bench.other);
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
}
