/** What only the re-check repairs. Each test takes a second or two, so they run at the same time. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Mutex } from '@mortise/locks';
import { startSingle } from '@mortise/redis-server';
import type { RedisServer } from '@mortise/redis-server';
import { connect, disconnect, freshPrefix, monitor, until } from '@mortise/test-kit';
import { fastestOf } from './fastest-of.js';
import { queued } from './queued.js';
import { mutexRecheck } from '../src/scripts.gen.js';

/** A re-check comes within 1.2 s, and a busy machine may add some. Without one, a lease of ten seconds would be waited for. */
const RECHECK_LIMIT_MS = 8_000;

let server: RedisServer;

beforeAll(async () => {
  server = await startSingle({ isCluster: true });
});

afterAll(async () => {
  await server?.stop();
});

function fresh(): { prefix: string; lease: string; queue: string; token: string } {
  const prefix = freshPrefix();
  const key = (part: string): string => `${prefix}:locks:{lock}:${part}`;
  return { prefix, lease: key('lease'), queue: key('queue'), token: key('token') };
}

test.concurrent('a grant whose message was lost reaches its waiter, with its token', async () => {
  const keys = fresh();
  const [redis, other] = [connect(), connect()];
  const mutex = new Mutex(redis, 'lock', { prefix: keys.prefix });
  const holder = await mutex.acquire();
  const wait = new Mutex(other, 'lock', { prefix: keys.prefix }).acquire();
  await queued(mutex, 1);
  // What a release does, but for the message.
  const [member] = await redis.zpopmin(keys.queue);
  await redis.set(keys.token, holder.fencingToken + 1, 'PX', 60_000);
  await redis.set(keys.lease, member!, 'PX', 60_000);
  const startedAt = performance.now();
  const lease = await wait;
  expect(performance.now() - startedAt).toBeLessThan(RECHECK_LIMIT_MS);
  expect(lease.holder).toBe(member);
  expect(lease.fencingToken).toBe(holder.fencingToken + 1);
  expect(lease.isValid).toBe(true);
  expect(await lease.release()).toBe(true);
});

test.concurrent('a waiter that does not take its grant costs one claim', async () => {
  const keys = fresh();
  const [redis, other, deaf] = [connect(), connect(), connect()];
  const mutex = new Mutex(redis, 'lock', { prefix: keys.prefix });
  const holder = await mutex.acquire();
  const wait = new Mutex(other, 'lock', { prefix: keys.prefix }).acquire();
  await queued(mutex, 1);
  // One that is subscribed, is the first in the queue, and does nothing.
  await deaf.subscribe(`${keys.prefix}:locks:{lock}:grant:deaf`);
  await redis.zadd(keys.queue, 1, 'deaf.1.1000');
  await holder.release();
  expect((await mutex.inspect()).holder).toBe('deaf.1.1000');
  const startedAt = performance.now();
  const lease = await wait;
  expect(performance.now() - startedAt).toBeLessThan(1_000 + RECHECK_LIMIT_MS);
  expect(lease.fencingToken).toBeGreaterThan(holder.fencingToken);
  expect(await lease.release()).toBe(true);
});

test.concurrent('a holder that died costs its lease', async () => {
  const [redis, other] = [connect(), connect()];
  const lateBy = async (): Promise<number> => {
    const { prefix } = fresh();
    const dead = await new Mutex(redis, 'lock', { prefix, leaseMs: 300, renew: false }).acquire();
    const mutex = new Mutex(other, 'lock', { prefix });
    const waits = [mutex.acquire(), mutex.acquire()];
    const lease = await waits[0]!;
    const lateMs = performance.now() - dead.expiresAt;
    expect(lateMs).toBeGreaterThan(-5);
    await lease.release();
    expect(await (await waits[1]!).release()).toBe(true);
    return lateMs;
  };
  // The first re-check comes with the end of the lease.
  expect(await fastestOf(5, lateBy)).toBeLessThan(500);
});

test.concurrent('what is granted to turns that are over goes on at once', async () => {
  const keys = fresh();
  const [redis, other] = [connect(), connect()];
  const mutex = new Mutex(redis, 'lock', { prefix: keys.prefix });
  const holder = await mutex.acquire();
  const wait = new Mutex(other, 'lock', { prefix: keys.prefix }).acquire();
  await queued(mutex, 1);
  // As a failover leaves them behind that has lost the last commands: of a process that lives and has forgotten them.
  const [member] = await redis.zrange(keys.queue, '0', '0');
  const contender = member!.split('.')[0]!;
  const ghosts = Array.from({ length: 30 }, (_, index) => [index, `${contender}.zz${index}.1000`]).flat();
  await redis.zadd(keys.queue, ...ghosts);
  const startedAt = performance.now();
  await holder.release();
  const lease = await wait;
  // A claim each would be half a minute.
  expect(performance.now() - startedAt).toBeLessThan(20_000);
  expect(await mutex.inspect()).toMatchObject({ holder: lease.holder, queueLength: 0 });
  await lease.release();
});

test.concurrent('a grant that is heard late, and has been made again since, counts with its last token', async () => {
  const keys = fresh();
  const [redis, other] = [connect(), connect()];
  const mutex = new Mutex(redis, 'lock', { prefix: keys.prefix });
  const holder = await mutex.acquire();
  const wait = new Mutex(other, 'lock', { prefix: keys.prefix }).acquire();
  await queued(mutex, 1);
  const [member] = await redis.zrange(keys.queue, '0', '0');
  const [contender, turn] = member!.split('.') as [string, string];
  const [seconds, us] = await redis.time();
  const nowUs = Number(seconds) * 1_000_000 + Number(us);
  // It was granted three seconds ago, others had the lock, and now it is its turn again.
  await redis.zrem(keys.queue, member!);
  await redis.set(keys.token, nowUs, 'PX', 60_000);
  await redis.set(keys.lease, member!, 'PX', 5_000);
  const late = `${turn}:${holder.fencingToken + 1}:${nowUs - 3_000_000}:1000`;
  expect(await redis.publish(`${keys.prefix}:locks:{lock}:grant:${contender}`, late)).toBe(1);
  const lease = await wait;
  expect(lease.fencingToken).toBeGreaterThan(nowUs);
  expect(await lease.release()).toBe(true);
});

test.concurrent('a copy of a grant, as it comes amid a failover, costs nobody the lock', async () => {
  const keys = fresh();
  const [redis, other] = [connect(), connect()];
  const mutex = new Mutex(redis, 'lock', { prefix: keys.prefix });
  const holder = await mutex.acquire();
  const wait = new Mutex(other, 'lock', { prefix: keys.prefix }).acquire();
  await queued(mutex, 1);
  const [contender, turn, claimMs] = (await redis.zrange(keys.queue, '0', '0'))[0]!.split('.');
  await holder.release();
  const lease = await wait;
  const channel = `${keys.prefix}:locks:{lock}:grant:${contender}`;
  const copy = `${turn}:${lease.fencingToken}:${lease.fencingToken}:${claimMs}`;
  expect(await redis.publish(channel, copy)).toBe(1);
  // What the copy would have caused is sent before this.
  await other.ping();
  await new Mutex(other, 'lock', { prefix: keys.prefix }).inspect();
  expect((await mutex.inspect()).holder).toBe(lease.holder);
  expect(await lease.release()).toBe(true);
  // What is granted to that turn when it is over is another thing.
  await redis.set(keys.lease, lease.holder, 'PX', 60_000);
  expect(await redis.publish(channel, copy)).toBe(1);
  await until('the lock to be given back', async () => (await mutex.inspect()).holder === null);
});

test('nothing is granted to somebody who listens elsewhere: two would believe it', async () => {
  const keys = fresh();
  const [master, replica] = await Promise.all([startSingle(), startSingle()]);
  const [redis, other, far] = [connect(master.url), connect(master.url), connect(replica.url)];
  try {
    await replica.command('REPLICAOF', master.host, String(master.port));
    const linked = (): Promise<boolean> =>
      far.info('replication').then((info) => info.includes('link_status:up'));
    await until('the replica to be linked', linked, 10_000);
    const heard: string[] = [];
    await far.subscribe(`${keys.prefix}:locks:{lock}:grant:far`);
    far.on('message', (_, message) => heard.push(message));
    const mutex = new Mutex(redis, 'lock', { prefix: keys.prefix });
    const holder = await mutex.acquire();
    const wait = new Mutex(other, 'lock', { prefix: keys.prefix }).acquire();
    await queued(mutex, 1);
    await redis.zadd(keys.queue, 1, 'far.1.1000');
    await holder.release();
    const lease = await wait;
    // What is published arrives there, though PUBLISH counts nobody.
    expect(await redis.publish(`${keys.prefix}:locks:{lock}:grant:far`, 'the last')).toBe(0);
    await until('the last message', () => heard.includes('the last'), 10_000);
    expect(heard).toEqual(['the last']);
    await lease.release();
  } finally {
    for (const client of [redis, other, far]) disconnect(client);
    await Promise.all([master.stop(), replica.stop()]);
  }
});

test.concurrent('a release drops dead waiters without losing time', async () => {
  const keys = fresh();
  const [redis, other] = [connect(), connect()];
  const mutex = new Mutex(redis, 'lock', { prefix: keys.prefix });
  const holder = await mutex.acquire();
  const wait = new Mutex(other, 'lock', { prefix: keys.prefix }).acquire();
  await queued(mutex, 1);
  const dead = Array.from({ length: 99 }, (_, index) => [index, `dead.${index}.1000`]).flat();
  await redis.zadd(keys.queue, ...dead);
  await holder.release();
  const { holder: next, queueLength } = await mutex.inspect();
  const lease = await wait;
  // The release itself has come to the one that lives.
  expect([next, queueLength]).toEqual([lease.holder, 0]);
  expect(await lease.release()).toBe(true);
});

test.concurrent('one call drops no more than a hundred dead waiters', async () => {
  const keys = fresh();
  const redis = connect();
  const mutex = new Mutex(redis, 'lock', { prefix: keys.prefix });
  const holder = await mutex.acquire();
  const dead = Array.from({ length: 150 }, (_, index) => [index, `dead.${index}.1000`]).flat();
  await redis.zadd(keys.queue, ...dead);
  await holder.release();
  expect(await mutex.inspect()).toMatchObject({ holder: null, queueLength: 50 });
  const lease = await mutex.acquire({ waitMs: 10_000 });
  expect(await mutex.inspect()).toMatchObject({ holder: lease.holder, queueLength: 0 });
  expect(await lease.release()).toBe(true);
});

test.concurrent('FLUSHALL and SCRIPT FLUSH amid waiters: all get their turn, in their order, after the holder', async () => {
  const flushed = await startSingle({ isCluster: true });
  const [redis, other] = [connect(flushed.url), connect(flushed.url)];
  try {
    const prefix = freshPrefix();
    // The holder's next renewal is far away.
    const options = { prefix, leaseMs: 60_000 };
    const [mutex, second] = [new Mutex(redis, 'lock', options), new Mutex(other, 'lock', options)];
    const holder = await mutex.acquire();
    const order: number[] = [];
    const tokens = [holder.fencingToken];
    const sections: Promise<unknown>[] = [];
    // More of one process than one re-check looks at.
    for (let index = 0; index < 130; index += 1) {
      sections.push(
        second.using((_, { fencingToken }) => {
          order.push(index);
          tokens.push(fencingToken);
        }),
      );
    }
    await queued(mutex, 130);
    await redis.flushall();
    await redis.script('FLUSH');
    await queued(mutex, 130);
    // Redis has forgotten who holds the lock, but not the waiters that somebody does.
    expect(await mutex.inspect()).toMatchObject({ holder: null, fencingToken: null });
    expect([holder.isValid, order]).toEqual([true, []]);
    expect(await holder.release()).toBe(true);
    await Promise.all(sections);
    expect(order).toEqual(Array.from({ length: 130 }, (_, index) => index));
    expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
  } finally {
    disconnect(redis);
    disconnect(other);
    await flushed.stop();
  }
});

test.concurrent('a holder whose keys are lost has them back with its next renewal, and its lease goes on', async () => {
  const keys = fresh();
  const [redis, other] = [connect(), connect()];
  const mutex = new Mutex(redis, 'lock', { prefix: keys.prefix, leaseMs: 6_000 });
  const holder = await mutex.acquire();
  const wait = new Mutex(other, 'lock', { prefix: keys.prefix, leaseMs: 6_000 }).acquire();
  await queued(mutex, 1);
  await redis.del(keys.lease, keys.token, keys.queue);
  await until('the holder to be back', async () => (await mutex.inspect()).holder === holder.holder);
  await until('the waiter to be back', async () => (await mutex.inspect()).queueLength === 1);
  expect(await mutex.inspect()).toMatchObject({ fencingToken: holder.fencingToken });
  expect(holder.isValid).toBe(true);
  expect(await holder.release()).toBe(true);
  const next = await wait;
  expect(next.fencingToken).toBeGreaterThan(holder.fencingToken);
  await next.release();
});

test.concurrent('a holder that died before the keys were lost costs its lease, once', async () => {
  const keys = fresh();
  const [redis, other] = [connect(), connect()];
  const options = { prefix: keys.prefix, leaseMs: 1_500 };
  await new Mutex(redis, 'lock', { ...options, renew: false }).acquire();
  const mutex = new Mutex(other, 'lock', options);
  const waits = [mutex.acquire(), mutex.acquire()];
  await queued(mutex, 2);
  await redis.del(keys.lease, keys.token, keys.queue);
  const lease = await waits[0]!;
  expect(await lease.release()).toBe(true);
  expect(await (await waits[1]!).release()).toBe(true);
});

test.concurrent('without fencing nobody can tell a lost holder from none: the first waiter gets the lock', async () => {
  const keys = fresh();
  const [redis, other] = [connect(), connect()];
  const options = { prefix: keys.prefix, fencing: false };
  const holder = await new Mutex(redis, 'lock', options).acquire();
  const mutex = new Mutex(other, 'lock', options);
  const wait = mutex.acquire();
  await queued(mutex, 1);
  await redis.del(keys.lease, keys.queue);
  const lease = await wait;
  expect([holder.fencingToken, lease.fencingToken]).toEqual([0, 0]);
  expect(await holder.release()).toBe(false);
  expect(await lease.release()).toBe(true);
});

test.concurrent.each([
  { leaseMs: 10_000, most: 'one' },
  // It seems to be near its end, again and again.
  { leaseMs: 300, most: 'two' },
])(
  'waiters alone send $most re-checks a second for each process and lock: $leaseMs ms',
  async ({ leaseMs, most }) => {
    const keys = fresh();
    const [redis, other] = [connect(), connect()];
    const mutex = new Mutex(redis, 'lock', { prefix: keys.prefix, leaseMs });
    const holder = await mutex.acquire();
    const sentAt: number[] = [];
    const close = await monitor(redis, ({ args, at }) => {
      if (args[0] === mutexRecheck.sha1 && args.includes(keys.lease)) sentAt.push(at);
    });
    const waits = Array.from({ length: 50 }, () =>
      new Mutex(other, 'lock', { prefix: keys.prefix }).acquire(),
    );
    // One follows the subscription.
    await until('six re-checks', () => sentAt.length >= 6, 30_000);
    close();
    const [, second = 0] = sentAt;
    expect(sentAt[5]! - second).toBeGreaterThan(most === 'one' ? 4 * 850 : 2 * 850);
    await holder.release();
    for (const wait of waits) await (await wait).release();
  },
);
