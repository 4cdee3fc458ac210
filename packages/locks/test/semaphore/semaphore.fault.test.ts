import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Semaphore } from '@mortise/locks';
import { startSingle } from '@mortise/redis-server';
import type { RedisServer } from '@mortise/redis-server';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import { abortOf } from '../fixture/abort-of.js';
import { queued } from '../fixture/queued.js';
import { TIMED_OUT, waitFor } from '@mortise/redis';

let server: RedisServer;
let redis: Redis;
let other: Redis;

beforeAll(async () => {
  server = await startSingle({ isCluster: true });
  redis = connect(server.url);
  other = connect(server.url);
  // The server knows all scripts from now on: an unknown one costs a second round trip.
  const [semaphore, second] = pair(1);
  const lease = await semaphore.acquire();
  const wait = second.acquire();
  await queued(semaphore, 1);
  await lease.renew();
  await lease.release();
  await (await wait).release();
});

afterAll(async () => {
  await server?.stop();
});

function pair(permits: number, leaseMs = 10_000): [Semaphore, Semaphore] {
  const options = { prefix: freshPrefix(), permits, leaseMs };
  return [new Semaphore(redis, 'pool', options), new Semaphore(other, 'pool', options)];
}

/** A signal to a process takes effect a moment later; from then on nothing is answered. */
async function pause(): Promise<void> {
  server.pause();
  await until(
    'the server to stand still',
    async () => (await waitFor(other.ping(), { waitMs: 20 })) === TIMED_OUT,
  );
}

test('the signal comes at the end of the lease while the server does not answer', async () => {
  const [semaphore] = pair(2, 500);
  const lease = await semaphore.acquire();
  const { signal } = lease;
  await pause();
  try {
    // The server goes on when it has come.
    expect(await abortOf(signal)).toBeGreaterThanOrEqual(lease.expiresAt);
    expect(lease.isValid).toBe(false);
    // On the server it ends later, by as much as the command was under way; a renewal is under way, too.
    await until('the end on the server', () => performance.now() > lease.expiresAt + 1_000);
  } finally {
    server.resume();
  }
  expect(await lease.release()).toBe(false);
  expect(await semaphore.available()).toBe(2);
});

test('permits that were taken too late are given back: tryAcquire gives null', async () => {
  const [semaphore, second] = pair(2, 500);
  await pause();
  const startedAt = performance.now();
  let attempt: Promise<unknown>;
  try {
    attempt = semaphore.tryAcquire();
    await until('the end of the lease', () => performance.now() > startedAt + 510);
  } finally {
    server.resume();
  }
  expect(await attempt).toBeNull();
  // The server has carried it out just now, so the lease would last for half a second.
  expect(await second.inspect()).toMatchObject({ limit: 2, used: 0, holders: [] });
});

test('permits that were taken too late are given back: acquire goes on', async () => {
  const [semaphore, second] = pair(1, 2_000);
  await pause();
  const startedAt = performance.now();
  let wait: ReturnType<Semaphore['acquire']>;
  try {
    wait = semaphore.acquire();
    await until('the end of the lease', () => performance.now() > startedAt + 2_010);
  } finally {
    server.resume();
  }
  const lease = await wait;
  expect(lease.isValid).toBe(true);
  expect((await second.inspect()).holders).toMatchObject([{ holder: lease.holder }]);
  expect(await lease.release()).toBe(true);
});

test('a waiter whose connection is killed while it is granted gets its permits all the same', async () => {
  const prefix = freshPrefix();
  const client = connect(server.url);
  const semaphore = new Semaphore(redis, 'pool', { prefix, permits: 2 });
  const mine = new Semaphore(client, 'pool', { prefix, permits: 2 });
  const held = await semaphore.acquire({ permits: 2 });
  const waits = [mine.acquire(), mine.acquire(), mine.acquire()];
  await queued(semaphore, 3);
  const id = await client.client('ID');
  const [killed, released] = await Promise.all([redis.client('KILL', 'ID', id), held.release()]);
  expect([killed, released]).toEqual([1, true]);
  // All were dropped from the queue, because nobody was listening; the connection that is whole again re-checks.
  for (const wait of waits) expect(await (await wait).release()).toBe(true);
  expect(await semaphore.inspect()).toMatchObject({ used: 0, queueLength: 0 });
});

test('a server that is full refuses new requests, but renews, releases and hands on', async () => {
  const [semaphore, second] = pair(1);
  const held = await semaphore.acquire();
  const wait = second.acquire();
  await queued(semaphore, 1);
  await redis.config('SET', 'maxmemory', '1');
  try {
    await held.renew();
    expect(await held.release()).toBe(true);
    const lease = await wait;
    await lease.renew();
    await expect(semaphore.acquire()).rejects.toThrow('OOM');
    expect(await lease.release()).toBe(true);
    await semaphore.setPermits(2);
  } finally {
    await redis.config('SET', 'maxmemory', '0');
  }
  expect(await semaphore.inspect()).toMatchObject({ limit: 2, used: 0, queueLength: 0 });
});

test('the event loop that was blocked past the lease sees at once that it is over', async () => {
  const [semaphore, second] = pair(1, 60);
  const lease = await semaphore.acquire();
  const end = performance.now() + 90;
  while (performance.now() < end);
  expect(lease.isValid).toBe(false);
  expect(lease.signal.aborted).toBe(true);
  await expect(lease.renew()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'expired' });
  expect(await (await second.acquire()).release()).toBe(true);
  expect(await lease.release()).toBe(false);
});
