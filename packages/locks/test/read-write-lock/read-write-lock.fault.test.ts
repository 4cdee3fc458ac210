import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ReadWriteLock } from '@mortise/locks';
import { startProxy, startSingle } from '@mortise/redis-server';
import type { RedisServer, TcpProxy } from '@mortise/redis-server';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import { abortOf } from '../fixture/abort-of.js';
import { queued } from '../fixture/queued.js';
import { TIMED_OUT, waitFor } from '@mortise/redis';

let server: RedisServer;
let proxy: TcpProxy;
let redis: Redis;
let other: Redis;

beforeAll(async () => {
  server = await startSingle({ isCluster: true });
  proxy = await startProxy(server);
  redis = connect(server.url);
  other = connect(server.url);
  // The server knows all scripts from now on: an unknown one costs a second round trip.
  const [lock, second] = [new ReadWriteLock(redis, 'warm'), new ReadWriteLock(other, 'warm')];
  const lease = await lock.write.acquire();
  const wait = second.write.acquire();
  await queued(lock.read, 1);
  await lease.renew();
  await (await lease.downgrade()).release();
  await (await wait).release();
});

afterAll(async () => {
  await proxy?.stop();
  await server?.stop();
});

test.each(['read', 'write'] as const)(
  'with a server that does not answer, the signal of %s comes at the end of the lease',
  async (side) => {
    const lock = new ReadWriteLock(redis, 'lock', { prefix: freshPrefix(), leaseMs: 500 });
    const lease = await lock[side].acquire();
    const { signal } = lease;
    server.pause();
    await until(
      'the server to stand still',
      async () => (await waitFor(other.ping(), { waitMs: 20 })) === TIMED_OUT,
    );
    try {
      // The server goes on when it has come.
      expect(await abortOf(signal)).toBeGreaterThanOrEqual(lease.expiresAt);
      expect(lease.isValid).toBe(false);
      expect(signal.reason).toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'expired' });
    } finally {
      server.resume();
    }
    await lease.release();
    // Nothing of it is left, whether the server was faster than the end of the lease or not.
    expect(await lock.read.inspect()).toMatchObject({ writer: null, readers: 0 });
  },
);

describe('replies that come late', () => {
  test('are never an acquired lock', async () => {
    const prefix = freshPrefix();
    const client = connect(proxy.url);
    await client.ping();
    proxy.delay({ repliesMs: 150 });
    try {
      const lock = new ReadWriteLock(client, 'lock', { prefix, leaseMs: 100 });
      expect([await lock.read.tryAcquire(), await lock.write.tryAcquire()]).toEqual([null, null]);
      await expect(lock.read.acquire({ waitMs: 400 })).rejects.toMatchObject({ code: 'ERR_LOCK_TIMEOUT' });
    } finally {
      await proxy.restore();
    }
    const direct = new ReadWriteLock(other, 'lock', { prefix });
    // The attempts took it on the server each time.
    expect((await direct.read.inspect()).fencingToken).toBeGreaterThan(0);
    const lease = await direct.write.acquire({ waitMs: 8_000 });
    expect(await lease.release()).toBe(true);
  });

  test('are no downgraded lease either', async () => {
    const prefix = freshPrefix();
    const client = connect(proxy.url);
    const lock = new ReadWriteLock(client, 'lock', { prefix, leaseMs: 200, renew: false });
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

  test('a downgrade whose reply is lost may be repeated, and gives a reader', async () => {
    const prefix = freshPrefix();
    const client = connect(proxy.url);
    const direct = new ReadWriteLock(other, 'lock', { prefix });
    const lock = new ReadWriteLock(client, 'lock', { prefix, leaseMs: 60_000 });
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

  test('a lease whose downgrade failed is given back by its release, whatever it is', async () => {
    const prefix = freshPrefix();
    const direct = new ReadWriteLock(other, 'lock', { prefix });
    const closed = expect.objectContaining({ message: 'Connection is closed.' });
    for (const isCarriedOut of [true, false]) {
      const client = connect(proxy.url);
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
    }
  });
});

test('waiters whose connection is killed while they are let in get in all the same', async () => {
  const prefix = freshPrefix();
  const client = connect(server.url);
  const lock = new ReadWriteLock(redis, 'lock', { prefix });
  const holder = await lock.write.acquire();
  const mine = new ReadWriteLock(client, 'lock', { prefix });
  const waits = [mine.read.acquire(), mine.read.acquire(), mine.write.acquire()];
  await queued(lock.read, 3);
  const id = await client.client('ID');
  const [killed, released] = await Promise.all([redis.client('KILL', 'ID', id), holder.release()]);
  expect([killed, released]).toEqual([1, true]);
  for (const wait of waits) expect(await (await wait).release()).toBe(true);
  expect(await lock.read.inspect()).toMatchObject({ writer: null, readers: 0, queueLength: 0 });
});

test('a waiter is rejected when the client is closed, and keeps nobody waiting', async () => {
  const prefix = freshPrefix();
  const client = connect(server.url);
  const lock = new ReadWriteLock(redis, 'lock', { prefix });
  const holder = await lock.read.acquire();
  const mine = new ReadWriteLock(client, 'lock', { prefix });
  const results = Promise.allSettled([mine.write.acquire(), mine.read.acquire(), mine.read.using(() => 1)]);
  await queued(lock.read, 3);
  await client.quit();
  const rejected = { status: 'rejected', reason: expect.objectContaining({ code: 'ERR_CLIENT_CLOSED' }) };
  expect(await results).toEqual([rejected, rejected, rejected]);
  await expect(mine.read.tryAcquire()).rejects.toThrow('Connection is closed');
  await expect(mine.write.acquire()).rejects.toThrow('Connection is closed');
  expect(await holder.release()).toBe(true);
  expect(await lock.read.inspect()).toMatchObject({ readers: 0, queueLength: 0 });
});

test('a server that is full refuses new requests, but renews, downgrades, releases and lets in', async () => {
  const prefix = freshPrefix();
  const lock = new ReadWriteLock(redis, 'lock', { prefix });
  const holder = await lock.write.acquire();
  const second = new ReadWriteLock(other, 'lock', { prefix });
  const waits = [second.read.acquire(), second.write.acquire()];
  await queued(lock.read, 2);
  await redis.config('SET', 'maxmemory', '1');
  try {
    await holder.renew();
    const reader = await holder.downgrade();
    const beside = await waits[0]!;
    await Promise.all([reader.renew(), beside.renew()]);
    expect([await reader.release(), await beside.release()]).toEqual([true, true]);
    const writer = await waits[1]!;
    await writer.renew();
    await expect(lock.read.acquire()).rejects.toThrow('OOM');
    expect(await writer.release()).toBe(true);
  } finally {
    await redis.config('SET', 'maxmemory', '0');
  }
  expect(await lock.read.inspect()).toMatchObject({ writer: null, readers: 0, queueLength: 0 });
});
