/** Repairs by the re-check. Each takes a second or two, so they run at the same time, but for those that need a server alone. */
import { expect, test } from '@jest/globals';
import { Mutex } from '@mortise/locks';
import type { LeaseOptions } from '@mortise/locks';
import { connect, freshPrefix, monitor, runServer, until } from '@mortise/test-kit';
import type { ChainableCommander, Redis } from 'ioredis';
import * as scripts from '../../src/scripts.gen.js';
import type { Subject } from '../fixture/lock-kinds.js';
import { tokenOf, WAITERS } from '../fixture/lock-kinds.js';
import { queued } from '../fixture/queued.js';

const alone = await runServer({ isCluster: true });

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
  /** Held alone. */
  readonly lock: Subject;
  /** The same lock in another process, on the side of the waiters. */
  readonly waiting: Subject;
  readonly key: (part: string) => string;
  readonly options: LeaseOptions;
}

function scene(
  { kind }: Pick<Case, 'kind'>,
  { clients = [connect(), connect()], ...given }: LeaseOptions & { clients?: [Redis, Redis] } = {},
): Scene {
  const waiters = WAITERS.find((one) => one.kind === kind)!;
  const options = { prefix: freshPrefix(), ...given };
  return {
    redis: clients[0],
    lock: waiters.alone(clients[0], 'lock', options),
    waiting: waiters.make(clients[1], 'lock', options),
    key: (part) => `${options.prefix}:locks:{lock}:${part}`,
    options,
  };
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

test.concurrent.each(CASES)('tryAcquire of $kind takes a lock whose waiters are all dead', async (one) => {
  const { redis, waiting, key } = scene(one);
  await redis.zadd(key(one.queue), ...dead(3, one.role), 8, 'no waiter', 9, 'dead.9.');
  const lease = await waiting.tryAcquire();
  expect(lease?.isValid).toBe(true);
  expect(await redis.exists(key(one.queue))).toBe(0);
  expect(await lease?.release()).toBe(true);
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
    await until('six re-checks', () => sentAt.length >= 6);
    close();
    const [, second = 0] = sentAt;
    expect(sentAt[5]! - second).toBeGreaterThan((4 * 850) / perSecond);
    await holder.release();
    for (const wait of waits) await (await wait).release();
  },
);

const [MUTEX] = CASES as [Case];

test.concurrent('grants to ended acquisitions pass to the next waiter at once', async () => {
  const { redis, lock, waiting, key } = scene(MUTEX);
  const holder = await lock.acquire();
  const wait = waiting.acquire();
  await queued(lock, 1);
  // A failover that lost the last commands leaves such waiters, of a living process that has forgotten them.
  const [member] = await redis.zrange(key('queue'), '0', '0');
  const clientId = member!.split('.')[0]!;
  const ghosts = Array.from({ length: 30 }, (_, index) => [index, `${clientId}.zz${index}.1000`]).flat();
  await redis.zadd(key('queue'), ...ghosts);
  const startedAt = performance.now();
  await holder.release();
  const lease = await wait;
  // A second each would be half a minute.
  expect(performance.now() - startedAt).toBeLessThan(20_000);
  expect(await lock.inspect()).toMatchObject({ holder: lease.holder, queueLength: 0 });
  await lease.release();
});

test.concurrent('a late message of a grant that was made again counts with the last token', async () => {
  const { redis, lock, waiting, key } = scene(MUTEX);
  const holder = await lock.acquire();
  const wait = waiting.acquire();
  await queued(lock, 1);
  const [member] = await redis.zrange(key('queue'), '0', '0');
  const [clientId, acquisition] = member!.split('.') as [string, string];
  const [seconds, us] = await redis.time();
  const nowUs = Number(seconds) * 1_000_000 + Number(us);
  // The grant is three seconds old; others had the lock, and now it is granted again.
  await redis.zrem(key('queue'), member!);
  await redis.set(key('token'), nowUs, 'PX', 60_000);
  await redis.set(key('lease'), member!, 'PX', 5_000);
  const late = `${acquisition}:${tokenOf(holder) + 1}:${nowUs - 3_000_000}:1000`;
  expect(await redis.publish(key(`grant:${clientId}`), late)).toBe(1);
  const lease = await wait;
  expect(tokenOf(lease)).toBeGreaterThan(nowUs);
  expect(await lease.release()).toBe(true);
});

test.concurrent('a copy of a grant, as in a failover, takes the lock from no holder', async () => {
  const clients: [Redis, Redis] = [connect(), connect()];
  const { redis, lock, waiting, key } = scene(MUTEX, { clients });
  const holder = await lock.acquire();
  const wait = waiting.acquire();
  await queued(lock, 1);
  const [clientId, acquisition, confirmMs] = (await redis.zrange(key('queue'), '0', '0'))[0]!.split('.');
  await holder.release();
  const lease = await wait;
  const token = tokenOf(lease);
  const copy = `${acquisition}:${token}:${token}:${confirmMs}`;
  expect(await redis.publish(key(`grant:${clientId}`), copy)).toBe(1);
  // A release, if the copy caused one, was sent before this.
  await clients[1].ping();
  await waiting.inspect();
  expect((await lock.inspect()).holder).toBe(lease.holder);
  expect(await lease.release()).toBe(true);
  // A grant to an acquisition that has ended is given back.
  await redis.set(key('lease'), lease.holder, 'PX', 60_000);
  expect(await redis.publish(key(`grant:${clientId}`), copy)).toBe(1);
  await until('the lock to be given back', async () => (await lock.inspect()).holder === null);
});

test.concurrent('a holder restores lost keys with its next renewal, and its lease goes on', async () => {
  const { redis, lock, waiting, key } = scene(MUTEX, { leaseMs: 6_000 });
  const holder = await lock.acquire();
  const wait = waiting.acquire();
  await queued(lock, 1);
  await redis.del(key('lease'), key('token'), key('queue'));
  await until('the holder to be back', async () => (await lock.inspect()).holder === holder.holder);
  await until('the waiter to be back', async () => (await lock.inspect()).queueLength === 1);
  expect(await lock.inspect()).toMatchObject({ fencingToken: tokenOf(holder) });
  expect(holder.isValid).toBe(true);
  expect(await holder.release()).toBe(true);
  const next = await wait;
  expect(tokenOf(next)).toBeGreaterThan(tokenOf(holder));
  await next.release();
});

test.concurrent('without fencing a lost holder looks like none: the first waiter gets the lock', async () => {
  const options = { prefix: freshPrefix(), fencing: false };
  const [redis, other] = [connect(), connect()];
  const holder = await new Mutex(redis, 'lock', options).acquire();
  const mutex = new Mutex(other, 'lock', options);
  const wait = mutex.acquire();
  await queued(mutex, 1);
  await redis.del(['lease', 'queue'].map((part) => `${options.prefix}:locks:{lock}:${part}`));
  const lease = await wait;
  expect([holder.fencingToken, lease.fencingToken]).toEqual([0, 0]);
  expect(await holder.release()).toBe(false);
  expect(await lease.release()).toBe(true);
});

test('CLIENT KILL TYPE pubsub during waits loses no waiter, of any kind', async () => {
  const { redis } = alone;
  const clients: [Redis, Redis] = [redis, alone.connect()];
  const all = CASES.map((one) => scene(one, { clients }));
  const holders = await Promise.all(all.map(({ lock }) => lock.acquire()));
  const waits = all.map(({ waiting }) => Array.from({ length: 20 }, () => waiting.acquire()));
  for (const { lock, key } of all) {
    await queued(lock, 20);
    await until('the subscription', async () => {
      const channels = (await redis.pubsub('CHANNELS', `${key('')}*`)) as string[];
      return channels.length === 1;
    });
  }
  expect(Number(await redis.client('KILL', 'TYPE', 'PUBSUB'))).toBeGreaterThanOrEqual(1);
  await Promise.all(holders.map((holder) => holder.release()));
  const released = await Promise.all(waits.flat().map(async (wait) => (await wait).release()));
  expect(released).toEqual(waits.flat().map(() => true));
  for (const { lock } of all) expect(await lock.inspect()).toMatchObject({ holder: null, queueLength: 0 });
});

test.each([
  { name: 'Mutex', kind: 'Mutex', isWriter: () => true, forgotten: {} },
  {
    name: 'ReadWriteLock',
    kind: 'ReadWriteLock.read',
    isWriter: (index: number) => index % 5 === 0,
    forgotten: { readers: 0 },
  },
])(
  'FLUSHALL and SCRIPT FLUSH during waits for a $name: all waiters get it in their order, after the holder',
  async ({ kind, isWriter, forgotten }) => {
    const { redis } = alone;
    const clients: [Redis, Redis] = [redis, alone.connect()];
    // The holder's next renewal is far away.
    const { lock, waiting, options } = scene({ kind }, { clients, leaseMs: 60_000 });
    const writing = scene({ kind }, { ...options, clients: [clients[1], redis] }).lock;
    const holder = await lock.acquire();
    const tokens = new Set([tokenOf(holder)]);
    const tokensOfWriters = [tokenOf(holder)];
    // More of one process than one re-check looks at. Readers between two writers come in any order.
    const labels = Array.from({ length: 130 }, (_, index) =>
      isWriter(index) ? `${index}` : `after ${index - (index % 5)}`,
    );
    const order: string[] = [];
    const sections = labels.map((label, index) =>
      (isWriter(index) ? writing : waiting).using((_, lease) => {
        order.push(label);
        tokens.add(tokenOf(lease));
        if (isWriter(index)) tokensOfWriters.push(tokenOf(lease));
      }),
    );
    await queued(lock, 130);
    await redis.flushall();
    await redis.script('FLUSH');
    await queued(lock, 130);
    // Redis has forgotten the holder, but the waiters know that there is one.
    expect(await lock.inspect()).toMatchObject({ holder: null, fencingToken: null, ...forgotten });
    expect([holder.isValid, order]).toEqual([true, []]);
    expect(await waiting.tryAcquire()).toBeNull();
    expect(await holder.release()).toBe(true);
    await Promise.all(sections);
    expect(order).toEqual(labels);
    expect([tokens.size, Math.min(...tokens)]).toEqual([131, tokenOf(holder)]);
    expect(tokensOfWriters).toEqual(tokensOfWriters.toSorted((a, b) => a - b));
  },
);
