/**
 * The contract of every kind of lock; `<kind>.test.ts` tests the rest of a kind. Those that wait stand at the end: there the kinds run at
 * the same time.
 */
import { describe, expect, test } from '@jest/globals';
import { LeaseLostError, LockTimeoutError } from '@mortise/locks';
import type { LeaseOptions } from '@mortise/locks';
import { ClientClosedError } from '@mortise/redis';
import { connect, disconnect, freshPrefix, until } from '@mortise/test-kit';
import { abortOf } from './fixture/abort-of.js';
import { fastestOf } from './fixture/fastest-of.js';
import type { AnyLease, Kind, Subject } from './fixture/lock-kinds.js';
import { KINDS, tokenOf, WAITERS } from './fixture/lock-kinds.js';
import { queued } from './fixture/queued.js';

const [redis, other, third] = [connect(), connect(), connect()];
const NAMES = [
  'a',
  '}a',
  '{}',
  '{',
  '}',
  'a:lease',
  'a%',
  '%',
  '%7D',
  'a\nb',
  'a\0b',
  '😀',
  '\ud83d',
  ' ',
  '*',
];
const NO_HOLDERS = ['', '*', 'lost', 'a.b', 'a\nb', 'x'.repeat(10_000), 7, undefined, null];

function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

async function deleteKeys(prefix: string): Promise<void> {
  // One by one, because they may lie in several slots.
  for (const key of await redis.keys(`${prefix}:*`)) await redis.del(key);
}

/** The same lock, as each of three processes sees it. */
function sharedBy(make: Kind['make'], options: LeaseOptions = {}): [Subject, Subject, Subject, string] {
  const prefix = freshPrefix();
  const of = (client: typeof redis): Subject => make(client, 'lock', { prefix, ...options });
  return [of(redis), of(other), of(third), prefix];
}

describe.each(KINDS)('$kind', ({ make }) => {
  const shared = (options?: LeaseOptions): ReturnType<typeof sharedBy> => sharedBy(make, options);

  describe('acquire', () => {
    test('takes a free lock, and a released one again with a greater token', async () => {
      const [lock] = shared();
      const first = await lock.acquire();
      expect(first.isValid).toBe(true);
      expect(await first.release()).toBe(true);
      const second = await lock.acquire();
      expect(tokenOf(second)).toBeGreaterThan(tokenOf(first));
      expect(await second.release()).toBe(true);
    });

    test('grants in the order of the requests, whatever process they come from', async () => {
      const locks = shared();
      const holder = await locks[0].acquire();
      const order: number[] = [];
      const sections: Promise<unknown>[] = [];
      for (let index = 0; index < 9; index += 1) {
        sections.push((locks[index % 3] as Subject).using(() => order.push(index)));
        await queued(locks[0], index + 1);
      }
      await holder.release();
      await Promise.all(sections);
      expect(order).toEqual(Array.from({ length: 9 }, (_, index) => index));
    });

    test('grants in the order of the requests of one tick', async () => {
      const [lock] = shared();
      const order: number[] = [];
      const indexes = Array.from({ length: 150 }, (_, index) => index);
      await Promise.all(indexes.map((index) => lock.using(() => order.push(index))));
      expect(order).toEqual(indexes);
    });

    test('rejects with ERR_LOCK_TIMEOUT after waitMs, and has left the queue', async () => {
      const [lock, second] = shared();
      await using holder = await lock.acquire();
      const startedAt = performance.now();
      const refusal = await second.acquire({ waitMs: 60 }).catch((error: unknown) => error);
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(55);
      // Not with the end of anything else: the holder's lease is ten seconds.
      expect(performance.now() - startedAt).toBeLessThan(9_000);
      expect(refusal).toBeInstanceOf(LockTimeoutError);
      expect(refusal).toMatchObject({ code: 'ERR_LOCK_TIMEOUT', waitMs: 60 });
      await queued(lock, 0);
      expect(holder.isValid).toBe(true);
    });

    test('waitMs 0 takes a free lock, and rejects without joining the queue', async () => {
      const [lock, second] = shared();
      const lease = await lock.acquire({ waitMs: 0 });
      const refused = second.acquire({ waitMs: 0 });
      await expect(refused).rejects.toThrow(LockTimeoutError);
      await expect(refused).rejects.toMatchObject({ waitMs: 0 });
      expect(await lock.inspect()).toMatchObject({ holder: lease.holder, queueLength: 0 });
      expect(await lease.release()).toBe(true);
    });

    test('rejects with the reason of an aborted signal, before and while it waits', async () => {
      const [lock, second, , prefix] = shared();
      const reason = new Error('enough');
      for (const waitMs of [0, 1_000]) {
        await expect(lock.acquire({ waitMs, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      }
      expect(await redis.keys(`${prefix}:*`)).toEqual([]);

      await using holder = await lock.acquire();
      const controller = new AbortController();
      const { signal } = controller;
      const results = Promise.allSettled([second.acquire({ signal }), second.acquire({ signal })]);
      await queued(lock, 2);
      controller.abort(reason);
      const rejected = { status: 'rejected', reason };
      expect(await results).toEqual([rejected, rejected]);
      expect(await lock.inspect()).toMatchObject({ holder: holder.holder, queueLength: 0 });
      expect(holder.isValid).toBe(true);
    });

    test('an abort while the first command is under way leaves nothing behind', async () => {
      const [lock, second] = shared();
      const controller = new AbortController();
      const wait = lock.acquire({ signal: controller.signal });
      controller.abort(new Error('enough'));
      await expect(wait).rejects.toThrow('enough');
      // Before the end of the lease of ten seconds that it would have left.
      const lease = await second.acquire({ waitMs: 8_000 });
      expect(await lease.release()).toBe(true);
    });

    test('an ended wait has left the queue, also where its client is closed right after it', async () => {
      const [lock, , , prefix] = shared();
      await using holder = await lock.acquire();
      for (const end of ['abort', 'timeout']) {
        const own = connect();
        const controller = new AbortController();
        const wait = make(own, 'lock', { prefix }).acquire({
          signal: controller.signal,
          waitMs: end === 'timeout' ? 20 : 60_000,
        });
        if (end === 'abort') {
          await queued(lock, 1);
          controller.abort(new Error('enough'));
        }
        await expect(wait).rejects.toThrow(end === 'abort' ? 'enough' : 'was not acquired within 20 ms');
        await own.quit();
        expect(await lock.inspect()).toMatchObject({ holder: holder.holder, queueLength: 0 });
      }
    });

    test('is not reentrant: the holder waits for itself', async () => {
      const [lock] = shared();
      await using lease = await lock.acquire();
      await expect(lock.acquire({ waitMs: 30 })).rejects.toThrow('was not acquired within 30 ms');
      expect(lease.isValid).toBe(true);
    });

    test('a holder gets its lock back when all keys are lost, and tokens rise', async () => {
      const [lock, , , prefix] = shared();
      const tokens: number[] = [];
      for (let round = 0; round < 10; round += 1) {
        const lease = await lock.acquire();
        tokens.push(tokenOf(lease));
        await deleteKeys(prefix);
        expect(await lease.release()).toBe(true);
      }
      expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
    });

    test('locks with other names or prefixes are independent', async () => {
      const [prefix, elsewhere] = [freshPrefix(), freshPrefix()];
      const names = [...NAMES, 'x'.repeat(1_024)];
      const leases = await Promise.all(names.map((name) => make(redis, name, { prefix }).tryAcquire()));
      expect(leases.map((lease) => lease?.isValid)).toEqual(names.map(() => true));
      const holders = await Promise.all(names.map((name) => make(other, name, { prefix }).inspect()));
      expect(holders.map(({ holder }) => holder)).toEqual(leases.map((lease) => lease?.holder));
      for (const name of names) {
        expect(await (await make(other, name, { prefix: elsewhere }).acquire({ waitMs: 0 })).release()).toBe(
          true,
        );
      }
      // Each waits and is granted over a channel of its own.
      const waits = names.map((name) => make(other, name, { prefix }).acquire());
      await Promise.all(names.map((name) => queued(make(redis, name, { prefix }), 1)));
      await Promise.all(leases.map((lease) => lease!.release()));
      const granted = await Promise.all(waits);
      expect(await Promise.all(granted.map((lease) => lease.release()))).toEqual(names.map(() => true));
    });
  });

  describe('tryAcquire', () => {
    test('resolves to null for a lock that is held, and joins no queue', async () => {
      const [lock, second] = shared();
      await using holder = await lock.acquire();
      expect(await second.tryAcquire()).toBeNull();
      expect(await lock.tryAcquire()).toBeNull();
      expect(await lock.inspect()).toMatchObject({ holder: holder.holder, queueLength: 0 });
    });

    test('one of many in the same tick gets the lock', async () => {
      const [lock, second] = shared();
      const tries = Array.from({ length: 20 }, (_, index) => (index % 2 ? lock : second).tryAcquire());
      const leases = (await Promise.all(tries)).filter((lease) => lease !== null);
      expect(leases).toHaveLength(1);
      expect(await leases[0]!.release()).toBe(true);
    });
  });

  describe('using', () => {
    test('resolves with the result of the section, and releases the lock', async () => {
      const [lock, second] = shared();
      const result = await lock.using(async (signal, lease) => [
        signal.aborted,
        lease.isValid,
        await second.tryAcquire(),
      ]);
      expect(result).toEqual([false, true, null]);
      expect((await lock.inspect()).holder).toBeNull();
      expect(await lock.using((_, lease) => lease.release())).toBe(true);
    });

    test('rejects with the error of the section, and releases the lock', async () => {
      const [lock] = shared();
      const failure = new Error('failed');
      await expect(lock.using(() => Promise.reject(failure))).rejects.toBe(failure);
      expect((await lock.inspect()).holder).toBeNull();
    });

    test('rejects with ERR_LEASE_LOST when the lease ended before the section', async () => {
      const [lock] = shared({ leaseMs: 40, renew: false });
      let reason: unknown;
      const work = lock.using(async (signal) => {
        await abortOf(signal);
        reason = signal.reason;
        return 'too late';
      });
      await expect(work).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'expired' });
      expect(reason).toBeInstanceOf(LeaseLostError);
    });

    test('the signal of the section follows the signal of the caller', async () => {
      const [lock] = shared();
      const controller = new AbortController();
      const reason = new Error('enough');
      const work = lock.using(
        (signal) =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason as Error));
            controller.abort(reason);
          }),
        { signal: controller.signal },
      );
      await expect(work).rejects.toBe(reason);
      expect((await lock.inspect()).holder).toBeNull();
    });
  });

  describe('owner', () => {
    test('is part of the holder, with and without a wait, and the lease is renewed and released as any', async () => {
      const [lock] = shared({ owner: 'mailer-3' });
      const first = await lock.acquire();
      const wait = lock.acquire();
      await queued(lock, 1);
      expect((await lock.inspect()).holder).toBe(first.holder);
      await first.release();
      const second = await wait;
      for (const { holder } of [first, second]) expect(holder).toMatch(/^[\w-]{16}\.[a-z\d]+~mailer-3\.1000/);
      await second.renew();
      expect((await lock.inspect()).holder).toBe(second.holder);
      await second.release();
      expect((await lock.inspect()).holder).toBeNull();
    });
  });

  describe('inspect', () => {
    test('shows a lock that nobody has used, a holder, and the queue', async () => {
      const [lock, second] = shared({ leaseMs: 60_000 });
      const nobody = { holder: null, remainingMs: 0, queueLength: 0, longestWaitMs: 0, position: null };
      expect(await lock.inspect()).toMatchObject(nobody);
      const holder = await lock.acquire();
      const waits = [second.acquire(), second.acquire()];
      await queued(lock, 2);
      const { remainingMs, ...state } = await second.inspect();
      await until('the first to wait', async () => (await lock.inspect()).longestWaitMs > 20);
      expect((await lock.inspect()).longestWaitMs).toBeLessThan(30_000);
      // Both wait with the client of `second`; the position is that of its first.
      expect(state).toMatchObject({ holder: holder.holder, queueLength: 2, position: 1 });
      expect(remainingMs).toBeGreaterThan(30_000);
      expect(remainingMs).toBeLessThanOrEqual(60_000);
      expect((await lock.inspect()).position).toBeNull();
      waits.push(lock.acquire());
      await queued(lock, 3);
      expect((await lock.inspect()).position).toBe(3);
      await holder.release();
      for (const wait of waits) await (await wait).release();
      expect(await second.inspect()).toMatchObject(nobody);
    });
  });

  describe('a lease', () => {
    test('ends as counted from before the command was sent', async () => {
      const [lock] = shared({ leaseMs: 1_000 });
      const before = performance.now();
      const lease = await lock.acquire();
      expect(lease.expiresAt).toBeGreaterThanOrEqual(before + 1_000);
      expect(lease.expiresAt).toBeLessThanOrEqual(performance.now() + 1_000);
      await lease.release();
    });

    test('aborts its signal at its end, and not before', async () => {
      const [lock] = shared({ leaseMs: 120, renew: false });
      const lease = await lock.acquire();
      const { expiresAt } = lease;
      const abortedAt = await abortOf(lease.signal);
      expect(abortedAt).toBeGreaterThanOrEqual(expiresAt);
      expect(lease.isValid).toBe(false);
      expect(lease.signal.reason).toBeInstanceOf(LeaseLostError);
      expect(lease.signal.reason).toMatchObject({
        code: 'ERR_LEASE_LOST',
        held: expect.stringContaining('lock'),
        fencingToken: tokenOf(lease),
        reason: 'expired',
      });
      await until('the end on the server', async () => (await lock.inspect()).holder === null);
      expect(await lease.release()).toBe(false);
    });

    test('knows its end at once after the event loop was blocked', async () => {
      const [lock, second] = shared({ leaseMs: 60 });
      const lease = await lock.acquire();
      const { signal } = lease;
      block(90);
      expect(lease.isValid).toBe(false);
      expect(lease.signal).toBe(signal);
      expect(signal.aborted).toBe(true);
      await expect(lease.renew()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'expired' });
      expect(await (await second.acquire()).release()).toBe(true);
      expect(await lease.release()).toBe(false);
    });

    test('has an aborted signal after its end, but not after its release', async () => {
      const [lock] = shared({ leaseMs: 30, renew: false });
      const lost = await lock.acquire();
      await until('the end', () => !lost.isValid);
      expect(lost.signal.aborted).toBe(true);
      const kept = await lock.acquire();
      await kept.release();
      const { signal } = kept;
      await until('the end', () => performance.now() > kept.expiresAt + 5);
      expect(signal.aborted).toBe(false);
    });

    test('renew extends it to leaseMs from now, and never shortens it', async () => {
      const [lock, second] = shared({ leaseMs: 30_000, renew: false });
      const lease = await lock.acquire();
      const { expiresAt } = lease;
      expect(await second.renewFor(lease.holder, 100_000)).toBe(true);
      await lease.renew();
      expect(lease.expiresAt).toBeGreaterThan(expiresAt);
      expect((await lock.inspect()).remainingMs).toBeGreaterThan(50_000);
      await lease.release();
    });

    test('cannot be renewed after a forced release, nor after its own', async () => {
      const [lock] = shared();
      const lost = await lock.acquire();
      expect(await lock.force()).toBe(true);
      await expect(lost.renew()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'taken' });
      expect(lost.isValid).toBe(false);
      expect(lost.signal.aborted).toBe(true);
      await expect(lost.renew()).rejects.toBe(lost.signal.reason);
      await lost.release();

      const released = await lock.acquire();
      await released.release();
      await expect(released.renew()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'released' });
    });

    test('a release wins over a renewal of the same tick', async () => {
      const [lock] = shared();
      const lease = await lock.acquire();
      const [renewal, release] = await Promise.allSettled([lease.renew(), lease.release()]);
      expect(lease.isValid).toBe(false);
      expect(renewal).toMatchObject({ status: 'rejected', reason: { reason: 'released' } });
      expect(release).toEqual({ status: 'fulfilled', value: true });
      expect((await lock.inspect()).holder).toBeNull();
    });

    test('release is idempotent, and a second call cannot release the next holder', async () => {
      const [lock] = shared();
      const lease = await lock.acquire();
      const release = lease.release();
      expect(lease.isValid).toBe(false);
      expect(await Promise.all([release, lease.release()])).toEqual([true, true]);
      const next = await lock.acquire();
      expect(await lease.release()).toBe(true);
      await lease[Symbol.asyncDispose]();
      expect((await lock.inspect()).holder).toBe(next.holder);
      expect(await next.release()).toBe(true);
    });

    test('release of a lost lease changes nothing, not even for a waiter', async () => {
      const [lock, second] = shared();
      const lost = await lock.acquire();
      await lock.force();
      const next = await lock.acquire();
      const wait = second.acquire();
      await queued(lock, 1);
      await lost.renew().catch(() => undefined);
      await lost.release();
      expect(await lock.inspect()).toMatchObject({ holder: next.holder, queueLength: 1 });
      expect(await next.release()).toBe(true);
      expect(await (await wait).release()).toBe(true);
    });

    test('await using releases it at the end of the block', async () => {
      const [lock] = shared();
      let kept: AnyLease;
      {
        await using lease = await lock.acquire();
        kept = lease;
        expect((await lock.inspect()).holder).toBe(lease.holder);
      }
      expect(kept.isValid).toBe(false);
      expect((await lock.inspect()).holder).toBeNull();
    });

    test('release rejects without a connection, may be repeated, and await using hides that', async () => {
      const prefix = freshPrefix();
      const client = connect();
      const lease = await make(client, 'lock', { prefix }).acquire();
      disconnect(client);
      await expect(lease.release()).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
      await expect(lease[Symbol.asyncDispose]()).resolves.toBeUndefined();
      await client.connect();
      expect(await lease.release()).toBe(true);
      expect((await make(redis, 'lock', { prefix }).inspect()).holder).toBeNull();
    });
  });

  describe('renewFor and releaseFor', () => {
    test('work for the holder of a lease from any client, and for nobody else', async () => {
      const [lock, second] = shared({ leaseMs: 20_000, renew: false });
      const { holder } = await lock.acquire();
      const stranger = holder.replace(/^./, (letter) => (letter === 'a' ? 'b' : 'a'));
      expect(await second.renewFor(stranger)).toBe(false);
      expect(await second.releaseFor(stranger)).toBe(false);
      for (const leaseMs of [60_000, undefined, 10]) {
        expect(await second.renewFor(holder, leaseMs)).toBe(true);
        expect((await lock.inspect()).remainingMs).toBeGreaterThan(30_000);
      }
      const wait = lock.acquire();
      await queued(lock, 1);
      expect(await second.releaseFor(holder)).toBe(true);
      const next = await wait;
      expect(await second.releaseFor(holder)).toBe(false);
      expect(await second.renewFor(holder)).toBe(false);
      expect((await lock.inspect()).holder).toBe(next.holder);
      await next.release();
    });

    test('refuse a value that no lease has as its holder, and a leaseMs out of range', async () => {
      const [lock] = shared();
      for (const holder of NO_HOLDERS) {
        await expect(lock.releaseFor(holder as string)).rejects.toThrow(TypeError);
        await expect(lock.renewFor(holder as string)).rejects.toThrow(TypeError);
      }
      const lease = await lock.acquire();
      for (const leaseMs of [0, 9, 10.5, Number.NaN, 86_400_001]) {
        await expect(lock.renewFor(lease.holder, leaseMs)).rejects.toThrow(RangeError);
      }
      expect(await lease.release()).toBe(true);
    });
  });
});

const UNFAIR: Kind = {
  kind: 'Mutex without fairness',
  make: (client, name, options) => KINDS[0]!.make(client, name, { ...options, fair: false } as LeaseOptions),
};

test.each([...KINDS, UNFAIR])('$kind: has one holder at a time, and its tokens rise', async ({ make }) => {
  const prefix = freshPrefix();
  const counter = `${prefix}:counter`;
  const tokens: number[] = [];
  const clients = Array.from({ length: 6 }, () => connect());
  await Promise.all(
    clients.map(async (client) => {
      const lock = make(client, 'lock', { prefix });
      for (let round = 0; round < 15; round += 1) {
        await lock.using(async (_, lease) => {
          const before = Number(await client.get(counter));
          tokens.push(tokenOf(lease));
          await client.set(counter, before + 1);
        });
      }
    }),
  );
  expect(await redis.get(counter)).toBe('90');
  expect(tokens).toHaveLength(90);
  expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
});

test.each(WAITERS)('$kind: a grant that meets its cancellation is passed on', async ({ make, alone }) => {
  const options = { prefix: freshPrefix() };
  const [lock, last] = [alone(redis, 'lock', options), alone(third, 'lock', options)];
  const second = make(other, 'lock', options);
  const times: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const holder = await lock.acquire();
    const controller = new AbortController();
    const cancelled = second.acquire({ signal: controller.signal }).then(
      (lease) => lease.release(),
      () => 'cancelled',
    );
    await queued(lock, 1);
    const next = last.acquire();
    await queued(lock, 2);
    // The release is on its way when the first in the queue gives up.
    const release = holder.release();
    setImmediate(() => controller.abort());
    const startedAt = performance.now();
    const lease = await next;
    times.push(performance.now() - startedAt);
    expect(await release).toBe(true);
    expect([true, 'cancelled']).toContain(await cancelled);
    expect(await lease.release()).toBe(true);
  }
  // A grant that nobody takes would cost a second, in most of the rounds.
  expect(times.toSorted((a, b) => a - b)[10]).toBeLessThan(900);
});

test.each(WAITERS)('$kind: a closed client rejects its waiters, and later calls', async ({ make, alone }) => {
  const options = { prefix: freshPrefix() };
  const client = connect();
  const lock = make(client, 'lock', options);
  const direct = alone(redis, 'lock', options);
  const holder = await direct.acquire();
  const results = Promise.allSettled([lock.acquire(), lock.using(() => 1)]);
  await queued(direct, 2);
  await client.quit();
  const rejected = { status: 'rejected', reason: expect.any(ClientClosedError) };
  expect(await results).toEqual([rejected, rejected]);
  for (const call of [lock.acquire(), lock.acquire({ waitMs: 0 }), lock.tryAcquire()]) {
    await expect(call).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
  }
  // They are dropped from the queue, and nobody is kept waiting.
  expect(await holder.release()).toBe(true);
  expect(await direct.inspect()).toMatchObject({ holder: null, queueLength: 0 });
});

test('locks of one name are independent, but for a Mutex and a MultiLock', async () => {
  const prefix = freshPrefix();
  const leases: (AnyLease | null)[] = [];
  for (const { make } of KINDS) leases.push(await make(redis, 'lock', { prefix }).tryAcquire());
  expect(leases.map((lease) => lease?.isValid)).toEqual([true, undefined, true, true]);
  for (const lease of leases) await lease?.release();
});

test.concurrent.each(KINDS)('$kind: the end of a dead holder is noticed by a waiter', async ({ make }) => {
  const lateBy = async (): Promise<number> => {
    const [, second, , prefix] = sharedBy(make);
    const dead = await make(redis, 'lock', { prefix, leaseMs: 300, renew: false }).acquire();
    const lease = await second.acquire();
    const lateMs = performance.now() - dead.expiresAt;
    expect(lateMs).toBeGreaterThan(-5);
    expect(tokenOf(lease)).toBeGreaterThan(tokenOf(dead));
    expect(await dead.release()).toBe(false);
    expect(await lease.release()).toBe(true);
    return lateMs;
  };
  // The first re-check comes with the end of the lease.
  expect(await fastestOf(5, lateBy)).toBeLessThan(500);
});

test.concurrent.each(KINDS)(
  '$kind: a lease is renewed in the background, but not beyond maxHoldMs',
  async ({ make }) => {
    const [lock] = sharedBy(make, { leaseMs: 3_000, maxHoldMs: 3_500 });
    const before = performance.now();
    const lease = await lock.acquire();
    const after = performance.now();
    const { expiresAt } = lease;
    const abortedAt = await abortOf(lease.signal);
    expect(lease.expiresAt).toBeGreaterThan(expiresAt);
    expect(lease.expiresAt).toBeGreaterThanOrEqual(before + 3_498);
    expect(lease.expiresAt).toBeLessThanOrEqual(after + 3_501);
    expect(abortedAt).toBeGreaterThanOrEqual(lease.expiresAt);
    await until('the end on the server', async () => (await lock.inspect()).holder === null);
    expect(await lease.release()).toBe(false);
  },
);

test.concurrent.each(KINDS)(
  '$kind: a forced release grants the lock to the first waiter, and the former holder learns it',
  async ({ make }) => {
    const [lock, second] = sharedBy(make, { leaseMs: 4_000 });
    expect(await second.force()).toBe(false);
    const former = await lock.acquire();
    const isLost = until('the signal', () => former.signal.aborted);
    const wait = second.acquire();
    await queued(lock, 1);
    expect(await second.force()).toBe(true);
    const lease = await wait;
    expect(tokenOf(lease)).toBeGreaterThan(tokenOf(former));
    expect(await lease.release()).toBe(true);
    await isLost;
    expect(former.signal.reason).toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'taken' });
    expect(await former.release()).toBe(false);
  },
);
