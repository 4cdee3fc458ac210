import { describe, expect, test } from '@jest/globals';
import { LeaseLostError, LockTimeoutError, Mutex } from '@mortise/locks';
import type { Lease, MutexOptions } from '@mortise/locks';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { abortOf } from './abort-of.js';
import { queued } from './queued.js';

const clients = [connect(), connect(), connect()];
const [redis, other, third] = clients as [
  ReturnType<typeof connect>,
  ReturnType<typeof connect>,
  ReturnType<typeof connect>,
];

/** The same lock, as each of three processes sees it. */
function shared(options: MutexOptions = {}): [Mutex, Mutex, Mutex] {
  const prefix = freshPrefix();
  const of = (client: typeof redis): Mutex => new Mutex(client, 'lock', { prefix, ...options });
  return [of(redis), of(other), of(third)];
}

describe('acquire', () => {
  test('takes a free lock, and a released one again with a greater token', async () => {
    const [mutex] = shared();
    const first = await mutex.acquire();
    expect(first.isValid).toBe(true);
    expect(await first.release()).toBe(true);
    const second = await mutex.acquire();
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
    await second.release();
  });

  test('grants in the order of the requests, whatever process they come from', async () => {
    const mutexes = shared();
    const holder = await mutexes[0].acquire();
    const order: number[] = [];
    const sections: Promise<void>[] = [];
    for (let index = 0; index < 12; index += 1) {
      const section = mutexes[index % 3]!.using(() => void order.push(index));
      sections.push(section);
      await queued(mutexes[0], index + 1);
    }
    await holder.release();
    await Promise.all(sections);
    expect(order).toEqual(Array.from({ length: 12 }, (_, index) => index));
  });

  test('grants in the order of the requests of one tick', async () => {
    const [mutex] = shared();
    const order: number[] = [];
    const indexes = Array.from({ length: 150 }, (_, index) => index);
    await Promise.all(indexes.map((index) => mutex.using(() => void order.push(index))));
    expect(order).toEqual(indexes);
  });

  test.each([true, false])('lets one in at a time (fair: %s)', async (fair) => {
    const prefix = freshPrefix();
    const counter = `${prefix}:counter`;
    const tokens: number[] = [];
    const contenders = Array.from({ length: 6 }, () => connect());
    await Promise.all(
      contenders.map(async (client) => {
        const mutex = new Mutex(client, 'lock', { prefix, fair });
        for (let round = 0; round < 25; round += 1) {
          await mutex.using(async (_, lease) => {
            const before = Number(await client.get(counter));
            tokens.push(lease.fencingToken);
            await client.set(counter, before + 1);
          });
        }
      }),
    );
    expect(await redis.get(counter)).toBe('150');
    expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
    expect(tokens).toHaveLength(150);
  });

  test('rejects with ERR_LOCK_TIMEOUT after waitMs, and has left the queue', async () => {
    const [mutex, second] = shared();
    await using holder = await mutex.acquire();
    const startedAt = performance.now();
    const refusal = await second.acquire({ waitMs: 60 }).catch((error: unknown) => error);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(55);
    // Not with the end of anything else: the holder's lease is ten seconds.
    expect(performance.now() - startedAt).toBeLessThan(9_000);
    expect(refusal).toBeInstanceOf(LockTimeoutError);
    expect(refusal).toMatchObject({ code: 'ERR_LOCK_TIMEOUT', lockName: 'lock', waitMs: 60 });
    await queued(mutex, 0);
    expect(holder.isValid).toBe(true);
  });

  test('rejects with the reason of an aborted signal, before and while it waits', async () => {
    const [mutex, second] = shared();
    const reason = new Error('enough');
    await expect(mutex.acquire({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect((await mutex.inspect()).holder).toBeNull();

    await using holder = await mutex.acquire();
    const controller = new AbortController();
    const waits = [
      second.acquire({ signal: controller.signal }),
      second.acquire({ signal: controller.signal }),
    ];
    const results = Promise.allSettled(waits);
    await queued(mutex, 2);
    controller.abort(reason);
    expect(await results).toEqual([
      { status: 'rejected', reason },
      { status: 'rejected', reason },
    ]);
    await queued(mutex, 0);
    expect(holder.isValid).toBe(true);
  });

  test('passes on a grant that meets its cancellation', async () => {
    const [mutex, second, last] = shared();
    const times: number[] = [];
    for (let round = 0; round < 30; round += 1) {
      const holder = await mutex.acquire();
      const controller = new AbortController();
      const cancelled = second.acquire({ signal: controller.signal }).then(
        (lease) => lease.release(),
        () => 'cancelled',
      );
      await queued(mutex, 1);
      const patient = last.acquire();
      await queued(mutex, 2);
      // The release is on its way when the first in the queue gives up.
      const release = holder.release();
      setImmediate(() => controller.abort());
      const startedAt = performance.now();
      const lease = await patient;
      times.push(performance.now() - startedAt);
      expect(await release).toBe(true);
      expect([true, 'cancelled']).toContain(await cancelled);
      expect(await lease.release()).toBe(true);
    }
    // A grant that nobody takes would cost a second, in most of the rounds.
    expect(times.toSorted((a, b) => a - b)[15]).toBeLessThan(900);
  });

  test('an abort while the first command is under way leaves nothing behind', async () => {
    const [mutex, second] = shared();
    const controller = new AbortController();
    const wait = mutex.acquire({ signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(wait).rejects.toThrow('enough');
    // Before the lease of ten seconds that it would have left would be over.
    const lease = await second.acquire({ waitMs: 8_000 });
    expect(lease.isValid).toBe(true);
    await lease.release();
  });

  test('is not reentrant: the holder waits for itself', async () => {
    const [mutex] = shared();
    await using lease = await mutex.acquire();
    await expect(mutex.acquire({ waitMs: 30 })).rejects.toThrow('lock "lock" was not acquired within 30 ms');
    expect(lease.isValid).toBe(true);
  });

  test('without fairness a free lock goes to whoever asks first, past those who wait', async () => {
    const [mutex, second] = shared({ fair: false });
    const holder = await mutex.acquire();
    const patient = second.acquire();
    await queued(mutex, 1);
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

  test('tokens rise also when all keys of the lock are lost, with or without waiters', async () => {
    const prefix = freshPrefix();
    const mutex = new Mutex(redis, 'lock', { prefix });
    const tokens: number[] = [];
    for (let round = 0; round < 20; round += 1) {
      const lease = await mutex.acquire();
      tokens.push(lease.fencingToken);
      const keys = ['lease', 'token', 'queue'].map((part) => `${prefix}:locks:{lock}:${part}`);
      expect(await redis.del(keys)).toBe(2);
      // Nobody else had it meanwhile.
      expect(await lease.release()).toBe(true);
    }
    expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
  });

  test('tokens rise also when the clock of the server is behind the last one', async () => {
    const prefix = freshPrefix();
    const mutex = new Mutex(redis, 'lock', { prefix });
    const future = (Date.now() + 3_600_000) * 1_000;
    await redis.set(`${prefix}:locks:{lock}:token`, future);
    const first = await mutex.acquire();
    const wait = new Mutex(other, 'lock', { prefix }).acquire();
    await queued(mutex, 1);
    await first.release();
    const second = await wait;
    expect([first.fencingToken, second.fencingToken]).toEqual([future + 1, future + 2]);
    expect(second.isValid).toBe(true);
    await second.release();
  });

  test('locks with other names or prefixes have nothing to do with each other', async () => {
    const prefix = freshPrefix();
    const names = [
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
      '\ude00',
      ' ',
    ];
    const leases = await Promise.all(names.map((name) => new Mutex(redis, name, { prefix }).tryAcquire()));
    expect(leases.map((lease) => lease?.isValid)).toEqual(names.map(() => true));
    const holders = await Promise.all(names.map((name) => new Mutex(other, name, { prefix }).inspect()));
    expect(holders.map(({ holder }) => holder)).toEqual(leases.map((lease) => lease?.holder));
    // They wait and are granted over their channels as well.
    const waits = names.map((name) => new Mutex(other, name, { prefix: freshPrefix() }).acquire());
    const elsewhere = await Promise.all(waits);
    expect(elsewhere.every(({ isValid }) => isValid)).toBe(true);
    const next = names.map((name) => new Mutex(other, name, { prefix }).acquire());
    await Promise.all(names.map((name) => queued(new Mutex(redis, name, { prefix }), 1)));
    await Promise.all([...leases, ...elsewhere].map((lease) => lease!.release()));
    const granted = await Promise.all(next);
    expect(await Promise.all(granted.map((lease) => lease.release()))).toEqual(names.map(() => true));
  });
});

describe('tryAcquire', () => {
  test('resolves to null for a lock that is held, and joins no queue', async () => {
    const [mutex, second] = shared();
    await using holder = await mutex.acquire();
    expect(await second.tryAcquire()).toBeNull();
    expect(await mutex.tryAcquire()).toBeNull();
    expect(await mutex.inspect()).toMatchObject({ holder: holder.holder, queueLength: 0 });
  });

  test('one of many in the same tick gets the lock', async () => {
    const [mutex, second] = shared();
    const tries = Array.from({ length: 20 }, (_, index) => (index % 2 ? mutex : second).tryAcquire());
    const leases = (await Promise.all(tries)).filter((lease) => lease !== null);
    expect(leases).toHaveLength(1);
    await leases[0]!.release();
  });

  test('takes the lock of a dead holder although dead waiters queue for it', async () => {
    const prefix = freshPrefix();
    const [mutex] = [new Mutex(redis, 'lock', { prefix })];
    const queue = `${prefix}:locks:{lock}:queue`;
    await redis.zadd(queue, 1, 'dead.1.1000', 2, 'dead.2.1000', 3, 'no member', 4, 'dead.3.');
    const lease = await mutex.tryAcquire();
    expect(lease?.isValid).toBe(true);
    expect(await redis.exists(queue)).toBe(0);
    await lease?.release();
  });

  test('leaves a lock that ran out to those who wait for it', async () => {
    const prefix = freshPrefix();
    const mutex = new Mutex(redis, 'lock', { prefix });
    const holder = await mutex.acquire();
    const wait = new Mutex(other, 'lock', { prefix }).acquire();
    await queued(mutex, 1);
    await redis.del(`${prefix}:locks:{lock}:lease`);
    expect(await mutex.tryAcquire()).toBeNull();
    const lease = await wait;
    expect(lease.fencingToken).toBeGreaterThan(holder.fencingToken);
    await lease.release();
  });
});

describe('using', () => {
  test('gives the result of the section, and the lock back', async () => {
    const [mutex, second] = shared();
    const seen: unknown[] = [];
    const result = await mutex.using(async (signal, lease) => {
      seen.push(signal.aborted, lease.isValid, await second.tryAcquire());
      return 42;
    });
    expect(result).toBe(42);
    expect(seen).toEqual([false, true, null]);
    expect((await mutex.inspect()).holder).toBeNull();
  });

  test('passes on what the section throws, and gives the lock back', async () => {
    const [mutex] = shared();
    const failure = new Error('failed');
    await expect(mutex.using(() => Promise.reject(failure))).rejects.toBe(failure);
    expect((await mutex.inspect()).holder).toBeNull();
  });

  test('rejects with ERR_LEASE_LOST when the lease ended before the section', async () => {
    const [mutex] = shared({ leaseMs: 40, renew: false });
    let reason: unknown;
    const work = mutex.using(async (signal) => {
      await abortOf(signal);
      reason = signal.reason;
      return 'too late';
    });
    await expect(work).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'expired' });
    expect(reason).toBeInstanceOf(LeaseLostError);
  });

  test('the signal of the section follows the signal of the caller', async () => {
    const [mutex] = shared();
    const controller = new AbortController();
    const reason = new Error('enough');
    const work = mutex.using(
      (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
          controller.abort(reason);
        }),
      { signal: controller.signal },
    );
    await expect(work).rejects.toBe(reason);
    expect((await mutex.inspect()).holder).toBeNull();
  });

  test('a section may release the lock itself', async () => {
    const [mutex] = shared();
    expect(await mutex.using((_, lease) => lease.release())).toBe(true);
  });

  test('await using releases at the end of the block', async () => {
    const [mutex] = shared();
    let kept: Lease;
    {
      await using lease = await mutex.acquire();
      kept = lease;
      expect((await mutex.inspect()).holder).toBe(lease.holder);
    }
    expect(kept.isValid).toBe(false);
    expect((await mutex.inspect()).holder).toBeNull();
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
    });
  });

  test('shows holder, token, remaining lease and queue', async () => {
    const [mutex, second] = shared({ leaseMs: 60_000 });
    const holder = await mutex.acquire();
    const waits = [second.acquire(), second.acquire()];
    await queued(mutex, 2);
    const state = await second.inspect();
    expect(state).toMatchObject({ holder: holder.holder, fencingToken: holder.fencingToken, queueLength: 2 });
    // Both wait with the client of `second`; the position is that of its first.
    expect([state.position, (await mutex.inspect()).position]).toEqual([1, null]);
    const last = mutex.acquire();
    await queued(mutex, 3);
    expect((await mutex.inspect()).position).toBe(3);
    expect(state.remainingMs).toBeGreaterThan(30_000);
    expect(state.remainingMs).toBeLessThanOrEqual(60_000);
    await holder.release();
    for (const wait of [...waits, last]) await (await wait).release();
    expect((await second.inspect()).position).toBeNull();
  });
});

describe('renewFor and releaseFor', () => {
  test('work for the holder of a lease from any client, and for nobody else', async () => {
    const [mutex, second] = shared({ leaseMs: 20_000, renew: false });
    const { holder } = await mutex.acquire();
    const stranger = holder.replace(/^./, (letter) => (letter === 'a' ? 'b' : 'a'));
    expect(await second.renewFor(stranger)).toBe(false);
    expect(await second.releaseFor(stranger)).toBe(false);
    expect(await second.renewFor(holder, 60_000)).toBe(true);
    expect((await mutex.inspect()).remainingMs).toBeGreaterThan(30_000);
    expect(await second.renewFor(holder)).toBe(true);
    expect((await mutex.inspect()).remainingMs).toBeGreaterThan(30_000);
    const wait = mutex.acquire();
    await queued(mutex, 1);
    expect(await second.releaseFor(holder)).toBe(true);
    const next = await wait;
    expect(await second.releaseFor(holder)).toBe(false);
    expect(await second.renewFor(holder)).toBe(false);
    expect((await mutex.inspect()).holder).toBe(next.holder);
    await next.release();
  });

  test.each([1, 5, 179_518_222_041_929, Number.MAX_SAFE_INTEGER, 2e15])(
    'a token that cannot have been given, %p, restores nothing',
    async (token) => {
      const prefix = freshPrefix();
      const mutex = new Mutex(redis, 'lock', { prefix });
      const { holder } = await mutex.acquire();
      await redis.del(`${prefix}:locks:{lock}:lease`, `${prefix}:locks:{lock}:token`);
      expect(await mutex.renewFor(holder, 10_000, token)).toBe(false);
      expect(await mutex.inspect()).toMatchObject({ holder: null, fencingToken: null });
    },
  );

  test('with its token a holder comes back after the loss of all keys', async () => {
    const prefix = freshPrefix();
    const mutex = new Mutex(redis, 'lock', { prefix });
    const { holder, fencingToken } = await mutex.acquire();
    await redis.del(`${prefix}:locks:{lock}:lease`, `${prefix}:locks:{lock}:token`);
    expect(await mutex.renewFor(holder)).toBe(false);
    expect(await mutex.renewFor(holder, 10_000, fencingToken)).toBe(true);
    expect(await mutex.inspect()).toMatchObject({ holder, fencingToken });
    expect(await mutex.releaseFor(holder)).toBe(true);
    // Somebody was granted the lock since: the token has been left behind.
    expect(await mutex.renewFor(holder, 10_000, fencingToken)).toBe(false);
    await expect(mutex.renewFor(holder, 10_000, -1)).rejects.toThrow(RangeError);
  });

  test.each(['', '*', 'lost', 'a.b', 'x'.repeat(10_000), 7, undefined, null])(
    'refuse %p, which no lease has as its holder',
    async (holder) => {
      const [mutex] = shared();
      const lease = await mutex.acquire();
      await expect(mutex.releaseFor(holder as string)).rejects.toThrow(TypeError);
      await expect(mutex.renewFor(holder as string)).rejects.toThrow(TypeError);
      await expect(mutex.renewFor(lease.holder, 0)).rejects.toThrow(RangeError);
      expect(await lease.release()).toBe(true);
    },
  );
});

describe('forceRelease', () => {
  test('says whether somebody held the lock', async () => {
    const [mutex, second] = shared();
    expect(await second.forceRelease()).toBe(false);
    const lease = await mutex.acquire();
    expect(await second.forceRelease()).toBe(true);
    expect((await mutex.inspect()).holder).toBeNull();
    expect(await lease.release()).toBe(false);
  });

  test('leaves a token behind, without which the former holder would have the lock back', async () => {
    const prefix = freshPrefix();
    const mutex = new Mutex(redis, 'lock', { prefix });
    const lease = await mutex.acquire();
    // As after a week.
    await redis.del(`${prefix}:locks:{lock}:token`);
    expect(await mutex.forceRelease()).toBe(true);
    await expect(lease.renew()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'taken' });
    expect((await mutex.inspect()).holder).toBeNull();
  });

  test('gives the lock to the first waiter, and the former holder learns it at its next renewal', async () => {
    const [mutex, second] = shared({ leaseMs: 4_000 });
    const former = await mutex.acquire();
    const isOver = until('the signal', () => former.signal.aborted);
    const wait = second.acquire();
    await queued(mutex, 1);
    await mutex.forceRelease();
    const lease = await wait;
    expect(lease.fencingToken).toBeGreaterThan(former.fencingToken);
    expect(await lease.release()).toBe(true);
    await isOver;
    expect(former.signal.reason).toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'taken' });
    expect(former.isValid).toBe(false);
    expect(await former.release()).toBe(false);
  });
});
