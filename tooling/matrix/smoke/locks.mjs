import assert from 'node:assert/strict';
import * as locks from '@mortise/locks';
import * as expressEntry from '@mortise/locks/express';
import * as fastifyEntry from '@mortise/locks/fastify';
import * as quorum from '@mortise/locks/quorum';
import { lockMatchers, MemoryRedis } from '@mortise/locks/testing';
import { Verbs } from './verbs.mjs';

const { CountDownLatch, MultiLock, Mutex, RateLimiter, ReadWriteLock, Semaphore } = locks;

export async function smoke({ connect, others, prefix }) {
  const redis = await connect();
  // A quorum asks independent masters: what lies behind Sentinel or in a Cluster has only one.
  const verbs = others.length === 0 ? new Verbs(locks) : new Verbs(locks, quorum);
  const options = { prefix, leaseMs: 10_000 };
  await mutex(verbs, redis, options);
  await multiLock(verbs, redis, options);
  await readWriteLock(verbs, redis, options);
  await semaphore(redis, options);

  const limiter = new RateLimiter(redis, 'calls', { prefix, limit: 2, periodMs: 60_000 });
  assert.equal((await limiter.take(2)).isAllowed, true);
  const refused = await limiter.take();
  assert.equal(refused.isAllowed, false);
  assert.ok(refused.retryAfterMs > 0);
  assert.equal((await limiter.peek()).remaining, 0);
  assert.equal((await RateLimiter.inspect(redis, 'calls', { prefix })).terms.limit, 2);
  await limiter.reset();
  assert.equal((await limiter.take()).remaining, 1);

  await requests(redis, prefix);

  const latch = new CountDownLatch(redis, 'ready', { prefix, count: 2 });
  const opened = latch.wait({ waitMs: 10_000 });
  assert.equal(await latch.countDown({ id: 'a' }), 1);
  assert.equal(await latch.remaining(), 1);
  assert.equal(await latch.countDown({ id: 'b' }), 0);
  await opened;
  assert.equal(await latch.reset(), true);

  if (others.length > 0) {
    const votes = new quorum.QuorumMutex(
      [redis, ...(await Promise.all(others.map(connect)))],
      'votes',
      options,
    );
    await lockVerbs(votes);
    assert.equal((await votes.inspect()).holder, null);
    await votes.acquire();
    assert.equal(await votes.forceRelease(), true);
  }
  await inMemory();
  return verbs;
}

/** One request passes, and the next one is refused, in Express and in Fastify together. */
async function requests(redis, prefix) {
  const terms = { prefix, limit: 1, periodMs: 60_000 };
  const request = { ip: '192.0.2.1', socket: {} };
  const headers = {};
  const passed = await new Promise((resolve, reject) => {
    const response = { setHeader: (name, value) => (headers[name] = value), end: reject };
    expressEntry.limitRequests(redis, 'http', terms)(request, response, (error) =>
      error ? reject(error) : resolve(true),
    );
  });
  assert.equal(passed, true);
  assert.equal(headers['ratelimit-policy'], '"http";q=1;w=60');
  const reply = { headers() {}, code: (status) => (reply.status = status), type() {}, send() {} };
  assert.equal(await fastifyEntry.limitRequests(redis, 'http', terms)(request, reply), reply);
  assert.equal(reply.status, 429);
}

/** The verbs of every lock. */
async function lockVerbs(lock) {
  const lease = await lock.acquire({ waitMs: 10_000 });
  assert.equal(await lock.tryAcquire(), null);
  assert.equal(await lock.renewFor(lease.holder, 20_000), true);
  assert.equal(await lock.releaseFor(lease.holder), true);
  assert.equal(await lock.using((signal, held) => !signal.aborted && held.isValid, { waitMs: 10_000 }), true);
  const next = await lock.tryAcquire();
  assert.notEqual(next, null);
  assert.equal(await next.release(), true);
}

async function mutex(verbs, redis, options) {
  const lock = new Mutex(redis, 'item', options);
  await lockVerbs(lock);
  const lease = verbs.watch(await lock.acquire(), 'Lease', ['lose']);
  assert.ok(lease.fencingToken > 0);
  assert.ok(lease.isValid);
  assert.ok(lease.expiresAt > performance.now());
  assert.equal(lease.signal.aborted, false);
  await lease.renew();
  assert.equal((await lock.inspect()).holder, lease.holder);

  const waiting = lock.acquire({ waitMs: 10_000 });
  assert.equal(await lease.release(), true);
  const granted = await waiting;
  assert.ok(granted.fencingToken > lease.fencingToken);
  await granted[Symbol.asyncDispose]();
  assert.equal((await lock.inspect()).holder, null);

  const lost = await lock.acquire();
  assert.equal(await lock.forceRelease(), true);
  await assert.rejects(lost.renew(), { code: 'ERR_LEASE_LOST' });
  assert.equal(lost.signal.aborted, true);
  await lock.acquire();
  await assert.rejects(lock.acquire({ waitMs: 20 }), { code: 'ERR_LOCK_TIMEOUT' });
  assert.equal(await lock.forceRelease(), true);
}

async function multiLock(verbs, redis, options) {
  const lock = new MultiLock(redis, ['{pair}:a', '{pair}:b'], options);
  await lockVerbs(lock);
  const lease = verbs.watch(await lock.acquire(), 'MultiLease');
  assert.deepEqual(new Set(lease.fencingTokens.keys()), new Set(['{pair}:a', '{pair}:b']));
  assert.ok(lease.isValid && lease.expiresAt > performance.now() && !lease.signal.aborted);
  assert.equal((await lock.inspect()).get('{pair}:a').holder, lease.holder);
  await lease.renew();
  assert.equal(await lease.release(), true);
  await lease[Symbol.asyncDispose]();
}

async function readWriteLock(verbs, redis, options) {
  const { read, write } = new ReadWriteLock(redis, 'page', options);
  verbs.watch(read, 'LockSide');
  await lockVerbs(write);
  const [one, two] = await Promise.all([read.acquire(), read.acquire()]);
  assert.equal((await read.inspect()).readers, 2);
  assert.equal(await write.tryAcquire(), null);
  await Promise.all([one.release(), two.release()]);
  const writer = verbs.watch(await write.acquire(), 'WriteLease');
  const reader = await writer.downgrade();
  assert.equal((await read.inspect()).writer, null);
  assert.equal(await reader.release(), true);
  assert.equal(await (await write.acquire()).release(), true);
  await write.acquire();
  assert.equal(await write.forceRelease(), true);
}

async function semaphore(redis, options) {
  const permits = new Semaphore(redis, 'printers', { ...options, permits: 2 });
  const both = await permits.acquire({ permits: 2 });
  assert.equal(await permits.tryAcquire(), null);
  assert.equal(await permits.available(), 0);
  const waiting = permits.acquire({ waitMs: 10_000 });
  await both.release();
  const one = await waiting;
  assert.equal((await permits.inspect()).used, 1);
  assert.equal(await permits.using((_, lease) => lease.isValid), true);
  await permits.setPermits(3);
  assert.equal(await permits.available(), 2);
  assert.equal(await permits.renewFor(one.holder), true);
  assert.equal(await permits.releaseFor(one.holder), true);
  const lost = await permits.acquire();
  assert.equal(await permits.forceRelease(lost.holder), true);
}

/** The entry for tests. */
async function inMemory() {
  const own = new MemoryRedis();
  const lock = new Mutex(own, 'a');
  const lease = await lock.acquire();
  assert.equal((await lockMatchers.toBeHeldBy(lock, lease)).pass, true);
  assert.equal((await lockMatchers.toBeFree(lock)).pass, false);
  await own.close();
}
