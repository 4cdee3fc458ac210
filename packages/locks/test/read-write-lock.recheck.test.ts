/** What only the re-check repairs. Each test takes a second or two, so they run at the same time. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ReadWriteLock } from '@mortise/locks';
import type { Lease } from '@mortise/locks';
import { startSingle } from '@mortise/redis-server';
import type { RedisServer } from '@mortise/redis-server';
import { connect, disconnect, freshPrefix, monitor, until } from '@mortise/test-kit';
import { queued } from './queued.js';
import { roundTrips } from './round-trips.js';
import { readWriteLockRecheck } from '../src/scripts.gen.js';

/** A re-check comes within 1.2 s, and a busy machine may add some. Without one, a lease of ten seconds would be waited for. */
const RECHECK_LIMIT_MS = 8_000;

let server: RedisServer;

beforeAll(async () => {
  server = await startSingle({ isCluster: true });
});

afterAll(async () => {
  await server?.stop();
});

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

test.concurrent.each(['read', 'write'] as const)(
  'a grant to %s whose message was lost reaches its waiter, with a token',
  async (side) => {
    const { prefix, write, readers, queue, token } = fresh();
    const [redis, other] = [connect(), connect()];
    const lock = new ReadWriteLock(redis, 'lock', { prefix });
    const holder = await lock.write.acquire();
    const wait = new ReadWriteLock(other, 'lock', { prefix })[side].acquire();
    await queued(lock.read, 1);
    await roundTrips(other);
    // What a release does, but for the message.
    const [member] = (await redis.zrange(queue, '0', '0')) as [string];
    const endsUs = (Number((await redis.time())[0]) + 60) * 1_000_000;
    const handOn = redis
      .multi()
      .del(queue, write)
      .set(token, holder.fencingToken + 1, 'PX', 60_000);
    if (side === 'write') handOn.set(write, member, 'PX', 60_000);
    else handOn.zadd(readers, endsUs, member).pexpire(readers, 60_000);
    await handOn.exec();
    const startedAt = performance.now();
    const lease = await wait;
    expect(performance.now() - startedAt).toBeLessThan(RECHECK_LIMIT_MS);
    expect(lease.holder).toBe(member);
    expect(lease.fencingToken).toBeGreaterThan(holder.fencingToken);
    expect(lease.isValid).toBe(true);
    expect(await lease.release()).toBe(true);
  },
);

test.concurrent.each(['r', 'w'] as const)(
  'a waiter (%s) that does not take its grant costs one claim',
  async (role) => {
    const { prefix, queue } = fresh();
    const [redis, other, deaf] = [connect(), connect(), connect()];
    const lock = new ReadWriteLock(redis, 'lock', { prefix });
    const holder = await lock.write.acquire();
    const wait = new ReadWriteLock(other, 'lock', { prefix }).write.acquire();
    await queued(lock.read, 1);
    // One that is subscribed, is the first in the queue, and does nothing.
    await deaf.subscribe(`${prefix}:locks:{lock}:rw-grant:deaf`);
    await redis.zadd(queue, 1, `deaf.1.1000.${role}`);
    await holder.release();
    const { writer, firstReaders } = await lock.read.inspect();
    expect([writer, ...firstReaders]).toContain(`deaf.1.1000.${role}`);
    const startedAt = performance.now();
    const lease = await wait;
    expect(performance.now() - startedAt).toBeLessThan(1_000 + RECHECK_LIMIT_MS);
    expect(lease.fencingToken).toBeGreaterThan(holder.fencingToken);
    expect(await lease.release()).toBe(true);
  },
);

test.concurrent.each(['r', 'w'] as const)(
  'a release drops dead waiters (%s) without losing time',
  async (role) => {
    const { prefix, queue } = fresh();
    const [redis, other] = [connect(), connect()];
    const lock = new ReadWriteLock(redis, 'lock', { prefix });
    const holder = await lock.write.acquire();
    const waits = [1, 2].map(() => new ReadWriteLock(other, 'lock', { prefix }).read.acquire());
    await queued(lock.read, 2);
    await redis.zadd(queue, ...dead(99, role));
    await holder.release();
    const state = await lock.read.inspect();
    const leases = await Promise.all(waits);
    // The release itself has come to those that live.
    expect(state).toMatchObject({ readers: 2, queueLength: 0 });
    for (const lease of leases) expect(await lease.release()).toBe(true);
  },
);

test.concurrent('one call drops no more than a hundred dead waiters', async () => {
  const { prefix, queue } = fresh();
  const redis = connect();
  const lock = new ReadWriteLock(redis, 'lock', { prefix });
  const holder = await lock.write.acquire();
  await redis.zadd(queue, ...dead(150, 'r'));
  await holder.release();
  expect(await lock.read.inspect()).toMatchObject({ writer: null, readers: 0, queueLength: 50 });
  const lease = await lock.write.acquire({ waitMs: 15_000 });
  expect(await lock.read.inspect()).toMatchObject({ writer: lease.holder, queueLength: 0 });
  expect(await lease.release()).toBe(true);
});

test.concurrent('a writer that died while it waited does not keep readers out for as long as others read', async () => {
  const { prefix, queue } = fresh();
  const [redis, other] = [connect(), connect()];
  const lock = new ReadWriteLock(redis, 'lock', { prefix });
  await using holder = await lock.read.acquire();
  await redis.zadd(queue, ...dead(3, 'w'));
  const reader = await new ReadWriteLock(other, 'lock', { prefix }).read.acquire({ waitMs: 15_000 });
  expect([holder.isValid, reader.isValid]).toEqual([true, true]);
  expect(await reader.release()).toBe(true);
});

test.concurrent('a writer that is alive and waits keeps its place when it is asked whether it is there', async () => {
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

test.concurrent('FLUSHALL and SCRIPT FLUSH amid waiters of a writer: all get their turn, in their order', async () => {
  const flushed = await startSingle({ isCluster: true });
  const [redis, other] = [connect(flushed.url), connect(flushed.url)];
  try {
    const prefix = freshPrefix();
    // The holder's next renewal is far away.
    const [lock, second] = [redis, other].map(
      (client) => new ReadWriteLock(client, 'lock', { prefix, leaseMs: 60_000 }),
    ) as [ReadWriteLock, ReadWriteLock];
    const holder = await lock.write.acquire();
    const phases: string[] = [];
    const tokens = new Set([holder.fencingToken]);
    const sections: Promise<unknown>[] = [];
    // More of one process than one re-check looks at.
    for (let index = 0; index < 130; index += 1) {
      const side = index % 5 === 0 ? 'write' : 'read';
      sections.push(
        second[side].using((_, { fencingToken }) => {
          phases.push(side === 'write' ? `${index}` : `behind ${index - (index % 5)}`);
          tokens.add(fencingToken);
        }),
      );
    }
    await queued(lock.read, 130);
    await redis.flushall();
    await redis.script('FLUSH');
    await queued(lock.read, 130);
    // Redis has forgotten who holds the lock, but not the waiters that somebody does.
    expect(await lock.read.inspect()).toMatchObject({ writer: null, readers: 0, fencingToken: null });
    expect([holder.isValid, phases]).toEqual([true, []]);
    expect(await lock.read.tryAcquire()).toBeNull();
    expect(await holder.release()).toBe(true);
    await Promise.all(sections);
    expect(phases).toEqual(
      Array.from({ length: 130 }, (_, index) =>
        index % 5 === 0 ? `${index}` : `behind ${index - (index % 5)}`,
      ),
    );
    expect(tokens.size).toBe(131);
    expect(Math.min(...tokens)).toBe(holder.fencingToken);
  } finally {
    for (const client of [redis, other]) disconnect(client);
    await flushed.stop();
  }
});

test.concurrent('readers whose keys are lost have them back with their next renewals, all of them', async () => {
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

test.concurrent('a reader that leaves after the keys were lost does not let a writer in beside the others', async () => {
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

test.concurrent('a writer that was lost may be downgraded, and is a reader then', async () => {
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

test.concurrent('a holder that died before the keys were lost costs its lease, once', async () => {
  const { prefix, write, readers, queue, token } = fresh();
  const [redis, other] = [connect(), connect()];
  const options = { prefix, leaseMs: 1_500 };
  await new ReadWriteLock(redis, 'lock', { ...options, renew: false }).read.acquire();
  const lock = new ReadWriteLock(other, 'lock', options);
  const waits: Promise<Lease>[] = [lock.write.acquire(), lock.read.acquire()];
  await queued(lock.read, 2);
  await redis.del(write, readers, queue, token);
  for (const wait of waits) expect(await (await wait).release()).toBe(true);
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
    // Nobody holds it any more, but somebody did.
    await expect(lost[1]!.renew()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'taken' });
    expect(await Promise.all(lost.map((lease) => lease.release()))).toEqual([false, false]);
    expect(await lock.read.inspect()).toMatchObject({ writer: null, readers: 0 });
  },
);

test.concurrent('CLIENT KILL TYPE pubsub amid waiters: all get their turn', async () => {
  const killed = await startSingle({ isCluster: true });
  const [redis, other, third] = [connect(killed.url), connect(killed.url), connect(killed.url)];
  try {
    const prefix = freshPrefix();
    const lock = new ReadWriteLock(redis, 'lock', { prefix });
    const holder = await lock.write.acquire();
    const waits = [other, third, other, third].map((client, index) =>
      new ReadWriteLock(client, 'lock', { prefix })[index === 2 ? 'write' : 'read'].acquire(),
    );
    await queued(lock.read, 4);
    await until(
      'the subscriptions',
      async () => ((await redis.pubsub('CHANNELS', `${prefix}:*`)) as string[]).length === 2,
    );
    expect(Number(await redis.call('client', 'kill', 'type', 'pubsub'))).toBeGreaterThanOrEqual(2);
    await holder.release();
    const releases = waits.map(async (wait) => (await wait).release());
    expect(await Promise.all(releases)).toEqual([true, true, true, true]);
  } finally {
    for (const client of [redis, other, third]) disconnect(client);
    await killed.stop();
  }
});

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
  // One that dies ends in time all the same.
  await new ReadWriteLock(redis, 'lock', { prefix, leaseMs: 200, renew: false }).read.acquire();
  const writer = await second.write.acquire({ waitMs: 15_000 });
  expect(writer.isValid).toBe(true);
  await writer.release();
});

test.concurrent('waiters alone send one re-check a second for each process and lock, for both sides together', async () => {
  const { prefix } = fresh();
  const [redis, other] = [connect(), connect()];
  const lock = new ReadWriteLock(redis, 'lock', { prefix });
  const holder = await lock.read.acquire();
  const sentAt: number[] = [];
  const close = await monitor(redis, ({ args, at }) => {
    if (args[0] === readWriteLockRecheck.sha1 && args[2]?.startsWith(prefix)) sentAt.push(at);
  });
  const second = new ReadWriteLock(other, 'lock', { prefix });
  const waits = Array.from({ length: 20 }, (_, index) =>
    second[index % 2 === 0 ? 'write' : 'read'].acquire(),
  );
  // One follows the subscription.
  await until('four re-checks', () => sentAt.length >= 4);
  close();
  expect(sentAt[3]! - sentAt[1]!).toBeGreaterThan(1_700);
  await holder.release();
  for (const wait of waits) await (await wait).release();
});
