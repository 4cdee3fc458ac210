import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ClientClosedError } from '@mortise/redis';
import { Mutex } from '@mortise/locks';
import type { Lease } from '@mortise/locks';
import { startProxy, startSingle } from '@mortise/redis-server';
import type { RedisServer, TcpProxy } from '@mortise/redis-server';
import { connect, freshPrefix, transcript, until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import { abortOf } from '../fixture/abort-of.js';
import { fastestOf } from '../fixture/fastest-of.js';
import { queued } from '../fixture/queued.js';
import * as scripts from '../../src/scripts.gen.js';
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
  const [mutex, second] = [new Mutex(redis, 'warm'), new Mutex(other, 'warm')];
  const lease = await mutex.acquire();
  const wait = second.acquire();
  await queued(mutex, 1);
  await lease.renew();
  await lease.release();
  await (await wait).release();
});

afterAll(async () => {
  await proxy?.stop();
  await server?.stop();
});

/** A signal to a process takes effect a moment later; from then on nothing is answered. */
async function pause(): Promise<void> {
  server.pause();
  await until(
    'the server to stand still',
    async () => (await waitFor(other.ping(), { waitMs: 20 })) === TIMED_OUT,
  );
}

describe('a server that does not answer', () => {
  test('the signal comes at the end of the lease, whatever the renewals do', async () => {
    const mutex = new Mutex(redis, 'lock', { prefix: freshPrefix(), leaseMs: 500 });
    const lease = await mutex.acquire();
    const { signal } = lease;
    await pause();
    try {
      // The server goes on when it has come.
      expect(await abortOf(signal)).toBeGreaterThanOrEqual(lease.expiresAt);
      expect(lease.isValid).toBe(false);
      expect(signal.reason).toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'expired' });
      // Redis ends it a little later: counted from when the command arrived.
      await until('the end in Redis', () => performance.now() > lease.expiresAt + 1_000);
    } finally {
      server.resume();
    }
    expect(await lease.release()).toBe(false);
  });

  test('a renewal that is answered after the end changes nothing', async () => {
    const prefix = freshPrefix();
    const lease = await new Mutex(redis, 'lock', { prefix, leaseMs: 2_000, renew: false }).acquire();
    // The server would go on for longer, and so it carries the renewal out.
    await other.pexpire(`${prefix}:locks:{lock}:lease`, 60_000);
    await pause();
    let renewal: Promise<void>;
    try {
      renewal = lease.renew();
      await until('the end', () => !lease.isValid);
    } finally {
      server.resume();
    }
    await expect(renewal).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'expired' });
    expect(lease.isValid).toBe(false);
    expect(await lease.release()).toBe(true);
  });

  test('a waiter for it times out in time, and leaves nothing behind', async () => {
    const prefix = freshPrefix();
    const mutex = new Mutex(redis, 'lock', { prefix });
    await pause();
    try {
      // The server goes on only after this.
      await expect(mutex.acquire({ waitMs: 100 })).rejects.toMatchObject({ code: 'ERR_LOCK_TIMEOUT' });
    } finally {
      server.resume();
    }
    // The command was carried out when the server went on.
    await until(
      'the lock to be given back',
      async () => (await new Mutex(other, 'lock', { prefix }).inspect()).holder === null,
    );
    const lease = await new Mutex(other, 'lock', { prefix }).acquire({ waitMs: 8_000 });
    expect(await lease.release()).toBe(true);
  });

  test('a lock that was taken too late is given back: tryAcquire gives null', async () => {
    const prefix = freshPrefix();
    const mutex = new Mutex(redis, 'lock', { prefix, leaseMs: 500 });
    await pause();
    const startedAt = performance.now();
    let attempt: Promise<unknown>;
    try {
      attempt = mutex.tryAcquire();
      await until('the end of the lease', () => performance.now() > startedAt + 510);
    } finally {
      server.resume();
    }
    expect(await attempt).toBeNull();
    // The server has carried it out just now, so the lease would last for half a second.
    expect((await new Mutex(other, 'lock', { prefix }).inspect()).holder).toBeNull();
    expect((await new Mutex(other, 'lock', { prefix }).inspect()).fencingToken).toBeGreaterThan(0);
  });

  test('a lock that was taken too late is given back: acquire goes on', async () => {
    const prefix = freshPrefix();
    const mutex = new Mutex(redis, 'lock', { prefix, leaseMs: 2_000 });
    let resumedAt = 0;
    let lease: Lease | undefined;
    const lines = await transcript(other, { prefix, scripts }, async () => {
      await pause();
      const startedAt = performance.now();
      let wait: Promise<Lease>;
      try {
        wait = mutex.acquire();
        await until('the end of the lease', () => performance.now() > startedAt + 2_010);
      } finally {
        server.resume();
      }
      resumedAt = performance.now();
      lease = await wait;
    });
    expect(lease!.isValid).toBe(true);
    expect(lease!.expiresAt).toBeGreaterThan(resumedAt + 900);
    // It asked again at once, and learned of the release: for the end of the lease it would have looked a second time.
    const sent = (script: string): number =>
      lines.filter((line) => line.startsWith(`evalsha ${script} `)).length;
    expect([sent('mutex.acquire'), sent('mutex.release')]).toEqual([2, 1]);
    expect(sent('mutex.recheck')).toBeLessThanOrEqual(1);
    expect(await lease!.release()).toBe(true);
  });
});

describe('replies that come late', () => {
  test('are never an acquired lock', async () => {
    const prefix = freshPrefix();
    const client = connect(proxy.url);
    await client.ping();
    proxy.delay({ repliesMs: 150 });
    try {
      const mutex = new Mutex(client, 'lock', { prefix, leaseMs: 100 });
      expect(await mutex.tryAcquire()).toBeNull();
      await expect(mutex.acquire({ waitMs: 500 })).rejects.toMatchObject({ code: 'ERR_LOCK_TIMEOUT' });
    } finally {
      await proxy.restore();
    }
    const state = await new Mutex(other, 'lock', { prefix }).inspect();
    // One of the attempts took it on the server each time.
    expect(state.fencingToken).toBeGreaterThan(0);
    const lease = await new Mutex(other, 'lock', { prefix }).acquire({ waitMs: 8_000 });
    expect(await lease.release()).toBe(true);
  });

  test('a grant that was under way for half its claim is confirmed first', async () => {
    const prefix = freshPrefix();
    const client = connect(proxy.url);
    const direct = new Mutex(redis, 'lock', { prefix });
    const holder = await direct.acquire();
    const wait = new Mutex(client, 'lock', { prefix, leaseMs: 60_000 }).acquire();
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

describe('a connection that breaks', () => {
  test('a waiter whose connection is killed while it is granted gets the lock all the same', async () => {
    const client = connect(server.url);
    const killAmidRelease = async (): Promise<number> => {
      const prefix = freshPrefix();
      const mutex = new Mutex(redis, 'lock', { prefix });
      const holder = await mutex.acquire();
      const waits = [
        new Mutex(client, 'lock', { prefix }).acquire(),
        new Mutex(client, 'lock', { prefix }).acquire(),
      ];
      await queued(mutex, 2);
      const id = await client.client('ID');
      const [killed, released] = await Promise.all([redis.client('KILL', 'ID', id), holder.release()]);
      expect([killed, released]).toEqual([1, true]);
      const startedAt = performance.now();
      for (const wait of waits) expect(await (await wait).release()).toBe(true);
      return performance.now() - startedAt;
    };
    // Both were dropped from the queue by the release, because nobody was listening. The connection that is whole
    // again re-checks at once, and not only after a second.
    expect(await fastestOf(5, killAmidRelease)).toBeLessThan(700);
  });

  test('a holder whose connection is cut keeps the lock', async () => {
    const prefix = freshPrefix();
    const client = connect(proxy.url);
    const lease = await new Mutex(client, 'lock', { prefix, leaseMs: 4_000 }).acquire();
    const { expiresAt } = lease;
    proxy.cut();
    await until('a renewal', () => lease.expiresAt > expiresAt);
    expect(lease.isValid).toBe(true);
    expect(await lease.release()).toBe(true);
  });

  test('the error of the last renewal is the cause of the loss', async () => {
    const prefix = freshPrefix();
    const client = connect(server.url);
    const lease = await new Mutex(client, 'lock', { prefix, leaseMs: 2_500 }).acquire();
    client.disconnect();
    await abortOf(lease.signal);
    expect(lease.signal.reason).toMatchObject({
      reason: 'expired',
      cause: expect.objectContaining({ message: 'Connection is closed.' }),
    });
  });

  test('a waiter is rejected when the client is closed', async () => {
    const prefix = freshPrefix();
    const client = connect(server.url);
    const mutex = new Mutex(redis, 'lock', { prefix });
    const holder = await mutex.acquire();
    const mine = new Mutex(client, 'lock', { prefix });
    const results = Promise.allSettled([mine.acquire(), mine.acquire(), mine.using(() => 1)]);
    await queued(mutex, 3);
    await client.quit();
    const rejected = { status: 'rejected', reason: expect.any(ClientClosedError) };
    expect(await results).toEqual([rejected, rejected, rejected]);
    await expect(mine.acquire()).rejects.toThrow('Connection is closed');
    await expect(mine.tryAcquire()).rejects.toThrow('Connection is closed');
    // They are dropped from the queue, and nobody is kept waiting.
    expect(await holder.release()).toBe(true);
    expect(await mutex.inspect()).toMatchObject({ holder: null, queueLength: 0 });
  });

  test('a client that is connected again works again', async () => {
    const prefix = freshPrefix();
    const client = connect(server.url);
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

describe('a server that is full', () => {
  test('refuses new requests, but renews, releases and hands on', async () => {
    const prefix = freshPrefix();
    const mutex = new Mutex(redis, 'lock', { prefix });
    const holder = await mutex.acquire();
    const wait = new Mutex(other, 'lock', { prefix }).acquire();
    await queued(mutex, 1);
    await redis.config('SET', 'maxmemory', '1');
    try {
      await holder.renew();
      expect(await holder.release()).toBe(true);
      const lease = await wait;
      await lease.renew();
      await expect(mutex.acquire()).rejects.toThrow('OOM');
      expect(await lease.release()).toBe(true);
    } finally {
      await redis.config('SET', 'maxmemory', '0');
    }
    expect(await mutex.inspect()).toMatchObject({ holder: null, queueLength: 0 });
  });
});
