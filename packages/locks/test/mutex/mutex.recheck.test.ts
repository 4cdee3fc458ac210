/** Repairs by the re-check of a Mutex, beside those of every kind in recheck.test.ts. They run at the same time. */
import { expect, test } from '@jest/globals';
import { Mutex } from '@mortise/locks';
import { startSingle } from '@mortise/redis-server';
import { connect, disconnect, freshPrefix, until } from '@mortise/test-kit';
import { queued } from '../fixture/queued.js';

function fresh(): { prefix: string; lease: string; queue: string; token: string } {
  const prefix = freshPrefix();
  const key = (part: string): string => `${prefix}:locks:{lock}:${part}`;
  return { prefix, lease: key('lease'), queue: key('queue'), token: key('token') };
}

test.concurrent('grants to ended acquisitions pass to the next waiter at once', async () => {
  const keys = fresh();
  const [redis, other] = [connect(), connect()];
  const mutex = new Mutex(redis, 'lock', { prefix: keys.prefix });
  const holder = await mutex.acquire();
  const wait = new Mutex(other, 'lock', { prefix: keys.prefix }).acquire();
  await queued(mutex, 1);
  // A failover that lost the last commands leaves such waiters, of a living process that has forgotten them.
  const [member] = await redis.zrange(keys.queue, '0', '0');
  const clientId = member!.split('.')[0]!;
  const ghosts = Array.from({ length: 30 }, (_, index) => [index, `${clientId}.zz${index}.1000`]).flat();
  await redis.zadd(keys.queue, ...ghosts);
  const startedAt = performance.now();
  await holder.release();
  const lease = await wait;
  // A second each would be half a minute.
  expect(performance.now() - startedAt).toBeLessThan(20_000);
  expect(await mutex.inspect()).toMatchObject({ holder: lease.holder, queueLength: 0 });
  await lease.release();
});

test.concurrent('a late message of a grant that was made again counts with the last token', async () => {
  const keys = fresh();
  const [redis, other] = [connect(), connect()];
  const mutex = new Mutex(redis, 'lock', { prefix: keys.prefix });
  const holder = await mutex.acquire();
  const wait = new Mutex(other, 'lock', { prefix: keys.prefix }).acquire();
  await queued(mutex, 1);
  const [member] = await redis.zrange(keys.queue, '0', '0');
  const [clientId, acquisition] = member!.split('.') as [string, string];
  const [seconds, us] = await redis.time();
  const nowUs = Number(seconds) * 1_000_000 + Number(us);
  // The grant is three seconds old; others had the lock, and now it is granted again.
  await redis.zrem(keys.queue, member!);
  await redis.set(keys.token, nowUs, 'PX', 60_000);
  await redis.set(keys.lease, member!, 'PX', 5_000);
  const late = `${acquisition}:${holder.fencingToken + 1}:${nowUs - 3_000_000}:1000`;
  expect(await redis.publish(`${keys.prefix}:locks:{lock}:grant:${clientId}`, late)).toBe(1);
  const lease = await wait;
  expect(lease.fencingToken).toBeGreaterThan(nowUs);
  expect(await lease.release()).toBe(true);
});

test.concurrent('a copy of a grant, as in a failover, takes the lock from no holder', async () => {
  const keys = fresh();
  const [redis, other] = [connect(), connect()];
  const mutex = new Mutex(redis, 'lock', { prefix: keys.prefix });
  const holder = await mutex.acquire();
  const wait = new Mutex(other, 'lock', { prefix: keys.prefix }).acquire();
  await queued(mutex, 1);
  const [clientId, acquisition, confirmMs] = (await redis.zrange(keys.queue, '0', '0'))[0]!.split('.');
  await holder.release();
  const lease = await wait;
  const channel = `${keys.prefix}:locks:{lock}:grant:${clientId}`;
  const copy = `${acquisition}:${lease.fencingToken}:${lease.fencingToken}:${confirmMs}`;
  expect(await redis.publish(channel, copy)).toBe(1);
  // A release, if the copy caused one, was sent before this.
  await other.ping();
  await new Mutex(other, 'lock', { prefix: keys.prefix }).inspect();
  expect((await mutex.inspect()).holder).toBe(lease.holder);
  expect(await lease.release()).toBe(true);
  // A grant to an acquisition that has ended is given back.
  await redis.set(keys.lease, lease.holder, 'PX', 60_000);
  expect(await redis.publish(channel, copy)).toBe(1);
  await until('the lock to be given back', async () => (await mutex.inspect()).holder === null);
});

test('a client that listens on a replica gets no grant: two holders would believe it', async () => {
  const keys = fresh();
  const [master, replica] = await Promise.all([startSingle(), startSingle()]);
  const [redis, other, far] = [connect(master.url), connect(master.url), connect(replica.url)];
  try {
    await replica.command('REPLICAOF', master.host, String(master.port));
    const linked = (): Promise<boolean> =>
      far.info('replication').then((info) => info.includes('link_status:up'));
    await until('the replica to be linked', linked, 10_000);
    const received: string[] = [];
    await far.subscribe(`${keys.prefix}:locks:{lock}:grant:far`);
    far.on('message', (_, message) => received.push(message));
    const mutex = new Mutex(redis, 'lock', { prefix: keys.prefix });
    const holder = await mutex.acquire();
    const wait = new Mutex(other, 'lock', { prefix: keys.prefix }).acquire();
    await queued(mutex, 1);
    await redis.zadd(keys.queue, 1, 'far.1.1000');
    await holder.release();
    const lease = await wait;
    // A message arrives there, though PUBLISH counts no receiver.
    expect(await redis.publish(`${keys.prefix}:locks:{lock}:grant:far`, 'the last')).toBe(0);
    await until('the last message', () => received.includes('the last'), 10_000);
    expect(received).toEqual(['the last']);
    await lease.release();
  } finally {
    for (const client of [redis, other, far]) disconnect(client);
    await Promise.all([master.stop(), replica.stop()]);
  }
});

test.concurrent('FLUSHALL and SCRIPT FLUSH during waits: all waiters get the lock in their order, after the holder', async () => {
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
    // Redis has forgotten the holder, but the waiters know that there is one.
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

test.concurrent('a holder restores lost keys with its next renewal, and its lease goes on', async () => {
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

test.concurrent('without fencing a lost holder looks like none: the first waiter gets the lock', async () => {
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
