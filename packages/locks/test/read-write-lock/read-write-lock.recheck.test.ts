/** Repairs of a ReadWriteLock, beside those of every kind in recheck.test.ts. They run at the same time. */
import { expect, test } from '@jest/globals';
import { ReadWriteLock } from '@mortise/locks';
import { connect, freshPrefix, monitor, until } from '@mortise/test-kit';
import { queued } from '../fixture/queued.js';

interface Scene {
  readonly prefix: string;
  readonly write: string;
  readonly readers: string;
  readonly queue: string;
  readonly token: string;
}

function fresh(): Scene {
  const prefix = freshPrefix();
  const key = (part: string): string => `${prefix}:locks:{lock}:${part}`;
  return {
    prefix,
    write: key('write'),
    readers: key('readers'),
    queue: key('rw-queue'),
    token: key('rw-token'),
  };
}

function dead(count: number, role: 'r' | 'w'): (number | string)[] {
  return Array.from({ length: count }, (_, index) => [index, `dead.${index}.1000.${role}`]).flat();
}

test.concurrent('a dead waiting writer does not block readers for as long as others read', async () => {
  const { prefix, queue } = fresh();
  const [redis, other] = [connect(), connect()];
  const lock = new ReadWriteLock(redis, 'lock', { prefix });
  await using holder = await lock.read.acquire();
  await redis.zadd(queue, ...dead(3, 'w'));
  const reader = await new ReadWriteLock(other, 'lock', { prefix }).read.acquire({ waitMs: 15_000 });
  expect([holder.isValid, reader.isValid]).toEqual([true, true]);
  expect(await reader.release()).toBe(true);
});

test.concurrent('a living waiting writer keeps its place after the check of its subscription', async () => {
  const { prefix } = fresh();
  const [redis, other, third] = [connect(), connect(), connect()];
  const lock = new ReadWriteLock(redis, 'lock', { prefix });
  const holder = await lock.read.acquire();
  const writer = new ReadWriteLock(other, 'lock', { prefix }).write.acquire();
  await queued(lock.read, 1);
  const reader = new ReadWriteLock(third, 'lock', { prefix }).read.acquire();
  await queued(lock.read, 2);
  let rechecks = 0;
  const close = await monitor(redis, ({ command, args }) => {
    if (command === 'pubsub' && args[1]?.startsWith(prefix)) rechecks += 1;
  });
  await until('three re-checks', () => rechecks >= 3);
  close();
  expect(await lock.read.inspect()).toMatchObject({ readers: 1, queueLength: 2 });
  await holder.release();
  const second = await writer;
  expect((await lock.read.inspect()).queueLength).toBe(1);
  await second.release();
  expect(await (await reader).release()).toBe(true);
});

test.concurrent('all readers restore lost keys with their next renewals', async () => {
  const { prefix, write, readers: key, queue, token } = fresh();
  const [redis, other, third] = [connect(), connect(), connect()];
  const options = { prefix, leaseMs: 6_000 };
  const lock = new ReadWriteLock(redis, 'lock', options);
  const leases = [
    await lock.read.acquire(),
    await new ReadWriteLock(third, 'lock', options).read.acquire(),
    await new ReadWriteLock(third, 'lock', options).read.acquire(),
  ];
  const wait = new ReadWriteLock(other, 'lock', options).write.acquire();
  await queued(lock.read, 1);
  await redis.del(write, key, queue, token);
  const names = leases.map(({ holder }) => holder).toSorted();
  await until('all readers to be back', async () => {
    const { firstReaders } = await lock.read.inspect();
    return JSON.stringify(firstReaders.toSorted()) === JSON.stringify(names);
  });
  await until('the writer to be back', async () => (await lock.read.inspect()).queueLength === 1);
  expect(leases.map(({ isValid }) => isValid)).toEqual([true, true, true]);
  expect((await lock.read.inspect()).fencingToken).toBe(leases.at(-1)!.fencingToken);
  for (const lease of leases) expect(await lease.release()).toBe(true);
  const writer = await wait;
  expect(writer.fencingToken).toBeGreaterThan(leases.at(-1)!.fencingToken);
  expect(await writer.release()).toBe(true);
});

test.concurrent('a reader that leaves after the loss of the keys lets no writer in beside the others', async () => {
  const { prefix, write, readers: key, queue, token } = fresh();
  const [redis, other] = [connect(), connect()];
  const options = { prefix, leaseMs: 4_000, renew: false };
  const lock = new ReadWriteLock(redis, 'lock', options);
  const [first, second] = [await lock.read.acquire(), await lock.read.acquire()];
  const wait = new ReadWriteLock(other, 'lock', options).write.acquire();
  await queued(lock.read, 1);
  await redis.del(write, key, queue, token);
  expect(await first.release()).toBe(true);
  expect(await new ReadWriteLock(other, 'lock', options).write.tryAcquire()).toBeNull();
  const beside = await new ReadWriteLock(other, 'lock', options).read.tryAcquire();
  await beside?.release();
  const { expiresAt } = second;
  const writer = await wait;
  expect(performance.now()).toBeGreaterThan(expiresAt);
  expect(second.isValid).toBe(false);
  expect(writer.fencingToken).toBeGreaterThan(second.fencingToken);
  await writer.release();
});

test.concurrent('a writer with lost keys can be downgraded to a reader', async () => {
  const { prefix, write, readers, queue, token } = fresh();
  const redis = connect();
  const lock = new ReadWriteLock(redis, 'lock', { prefix });
  const writer = await lock.write.acquire();
  await redis.del(write, readers, queue, token);
  const reader = await writer.downgrade();
  expect(reader.fencingToken).toBeGreaterThan(writer.fencingToken);
  expect(await lock.read.inspect()).toMatchObject({ writer: null, firstReaders: [reader.holder] });
  expect(await reader.release()).toBe(true);
});

test.concurrent.each(['read', 'write'] as const)(
  'a holder (%s) that was overtaken after the keys were lost does not come back',
  async (side) => {
    const { prefix, write, readers, token } = fresh();
    const [redis, other] = [connect(), connect()];
    const options = { prefix, renew: false };
    const lock = new ReadWriteLock(redis, 'lock', options);
    const lost = [await lock[side].acquire()];
    await redis.del(write, readers, token);
    lost.push(await lock[side].acquire());
    await redis.del(write, readers, token);
    const holder = await new ReadWriteLock(other, 'lock', options).write.acquire();
    await expect(lost[0]!.renew()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'taken' });
    expect((await lock.read.inspect()).writer).toBe(holder.holder);
    expect(await holder.release()).toBe(true);
    // The lock is free, but later grants were made.
    await expect(lost[1]!.renew()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'taken' });
    expect(await Promise.all(lost.map((lease) => lease.release()))).toEqual([false, false]);
    expect(await lock.read.inspect()).toMatchObject({ writer: null, readers: 0 });
  },
);

test.concurrent('a clock that was set back does not stop the lock, and tokens go on rising', async () => {
  const { prefix, token } = fresh();
  const [redis, other] = [connect(), connect()];
  const [lock, second] = [redis, other].map(
    (client) => new ReadWriteLock(client, 'lock', { prefix, leaseMs: 4_000 }),
  ) as [ReadWriteLock, ReadWriteLock];
  // As if the last grant had been given an hour later than now.
  const ahead = (Date.now() + 3_600_000) * 1_000;
  await redis.set(token, ahead, 'PX', 60_000);
  const tokens: number[] = [ahead];
  const readers = [await lock.read.acquire(), await second.read.acquire()];
  const { expiresAt } = readers[0]!;
  await until('a renewal', () => readers[0]!.expiresAt > expiresAt);
  expect(await second.write.tryAcquire()).toBeNull();
  const wait = second.write.acquire();
  await queued(lock.read, 1);
  for (const reader of readers) {
    tokens.push(reader.fencingToken);
    expect(await reader.release()).toBe(true);
  }
  tokens.push((await wait).fencingToken);
  await (await wait).release();
  expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
  // The lease of a dead reader still ends in time.
  await new ReadWriteLock(redis, 'lock', { prefix, leaseMs: 200, renew: false }).read.acquire();
  const writer = await second.write.acquire({ waitMs: 15_000 });
  expect(writer.isValid).toBe(true);
  await writer.release();
});
