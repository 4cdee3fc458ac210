/** Faults between two steps of a Mutex, a ReadWriteLock or a Semaphore. A test of all kinds has them wait together. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Mutex, ReadWriteLock, Semaphore } from '@mortise/locks';
import type { Lease, LeaseOptions } from '@mortise/locks';
import { TIMED_OUT, waitFor } from '@mortise/redis';
import { startProxy } from '@mortise/redis-server';
import { disconnectLater, freshPrefix, runServer, transcript, until } from '@mortise/test-kit';
import { Redis } from 'ioredis';
import * as scripts from '../src/scripts.gen.js';
import { abortOf } from './fixture/abort-of.js';
import { fastestOf } from './fixture/fastest-of.js';
import type { AnyLease, Subject } from './fixture/lock-kinds.js';
import { WAITERS } from './fixture/lock-kinds.js';
import { queued } from './fixture/queued.js';

const { server, redis, connect } = await runServer({ isCluster: true });
const proxy = await startProxy(server);
const other = connect();
const proxied = (): Redis => disconnectLater(new Redis(proxy.url, { retryStrategy: () => 20 }));

afterAll(() => proxy.stop());

/** A MultiLock takes several steps, and has faults of its own. */
const SINGLE = WAITERS.filter(({ kind }) => kind !== 'MultiLock');

interface Scene {
  /** The name of the lock, too. */
  readonly kind: string;
  readonly lock: Subject;
  /** The same lock in another process. */
  readonly second: Subject;
  /** The same lock, held alone. */
  readonly alone: Subject;
}

/** A lock of each kind, all under one prefix. */
function scenes({ client = redis, ...given }: LeaseOptions & { client?: Redis } = {}): Scene[] {
  const options = { prefix: freshPrefix(), ...given };
  return SINGLE.map(({ kind, make, alone }) => ({
    kind,
    lock: make(client, kind, options),
    second: make(other, kind, options),
    alone: alone(redis, kind, options),
  }));
}

async function expectFree(all: readonly Scene[]): Promise<void> {
  for (const { kind, second, alone } of all) {
    const states = [await second.inspect(), await alone.inspect()];
    const free = { kind, holder: null, queueLength: 0 };
    expect(states.map(({ holder, queueLength }) => ({ kind, holder, queueLength }))).toEqual([free, free]);
  }
}

/**
 * Sends commands to a server that answers nothing until `wait` is over. Resolves with their result. A signal to a process
 * takes effect a moment later.
 */
async function whilePaused<Result>(
  send: () => Promise<Result>,
  wait: (sent: Promise<Result>) => Promise<unknown> = (sent) => sent,
): Promise<Result> {
  server.pause();
  try {
    await until(
      'the server to stand still',
      async () => (await waitFor(other.ping(), { waitMs: 20 })) === TIMED_OUT,
    );
    const sent = send();
    sent.catch(() => undefined);
    await wait(sent);
    return sent;
  } finally {
    server.resume();
  }
}

async function passed(ms: number): Promise<void> {
  const startedAt = performance.now();
  await until(`${ms} ms`, () => performance.now() > startedAt + ms);
}

beforeAll(async () => {
  // The server knows all scripts from now on: an unknown one costs a second round trip.
  for (const { second, alone } of scenes()) {
    const holder = await alone.acquire();
    const wait = second.acquire();
    await queued(second, 1);
    await holder.renew();
    await holder.release();
    await (await wait).release();
  }
  const writer = await new ReadWriteLock(redis, 'known').write.acquire();
  await (await writer.downgrade()).release();
});

describe('a server that does not answer', () => {
  test('the signal comes at the end of the lease, whatever the renewals do', async () => {
    const all = scenes({ leaseMs: 500 });
    const leases = await Promise.all(all.map(({ lock }) => lock.acquire()));
    const signals = leases.map(({ signal }) => signal);
    await whilePaused(async () => {
      const ends = await Promise.all(signals.map(abortOf));
      for (const [index, { expiresAt, isValid }] of leases.entries()) {
        expect(ends[index]).toBeGreaterThanOrEqual(expiresAt);
        expect(isValid).toBe(false);
        expect(signals[index]!.reason).toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'expired' });
      }
      // Redis ends them a little later: counted from when the command arrived.
      const last = Math.max(...leases.map(({ expiresAt }) => expiresAt));
      await until('the end in Redis', () => performance.now() > last + 1_000);
    });
    expect(await Promise.all(leases.map((lease) => lease.release()))).toEqual(all.map(() => false));
    await expectFree(all);
  });

  test('a renewal that is answered after the end changes nothing', async () => {
    const prefix = freshPrefix();
    const lease = await new Mutex(redis, 'lock', { prefix, leaseMs: 2_000, renew: false }).acquire();
    // The server would go on for longer, and so it carries the renewal out.
    await other.pexpire(`${prefix}:locks:{lock}:lease`, 60_000);
    const renewal = whilePaused(
      () => lease.renew(),
      () => until('the end', () => !lease.isValid),
    );
    await expect(renewal).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'expired' });
    expect(lease.isValid).toBe(false);
    expect(await lease.release()).toBe(true);
  });

  test('a waiter times out in time, and leaves nothing behind', async () => {
    const all = scenes();
    const results = await whilePaused(() =>
      Promise.allSettled(all.map(({ lock }) => lock.acquire({ waitMs: 100 }))),
    );
    const refused = { status: 'rejected', reason: expect.objectContaining({ code: 'ERR_LOCK_TIMEOUT' }) };
    expect(results).toEqual(all.map(() => refused));
    // The command was carried out when the server went on.
    for (const { kind, second } of all) {
      await until(`${kind} to be given back`, async () => (await second.inspect()).holder === null);
      expect(await (await second.acquire({ waitMs: 8_000 })).release()).toBe(true);
    }
  });

  test('a lock that was taken too late is given back: tryAcquire gives null', async () => {
    const prefix = freshPrefix();
    const all = scenes({ prefix, leaseMs: 500 });
    const attempts = await whilePaused(
      () => Promise.all(all.map(({ lock }) => lock.tryAcquire())),
      () => passed(510),
    );
    expect(attempts).toEqual(all.map(() => null));
    // The server has carried them out just now, so the leases would last for half a second.
    await expectFree(all);
    for (const { kind } of all) {
      expect(await redis.keys(`${prefix}:locks:{${kind}}:*`)).toEqual([
        expect.stringMatching(/token$|state$/),
      ]);
    }
  });

  test('a lock that was taken too late is given back: acquire goes on', async () => {
    const prefix = freshPrefix();
    const all = scenes({ prefix, leaseMs: 2_000 });
    let leases: readonly AnyLease[] = [];
    let resumedAt = 0;
    const lines = await transcript(other, { prefix, scripts }, async () => {
      leases = await whilePaused(
        () => Promise.all(all.map(({ lock }) => lock.acquire())),
        async () => {
          await passed(2_010);
          resumedAt = performance.now();
        },
      );
    });
    for (const [index, { kind, second }] of all.entries()) {
      const lease = leases[index]!;
      expect(lease.isValid).toBe(true);
      expect(lease.expiresAt).toBeGreaterThan(resumedAt + 900);
      expect((await second.inspect()).holder).toBe(lease.holder);
      // It asked again at once, and learned of the release: for the end of the lease it would have looked a second time.
      const sent = (script: string): number =>
        lines.filter((line) => line.startsWith('evalsha') && line.includes(`.${script} locks:{${kind}}`))
          .length;
      expect([kind, sent('acquire'), sent('release')]).toEqual([kind, 2, 1]);
      expect(sent('recheck')).toBeLessThanOrEqual(1);
      expect(await lease.release()).toBe(true);
    }
  });

  test('tryAcquire whose command timed out leaves no lock behind', async () => {
    const client = disconnectLater(new Redis(server.url, { commandTimeout: 1_000, retryStrategy: () => 20 }));
    const all = scenes({ client, leaseMs: 60_000, renew: false });
    const tryAll = (): Promise<boolean[]> =>
      Promise.all(all.map(async ({ lock }) => (await lock.tryAcquire())!.release()));
    // Scripts and connections are known from here on.
    expect(await tryAll()).toEqual(all.map(() => true));
    const results = await whilePaused(() => Promise.allSettled(all.map(({ lock }) => lock.tryAcquire())));
    const timedOut = {
      status: 'rejected',
      reason: expect.objectContaining({ message: 'Command timed out' }),
    };
    expect(results).toEqual(all.map(() => timedOut));
    for (const { kind, second } of all) {
      await until(`${kind} to be free`, async () => (await second.inspect()).holder === null);
    }
    expect(await tryAll()).toEqual(all.map(() => true));
  });
});

describe('replies that come late', () => {
  test('are never an acquired lock', async () => {
    const prefix = freshPrefix();
    const client = proxied();
    await client.ping();
    const all = scenes({ client, prefix, leaseMs: 100 });
    proxy.delay({ repliesMs: 150 });
    try {
      const attempts = await Promise.all(all.map(({ lock }) => lock.tryAcquire()));
      expect(attempts).toEqual(all.map(() => null));
      const results = await Promise.allSettled(all.map(({ lock }) => lock.acquire({ waitMs: 500 })));
      const refused = { status: 'rejected', reason: expect.objectContaining({ code: 'ERR_LOCK_TIMEOUT' }) };
      expect(results).toEqual(all.map(() => refused));
    } finally {
      await proxy.restore();
    }
    for (const { kind, alone } of all) {
      // The attempts took it on the server each time.
      expect(await redis.keys(`${prefix}:locks:{${kind}}:*`)).not.toEqual([]);
      expect(await (await alone.acquire({ waitMs: 8_000 })).release()).toBe(true);
    }
  });

  test('a grant that was under way for half its claim is confirmed first', async () => {
    const prefix = freshPrefix();
    const direct = new Mutex(redis, 'lock', { prefix });
    const holder = await direct.acquire();
    const wait = new Mutex(proxied(), 'lock', { prefix, leaseMs: 60_000 }).acquire();
    await queued(direct, 1);
    await until('the subscription', async () => {
      const channels = (await redis.pubsub('CHANNELS', `${prefix}:*`)) as string[];
      return channels.length === 1;
    });
    proxy.delay({ repliesMs: 600 });
    let lease;
    try {
      await holder.release();
      lease = await wait;
    } finally {
      await proxy.restore();
    }
    // A claim would be over in a second; this is a whole lease, from before the confirmation was sent.
    expect(lease.expiresAt - performance.now()).toBeGreaterThan(30_000);
    expect(await direct.inspect()).toMatchObject({ holder: lease.holder });
    expect(await lease.release()).toBe(true);
  });
});

describe('a downgrade', () => {
  test('whose reply comes late gives no lease', async () => {
    const prefix = freshPrefix();
    const lock = new ReadWriteLock(proxied(), 'lock', { prefix, leaseMs: 200, renew: false });
    const writer = await lock.write.acquire();
    proxy.delay({ repliesMs: 300 });
    try {
      await expect(writer.downgrade()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'expired' });
    } finally {
      await proxy.restore();
    }
    const direct = new ReadWriteLock(other, 'lock', { prefix });
    await until('the end', async () => (await direct.read.inspect()).readers === 0);
  });

  test('whose reply is lost may be repeated, and gives a reader', async () => {
    const prefix = freshPrefix();
    const direct = new ReadWriteLock(other, 'lock', { prefix });
    const lock = new ReadWriteLock(proxied(), 'lock', { prefix, leaseMs: 60_000 });
    const writer = await lock.write.acquire();
    proxy.delay({ repliesMs: 10_000 });
    // ioredis sends a command again whose reply it did not get; this stands for a caller that does.
    const lost = waitFor(writer.downgrade(), { waitMs: 100 });
    await until('the reader', async () => (await direct.read.inspect()).readers === 1);
    expect(await lost).toBe(TIMED_OUT);
    await proxy.restore();
    proxy.cut();
    const reader = await writer.downgrade();
    expect(reader.isValid).toBe(true);
    expect((await direct.read.inspect()).firstReaders).toEqual([reader.holder]);
    expect(await reader.release()).toBe(true);
  });

  test.each([true, false])(
    'that failed leaves a lease whose release gives it back, whatever it is, carried out: %p',
    async (isCarriedOut) => {
      const prefix = freshPrefix();
      const direct = new ReadWriteLock(other, 'lock', { prefix });
      const closed = expect.objectContaining({ code: 'ERR_CLIENT_CLOSED' });
      const client = proxied();
      const lock = new ReadWriteLock(client, 'lock', { prefix, leaseMs: 60_000, renew: false });
      const writer = await lock.write.acquire();
      if (isCarriedOut) proxy.delay({ repliesMs: 10_000 });
      else client.disconnect();
      const refused = Promise.allSettled([writer.downgrade()]);
      if (isCarriedOut) {
        await until('the reader', async () => (await direct.read.inspect()).readers === 1);
        client.disconnect();
      }
      expect(await refused).toEqual([{ status: 'rejected', reason: closed }]);
      await proxy.restore();
      await until('the end', () => client.status === 'end');
      await client.connect();
      expect(await writer.release()).toBe(true);
      expect(await direct.read.inspect()).toMatchObject({ writer: null, readers: 0 });
    },
  );
});

describe('a connection that breaks', () => {
  test.each(SINGLE)(
    'waiters for a $kind whose connection is killed while one is granted get the lock all the same',
    async ({ make, alone }) => {
      const client = connect();
      const killAmidRelease = async (): Promise<number> => {
        const options = { prefix: freshPrefix() };
        const lock = alone(redis, 'lock', options);
        const mine = make(client, 'lock', options);
        const holder = await lock.acquire();
        const waits = [mine.acquire(), mine.acquire(), alone(client, 'lock', options).acquire()];
        await queued(lock, 3);
        const id = await client.client('ID');
        const [killed, released] = await Promise.all([redis.client('KILL', 'ID', id), holder.release()]);
        expect([killed, released]).toEqual([1, true]);
        const startedAt = performance.now();
        for (const wait of waits) expect(await (await wait).release()).toBe(true);
        const tookMs = performance.now() - startedAt;
        expect(await lock.inspect()).toMatchObject({ holder: null, queueLength: 0 });
        return tookMs;
      };
      // All were dropped from the queue by the release, because nobody was listening. The connection that is whole
      // again re-checks at once, and not only after a second.
      expect(await fastestOf(5, killAmidRelease)).toBeLessThan(700);
    },
  );

  test('a holder whose connection is cut keeps the lock', async () => {
    const all = scenes({ client: proxied(), leaseMs: 4_000 });
    const leases = await Promise.all(all.map(({ lock }) => lock.acquire()));
    const ends = leases.map(({ expiresAt }) => expiresAt);
    proxy.cut();
    for (const [index, lease] of leases.entries()) {
      await until('a renewal', () => lease.expiresAt > ends[index]!);
      expect(lease.isValid).toBe(true);
      expect(await lease.release()).toBe(true);
    }
  });

  test('the error of the last renewal is the cause of the loss', async () => {
    const client = connect();
    const lease = await new Mutex(client, 'lock', { prefix: freshPrefix(), leaseMs: 2_500 }).acquire();
    client.disconnect();
    await abortOf(lease.signal);
    expect(lease.signal.reason).toMatchObject({
      reason: 'expired',
      cause: expect.objectContaining({ code: 'ERR_CLIENT_CLOSED' }),
    });
  });

  test('a client that is connected again works again', async () => {
    const prefix = freshPrefix();
    const client = connect();
    const mutex = new Mutex(redis, 'lock', { prefix });
    const mine = new Mutex(client, 'lock', { prefix });
    for (let round = 0; round < 2; round += 1) {
      const holder = await mutex.acquire();
      const wait = mine.acquire();
      await queued(mutex, 1);
      await holder.release();
      expect(await (await wait).release()).toBe(true);
      await client.quit();
      await until('the end', () => client.status === 'end');
      await client.connect();
    }
    expect(await mutex.inspect()).toMatchObject({ holder: null, queueLength: 0 });
  });
});

test('a server that is full refuses new requests, but renews, releases, downgrades and hands on', async () => {
  const all = scenes();
  const holders = await Promise.all(all.map(({ alone }) => alone.acquire()));
  const waits = all.map(({ second }) => second.acquire());
  for (const { second } of all) await queued(second, 1);
  const prefix = freshPrefix();
  const sides = new ReadWriteLock(redis, 'lock', { prefix });
  const writer = await sides.write.acquire();
  const beside = new ReadWriteLock(other, 'lock', { prefix }).read.acquire();
  await queued(sides.read, 1);
  const semaphore = new Semaphore(redis, 'pool', { prefix, permits: 1 });
  const permit = await semaphore.acquire();
  await redis.config('SET', 'maxmemory', '1');
  try {
    for (const [index, { lock }] of all.entries()) {
      await holders[index]!.renew();
      expect(await holders[index]!.release()).toBe(true);
      const lease = await waits[index]!;
      await lease.renew();
      await expect(lock.acquire()).rejects.toThrow('OOM');
      expect(await lease.release()).toBe(true);
    }
    const readers: Lease[] = [await writer.downgrade(), await beside];
    await Promise.all(readers.map((reader) => reader.renew()));
    expect(await Promise.all(readers.map((reader) => reader.release()))).toEqual([true, true]);
    await semaphore.setPermits(2);
  } finally {
    await redis.config('SET', 'maxmemory', '0');
  }
  await expectFree(all);
  expect(await sides.read.inspect()).toMatchObject({ writer: null, readers: 0, queueLength: 0 });
  expect(await semaphore.inspect()).toMatchObject({ limit: 2, used: 1 });
  expect(await permit.release()).toBe(true);
});
