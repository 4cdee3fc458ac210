/** Repairs by the re-check, of every kind. Each test takes a second or two, so they run at the same time. */
import { expect, test } from '@jest/globals';
import { ReadWriteLock } from '@mortise/locks';
import type { LeaseOptions } from '@mortise/locks';
import { startSingle } from '@mortise/redis-server';
import { connect, disconnect, freshPrefix, monitor, until } from '@mortise/test-kit';
import type { ChainableCommander, Redis } from 'ioredis';
import * as scripts from '../../src/scripts.gen.js';
import type { AnyLease, Subject } from '../fixture/lock-kinds.js';
import { KINDS, tokenOf } from '../fixture/lock-kinds.js';
import { queued } from '../fixture/queued.js';

/** A re-check comes within 1.2 s, and a busy machine may add some. Without one, a lease of ten seconds would be waited for. */
const RECHECK_LIMIT_MS = 8_000;

interface Case {
  readonly kind: string;
  readonly recheck: { readonly sha1: string };
  /** The last part of its members. */
  readonly role: string;
  readonly queue: string;
  readonly channels: string;
  /** The other keys. */
  readonly parts: readonly string[];
  /** Makes a waiter the holder as a release does, but without the message. */
  readonly grant: (
    multi: ChainableCommander,
    key: (part: string) => string,
    member: string,
  ) => ChainableCommander;
}

const rw = {
  recheck: scripts.readWriteLockRecheck,
  queue: 'rw-queue',
  channels: 'rw-grant',
  parts: ['write', 'readers', 'rw-token'],
};
const LATER_US = (Date.now() + 60_000) * 1_000;
const CASES: readonly Case[] = [
  {
    kind: 'Mutex',
    recheck: scripts.mutexRecheck,
    role: '',
    queue: 'queue',
    channels: 'grant',
    parts: ['lease', 'token'],
    grant: (multi, key, member) => multi.set(key('lease'), member, 'PX', 60_000),
  },
  {
    ...rw,
    kind: 'ReadWriteLock.write',
    role: '.w',
    grant: (multi, key, member) => multi.set(key('write'), member, 'PX', 60_000),
  },
  {
    ...rw,
    kind: 'ReadWriteLock.read',
    role: '.r',
    grant: (multi, key, member) =>
      multi.del(key('write')).zadd(key('readers'), LATER_US, member).pexpire(key('readers'), 60_000),
  },
  {
    kind: 'Semaphore of one permit',
    recheck: scripts.semaphoreRecheck,
    role: '.1',
    queue: 'permits-queue',
    channels: 'permits-grant',
    parts: ['permits', 'permits-state'],
    grant: (multi, key, member) => multi.del(key('permits')).zadd(key('permits'), LATER_US, member),
  },
];

interface Scene {
  readonly redis: Redis;
  readonly other: Redis;
  readonly lock: Subject;
  /** The same lock in another process, on the side of the waiters. */
  readonly waiting: { acquire(): Promise<AnyLease> };
  readonly key: (part: string) => string;
  readonly options: LeaseOptions;
}

function scene({ kind }: Case, { url, ...given }: LeaseOptions & { url?: string } = {}): Scene {
  const isRead = kind.endsWith('.read');
  const { make } = KINDS.find((one) => one.kind === kind || (isRead && one.kind.endsWith('.write')))!;
  const options = { prefix: freshPrefix(), ...given };
  const [redis, other] = [connect(url), connect(url)];
  const lock = make(redis, 'lock', options);
  const waiting = isRead ? new ReadWriteLock(other, 'lock', options).read : make(other, 'lock', options);
  return { redis, other, lock, waiting, options, key: (part) => `${options.prefix}:locks:{lock}:${part}` };
}

function dead(count: number, role: string): (number | string)[] {
  return Array.from({ length: count }, (_, index) => [index, `dead.${index}.1000${role}`]).flat();
}

test.concurrent.each(CASES)('a grant of $kind reaches its waiter without the message', async (one) => {
  const { redis, lock, waiting, key } = scene(one);
  const holder = await lock.acquire();
  const wait = waiting.acquire();
  await queued(lock, 1);
  const [member] = await redis.zrange(key(one.queue), '0', '0');
  const multi = redis.multi().zrem(key(one.queue), member!);
  const token = one.parts.find((part) => part.endsWith('token'));
  if (token) multi.set(key(token), tokenOf(holder) + 1, 'PX', 60_000);
  await one.grant(multi, key, member!).exec();
  const startedAt = performance.now();
  const lease = await wait;
  expect(performance.now() - startedAt).toBeLessThan(RECHECK_LIMIT_MS);
  expect(lease).toMatchObject({ holder: member, isValid: true });
  expect(tokenOf(lease)).toBeGreaterThan(tokenOf(holder));
  expect(await lease.release()).toBe(true);
});

test.concurrent.each(CASES)(
  'a waiter for $kind that does not confirm its grant costs a second',
  async (one) => {
    const { redis, lock, waiting, key } = scene(one);
    const holder = await lock.acquire();
    const wait = waiting.acquire();
    await queued(lock, 1);
    // A client that is subscribed, is the first in the queue, and does nothing.
    await connect().subscribe(key(`${one.channels}:idle`));
    const member = `idle.1.1000${one.role}`;
    await redis.zadd(key(one.queue), 1, member);
    await holder.release();
    const { holder: next } = await lock.inspect();
    const readers = one.role === '.r' ? await redis.zrange(key('readers'), '0', '-1') : [];
    expect([next, ...readers]).toContain(member);
    const startedAt = performance.now();
    const lease = await wait;
    expect(performance.now() - startedAt).toBeLessThan(1_000 + RECHECK_LIMIT_MS);
    expect(await lease.release()).toBe(true);
  },
);

test.concurrent.each(CASES)('a release of $kind drops dead waiters without losing time', async (one) => {
  const { redis, lock, waiting, key } = scene(one);
  const holder = await lock.acquire();
  const wait = waiting.acquire();
  await queued(lock, 1);
  await redis.zadd(key(one.queue), ...dead(99, one.role));
  await holder.release();
  const { queueLength } = await lock.inspect();
  const lease = await wait;
  // The release itself has granted the lock to the living waiter.
  expect(queueLength).toBe(0);
  expect(await lease.release()).toBe(true);
});

/** A semaphore calls again until none is left. */
const OTHERS = CASES.filter(({ role }) => role !== '.1');

test.concurrent.each(OTHERS)('one call drops no more than a hundred dead waiters for $kind', async (one) => {
  const { redis, lock, key } = scene(one);
  const holder = await lock.acquire();
  await redis.zadd(key(one.queue), ...dead(150, one.role));
  await holder.release();
  expect(await lock.inspect()).toMatchObject({ holder: null, queueLength: 50 });
  const lease = await lock.acquire({ waitMs: 15_000 });
  expect(await lock.inspect()).toMatchObject({ holder: lease.holder, queueLength: 0 });
  expect(await lease.release()).toBe(true);
});

test.concurrent.each(CASES)(
  'a holder of $kind that died before the keys were lost costs its lease, once',
  async (one) => {
    const { redis, lock, waiting, key, options } = scene(one, { leaseMs: 1_500 });
    const dying = scene(one, { ...options, renew: false });
    const died = await dying.lock.acquire();
    const waits = [waiting.acquire(), waiting.acquire()];
    await queued(lock, 2);
    await redis.del(...[one.queue, ...one.parts].map(key));
    for (const wait of waits) expect(await (await wait).release()).toBe(true);
    expect(performance.now()).toBeGreaterThanOrEqual(died.expiresAt);
  },
);

test.concurrent.each(CASES)('CLIENT KILL TYPE pubsub during waits for $kind loses no waiter', async (one) => {
  const server = await startSingle({ isCluster: true });
  const { redis, other, lock, waiting, key } = scene(one, { url: server.url });
  try {
    const holder = await lock.acquire();
    const waits = Array.from({ length: 20 }, () => waiting.acquire());
    await queued(lock, 20);
    const channels = (): Promise<unknown[]> => redis.pubsub('CHANNELS', `${key('')}*`);
    await until('the subscription', async () => (await channels()).length === 1);
    expect(Number(await redis.call('client', 'kill', 'type', 'pubsub'))).toBeGreaterThanOrEqual(1);
    await holder.release();
    const released = await Promise.all(waits.map(async (wait) => (await wait).release()));
    expect(released).toEqual(waits.map(() => true));
    expect(await lock.inspect()).toMatchObject({ holder: null, queueLength: 0 });
  } finally {
    for (const client of [redis, other]) disconnect(client);
    await server.stop();
  }
});

test.concurrent.each(
  CASES.flatMap((one) => [
    { ...one, leaseMs: 10_000, perSecond: 1 },
    // A lease that seems to be near its end, again and again.
    { ...one, leaseMs: 1_000, perSecond: 2 },
  ]),
)(
  'waiters for $kind send up to $perSecond re-checks a second: leases of $leaseMs ms',
  async ({ leaseMs, perSecond, ...one }) => {
    const { redis, lock, waiting, key } = scene(one, { leaseMs });
    const holder = await lock.acquire();
    const sentAt: number[] = [];
    const close = await monitor(redis, ({ args, at }) => {
      if (args[0] === one.recheck.sha1 && args.includes(key(one.queue))) sentAt.push(at);
    });
    const waits = Array.from({ length: 50 }, () => waiting.acquire());
    // One follows the subscription.
    await until('six re-checks', () => sentAt.length >= 6, 30_000);
    close();
    const [, second = 0] = sentAt;
    expect(sentAt[5]! - second).toBeGreaterThan((4 * 850) / perSecond);
    await holder.release();
    for (const wait of waits) await (await wait).release();
  },
);
