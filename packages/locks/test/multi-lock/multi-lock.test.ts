import { describe, expect, test } from '@jest/globals';
import { MultiLock, Mutex } from '@mortise/locks';
import { startProxy } from '@mortise/redis-server';
import { connect, freshPrefix, runServer, until } from '@mortise/test-kit';
import { queued } from '../fixture/queued.js';
import { describeAcquire } from './multi-lock-acquire-behaviour.js';
import { describeMultiLock } from './multi-lock-behaviour.js';

const { server } = await runServer();

describe.each([
  ['a node that takes all locks in one call', server.url],
  ['a node that enforces its slots', process.env['MORTISE_TEST_REDIS']!],
])('on %s', (_, url) => {
  describeMultiLock(url);
  describeAcquire(url);
});

test('the next request finds a lost lock: it never waits for a lock while it holds a later one', async () => {
  const [redis, other] = [connect(server.url), connect(server.url)];
  const prefix = freshPrefix();
  const lock = new MultiLock(redis, ['a', 'b', 'c'], { prefix });
  const [first, second, third] = lock.names.map((name) => new Mutex(other, name, { prefix })) as [
    Mutex,
    Mutex,
    Mutex,
  ];
  const holder = await third.acquire();
  const wait = lock.acquire();
  await queued(third, 1);
  await first.forceRelease();
  const thief = await first.acquire();
  // The grant of the third finds the first one gone, before any renewal does.
  await holder.release();
  await queued(first, 1);
  await until('the second to be free', async () => (await second.inspect()).holder === null);
  await thief.release();
  expect(await (await wait).release()).toBe(true);
});

test('replies that come after the end of the lease are never acquired locks, and are given back', async () => {
  const proxy = await startProxy(server);
  const [slow, direct] = [connect(proxy.url), connect(server.url)];
  await slow.ping();
  const prefix = freshPrefix();
  const lock = new MultiLock(slow, ['a', 'b', 'c'], { prefix, leaseMs: 200 });
  const leases = async (): Promise<number> => (await direct.keys(`${prefix}:*:lease`)).length;
  await lock.using(() => undefined);
  proxy.delay({ repliesMs: 300 });
  try {
    expect(await lock.tryAcquire()).toBeNull();
    expect(await leases()).toBe(0);
    await expect(lock.acquire({ waitMs: 700 })).rejects.toMatchObject({ code: 'ERR_LOCK_TIMEOUT' });
  } finally {
    await proxy.restore();
  }
  await until('all locks to be free', async () => (await leases()) === 0);
  const lease = await lock.acquire();
  expect(lease.isValid).toBe(true);
  expect(await lease.release()).toBe(true);
  slow.disconnect();
  await proxy.stop();
});
