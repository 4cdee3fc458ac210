/** Every write, with its reply lost and its command sent again: Redis must have what the first command stored. */
import { describe, expect, test } from '@jest/globals';
import { CountDownLatch, Mutex, RateLimiter, ReadWriteLock, Semaphore } from '@mortise/locks';
import { connect, freshPrefix, interposed, resending, until } from '@mortise/test-kit';
import type { Subject } from './fixture/lock-kinds.js';
import { KINDS } from './fixture/lock-kinds.js';
import { queued } from './fixture/queued.js';
import { QuorumNodes } from './fixture/quorum-nodes.js';

const [redis, other, resent] = [connect(), connect(), resending(connect())];

describe.each(KINDS)('$kind', ({ make }) => {
  /** The same lock with replies, without, and in another process. */
  function shared(): { lock: Subject; lossy: Subject; second: Subject; prefix: string } {
    const prefix = freshPrefix();
    const of = (client: typeof redis): Subject => make(client, 'lock', { prefix, leaseMs: 60_000 });
    return { lock: of(redis), lossy: of(resent), second: of(other), prefix };
  }

  /** Until these waiters are in the queue, and subscribed: a grant leaves out a waiter without a subscription. */
  async function waiting(prefix: string, lock: Subject, clients: number): Promise<void> {
    await queued(lock, clients);
    const pattern = `${prefix}:*`;
    const channels = async (): Promise<number> =>
      ((await redis.pubsub('CHANNELS', pattern)) as string[]).length;
    await until('their subscriptions', async () => (await channels()) >= clients);
  }

  test.each(['acquire', 'tryAcquire'] as const)('%s takes the lock once', async (call) => {
    const { lock, lossy } = shared();
    const lease = (await lossy[call]())!;
    expect(lease.isValid).toBe(true);
    expect(await lock.inspect()).toMatchObject({ holder: lease.holder, queueLength: 0 });
    expect(await lock.releaseFor(lease.holder)).toBe(true);
    expect((await lock.inspect()).holder).toBeNull();
  });

  test('acquire joins the queue once', async () => {
    const { lock, lossy, second, prefix } = shared();
    const holder = await lock.acquire();
    const waits = [lossy.acquire()];
    await waiting(prefix, lock, 1);
    waits.push(second.acquire());
    await waiting(prefix, lock, 2);
    await holder.release();
    const lease = await waits[0]!;
    expect(await lock.inspect()).toMatchObject({ holder: lease.holder, queueLength: 1 });
    expect(await lock.releaseFor(lease.holder)).toBe(true);
    expect(await (await waits[1]!).release()).toBe(true);
  });

  test.each(['renew', 'renewFor'] as const)('%s extends the lease', async (call) => {
    const { lock, lossy } = shared();
    const lease = await lossy.acquire();
    expect(await (call === 'renew' ? lease.renew() : lossy.renewFor(lease.holder))).not.toBe(false);
    expect((await lock.inspect()).holder).toBe(lease.holder);
    expect(await lock.releaseFor(lease.holder)).toBe(true);
  });

  test.each(['release', 'releaseFor', 'force'] as const)('%s frees nobody else', async (call) => {
    const { lock, lossy, second, prefix } = shared();
    const former = await lossy.acquire();
    const waits = [lock.acquire()];
    await waiting(prefix, lock, 1);
    waits.push(second.acquire());
    await waiting(prefix, lock, 2);
    // The second reply is that of a call that found nothing.
    const isReleased = call === 'release' ? await former.release() : await lossy[call](former.holder);
    expect(isReleased).toBe(false);
    const next = await waits[0]!;
    expect(await lock.inspect()).toMatchObject({ holder: next.holder, queueLength: 1 });
    expect(await next.release()).toBe(true);
    expect(await (await waits[1]!).release()).toBe(true);
  });
});

describe('ReadWriteLock', () => {
  function shared(): { lock: ReadWriteLock; lossy: ReadWriteLock } {
    const options = { prefix: freshPrefix(), leaseMs: 60_000 };
    return {
      lock: new ReadWriteLock(redis, 'lock', options),
      lossy: new ReadWriteLock(resent, 'lock', options),
    };
  }

  test('forceRelease of readers frees no later holders', async () => {
    const { lock, lossy } = shared();
    await lossy.read.acquire();
    const writer = lock.write.acquire();
    await queued(lock.read, 1);
    const readers = [lock.read.acquire(), lock.read.acquire()];
    await queued(lock.read, 3);
    expect(await lossy.read.forceRelease()).toBe(false);
    const { holder } = await writer;
    expect(await lock.read.inspect()).toMatchObject({ writer: holder, readers: 0, queueLength: 2 });
    expect(await lossy.write.forceRelease()).toBe(false);
    const leases = await Promise.all(readers);
    expect(await lock.read.inspect()).toMatchObject({ writer: null, readers: 2, queueLength: 0 });
    expect(await Promise.all(leases.map((lease) => lease.release()))).toEqual([true, true]);
  });

  test('downgrade makes one reader of the writer', async () => {
    const { lock, lossy } = shared();
    const reader = await (await lossy.write.acquire()).downgrade();
    expect(await lock.read.inspect()).toMatchObject({
      writer: null,
      readers: 1,
      fencingToken: reader.fencingToken,
    });
    expect(await lock.read.releaseFor(reader.holder)).toBe(true);
  });
});

test('Semaphore.setPermits grants as many permits as fit', async () => {
  const prefix = freshPrefix();
  const [lock, lossy] = [redis, resent].map(
    (client) => new Semaphore(client, 'lock', { prefix, permits: 1 }),
  ) as [Semaphore, Semaphore];
  const holder = await lock.acquire();
  const waits = [lock.acquire(), lock.acquire()];
  await queued(lock, 2);
  await lossy.setPermits(2);
  const next = await waits[0]!;
  expect(await lock.inspect()).toMatchObject({ limit: 2, used: 2, queueLength: 1 });
  expect(await holder.release()).toBe(true);
  for (const lease of [next, await waits[1]!]) expect(await lease.release()).toBe(true);
});

describe('RateLimiter', () => {
  const terms = { limit: 7, periodMs: 86_400_000 };

  test.each([
    { name: 'the only permit', burst: 1, takes: [1], allowed: [true], remaining: 0 },
    { name: 'a part of the burst', burst: 7, takes: [3], allowed: [true], remaining: 4 },
    { name: 'permits of one tick', burst: 7, takes: [3, 3, 3], allowed: [true, true, false], remaining: 1 },
  ])('take takes $name once', async ({ burst, takes, allowed, remaining }) => {
    const options = { ...terms, burst, prefix: freshPrefix() };
    const lossy = new RateLimiter(resent, 'calls', options);
    const results = await Promise.all(takes.map((cost) => lossy.take(cost)));
    expect(results.map(({ isAllowed }) => isAllowed)).toEqual(allowed);
    expect(results.at(-1)).toMatchObject({ remaining });
    expect(await new RateLimiter(redis, 'calls', options).take(0)).toMatchObject({ remaining });
    expect(await lossy.take(0)).toMatchObject({ remaining });
  });

  test('take after other takes takes its permits once', async () => {
    const options = { ...terms, prefix: freshPrefix() };
    const [lossy, calls] = [
      new RateLimiter(resent, 'calls', options),
      new RateLimiter(redis, 'calls', options),
    ];
    expect(await calls.take(2)).toMatchObject({ remaining: 5 });
    expect(await lossy.take(2)).toMatchObject({ isAllowed: true, remaining: 3 });
    expect(await lossy.take(2)).toMatchObject({ isAllowed: true, remaining: 1 });
    expect(await lossy.take(2)).toMatchObject({ isAllowed: false, remaining: 1 });
    expect(await calls.take(1)).toMatchObject({ isAllowed: true, remaining: 0 });
  });

  test('reset restores the burst', async () => {
    const options = { ...terms, prefix: freshPrefix() };
    const lossy = new RateLimiter(resent, 'calls', options);
    await lossy.take(7);
    await lossy.reset();
    expect(await lossy.take(7)).toMatchObject({ isAllowed: true, remaining: 0 });
  });
});

describe('CountDownLatch', () => {
  test('countDown with an id counts once', async () => {
    const options = { prefix: freshPrefix(), count: 3 };
    const [lossy, latch] = [
      new CountDownLatch(resent, 'latch', options),
      new CountDownLatch(redis, 'latch', options),
    ];
    expect(await lossy.countDown({ id: 'a' })).toBe(2);
    expect(await latch.remaining()).toBe(2);
    expect(await lossy.countDown({ id: 'b', by: 2 })).toBe(0);
    await lossy.wait({ waitMs: 0 });
  });

  test('reset deletes no later latch', async () => {
    const options = { prefix: freshPrefix(), count: 3 };
    const latch = new CountDownLatch(redis, 'latch', options);
    await latch.countDown();
    const client = interposed(connect(), async (_, send, [command]) => {
      await send();
      if (String(command).startsWith('eval')) await latch.countDown({ by: 2 });
      return send();
    });
    expect(await new CountDownLatch(client, 'latch', options).reset()).toBe(false);
    expect(await latch.remaining()).toBe(1);
  });
});

test('forceRelease of a QuorumMutex frees no later holder', async () => {
  await using nodes = await QuorumNodes.start();
  const [mutex, lossy] = nodes.mutexes([nodes.clients, nodes.others().map((client) => resending(client))]);
  const former = await mutex.acquire();
  const wait = mutex.acquire();
  expect(await lossy.forceRelease()).toBe(false);
  const next = await wait;
  await expect(former.renew()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
  expect((await mutex.inspect()).holder).toBe(next.holder);
  expect(await next.release()).toBe(true);
});

test('a resent acquisition of a Mutex without queue or token is the same grant', async () => {
  const options = { prefix: freshPrefix(), fair: false, fencing: false };
  const lease = await new Mutex(resent, 'lock', options).acquire();
  expect(await new Mutex(redis, 'lock', options).releaseFor(lease.holder)).toBe(true);
});
