import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ReadWriteLock } from '@mortise/locks';
import type { Lease } from '@mortise/locks';
import { startSingle } from '@mortise/redis-server';
import type { RedisServer } from '@mortise/redis-server';
import { connect, freshPrefix, transcript } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import * as scripts from '../src/scripts.gen.js';
import { queued } from './queued.js';
import { mostExtras, withoutRechecks } from './without-rechecks.js';

const prefix = freshPrefix();
let server: RedisServer;
let redis: Redis;
let clients: Redis[];

beforeAll(async () => {
  server = await startSingle({ isCluster: true });
  redis = connect(server.url);
  clients = Array.from({ length: 10 }, () => connect(server.url));
  // The first use of a script on a server sends its text, and the first wait for a lock subscribes.
  const lock = new ReadWriteLock(redis, 'lock', { prefix });
  const writer = await lock.write.acquire();
  await writer.renew();
  const waits = clients.map((client) => new ReadWriteLock(client, 'lock', { prefix }).write.acquire());
  await queued(lock.read, 10);
  const reader = await writer.downgrade();
  await reader.release();
  await Promise.all(waits.map(async (wait) => (await wait).release()));
});

afterAll(async () => {
  await server?.stop();
});

/** The transcript, with short names: keys without what all have in common, and a channel without its contender. */
async function commands(client: Redis, action: () => Promise<unknown>): Promise<string[]> {
  const lines = await transcript(client, { prefix, scripts }, action);
  return lines.map((line) =>
    line
      .replaceAll(/locks:\{[^}]*\}:/g, '')
      .replace(/rw-grant:\S+/, 'rw-grant')
      .replace('read-write-lock.', ''),
  );
}

const KEYS = 'write readers rw-token rw-queue';

test('a read lock that nobody is in the way of costs one command to take and one to give back', async () => {
  const { read } = new ReadWriteLock(redis, 'free', { prefix });
  let lease: Lease | undefined;
  const acquire = async (): Promise<void> => {
    lease = await read.acquire();
  };
  const taken = [
    `evalsha acquire ${KEYS}`,
    '  time',
    '  exists write rw-queue',
    '  set rw-token',
    '  zadd readers',
  ];
  expect(await commands(redis, acquire)).toEqual([...taken, '  pexpire readers']);
  expect(await commands(redis, () => lease!.renew())).toEqual([
    'evalsha renew write readers rw-token',
    '  time',
    '  zscore readers',
    '  zadd readers',
    '  pexpire readers',
  ]);
  expect(await commands(redis, () => read.inspect())).toEqual([
    `evalsha_ro inspect ${KEYS}`,
    '  time',
    '  get rw-token',
    '  get write',
    '  pttl write',
    '  zrange readers',
    '  zcount readers',
    '  zscore readers',
    '  zcard rw-queue',
    '  zrank rw-queue',
    '  zrange readers',
  ]);
  expect(await commands(redis, () => lease!.release())).toEqual([
    `evalsha release ${KEYS}`,
    '  zrem readers',
    '  exists rw-queue',
  ]);
  // Beside another reader its end is a second thing to set.
  await using beside = await read.acquire();
  expect(await commands(redis, acquire)).toEqual([...taken, '  pexpire readers', '  pexpire readers']);
  expect(beside.isValid).toBe(true);
  await lease!.release();
  expect(await commands(redis, () => read.forceRelease())).toEqual([
    'zrange readers',
    `evalsha release ${KEYS}`,
    '  zrem readers',
    '  exists rw-queue',
  ]);
});

test('a write lock that nobody is in the way of costs one command to take and one to give back', async () => {
  const { write } = new ReadWriteLock(redis, 'free to write', { prefix });
  let lease: Lease | undefined;
  expect(
    await commands(redis, async () => {
      lease = await write.acquire();
    }),
  ).toEqual([
    `evalsha acquire ${KEYS}`,
    '  time',
    '  exists write rw-queue',
    '  exists readers',
    '  set rw-token',
    '  set write',
  ]);
  expect(await commands(redis, () => lease!.renew())).toEqual([
    'evalsha renew write readers rw-token',
    '  time',
    '  get write',
    '  pexpire write',
  ]);
  expect(await commands(redis, () => write.tryAcquire())).toEqual([
    `evalsha acquire ${KEYS}`,
    '  time',
    '  exists write rw-queue',
    '  get write',
    '  exists rw-queue',
    '  pttl write',
  ]);
  expect(await commands(redis, () => lease!.release())).toEqual([
    `evalsha release ${KEYS}`,
    '  get write',
    '  del write',
    '  exists rw-queue',
  ]);
});

test('a downgrade is one command', async () => {
  const { write } = new ReadWriteLock(redis, 'downgraded', { prefix });
  const writer = await write.acquire();
  let reader: Lease | undefined;
  expect(
    await commands(redis, async () => {
      reader = await writer.downgrade();
      // The writer has nothing to give back any more.
      await writer.release();
    }),
  ).toEqual([
    `evalsha downgrade ${KEYS}`,
    '  zscore readers',
    '  get write',
    '  time',
    '  get rw-token',
    '  set rw-token',
    '  zadd readers',
    '  pexpire readers',
    '  del write',
    '  exists rw-queue',
  ]);
  await reader!.release();
});

test('a hand-off is one command to ask and one to release, and the grant is a message', async () => {
  const [first, second] = clients.map((client) => new ReadWriteLock(client, 'lock', { prefix })) as [
    ReadWriteLock,
    ReadWriteLock,
  ];
  const holder = await first.write.acquire();
  const lines = await commands(clients[0]!, async () => {
    const wait = second.write.acquire();
    // The wait itself ends with its grant, not with the reply to its command.
    await new ReadWriteLock(clients[1]!, 'lock', { prefix }).read.tryAcquire();
    await holder.release();
    await (await wait).release();
  });
  expect(withoutRechecks(lines)).toEqual([
    // Both in one tick of one process: one command.
    `evalsha acquire ${KEYS}`,
    '  time',
    '  exists write rw-queue',
    '  get write',
    '  exists rw-queue',
    '  zscore readers',
    '  zrange rw-queue',
    '  zadd rw-queue',
    '  pexpire rw-queue',
    '  pttl write',
    `evalsha release ${KEYS}`,
    '  get write',
    '  del write',
    '  exists rw-queue',
    '  exists write',
    '  time',
    '  get rw-token',
    '  zrange rw-queue',
    '  exists readers',
    '  pubsub rw-grant',
    '  publish rw-grant',
    '  zremrangebyrank rw-queue',
    '  set write',
    '  set rw-token',
    `evalsha release ${KEYS}`,
    '  get write',
    '  del write',
    '  exists rw-queue',
  ]);
});

test('fifty readers that wait are let in by one command, which looks at them once', async () => {
  const locks = clients.map((client) => new ReadWriteLock(client, 'lock', { prefix }));
  const writer = await locks[0]!.write.acquire();
  const waits = Array.from({ length: 50 }, (_, index) => locks[index % 10]!.read.acquire());
  await queued(locks[0]!.read, 50);
  let leases: Lease[] = [];
  const lines = await commands(clients[0]!, async () => {
    await writer.release();
    leases = await Promise.all(waits);
  });
  expect(withoutRechecks(lines)).toEqual([
    `evalsha release ${KEYS}`,
    '  get write',
    '  del write',
    '  exists rw-queue',
    '  exists write',
    '  time',
    '  get rw-token',
    '  zrange rw-queue',
    '  pubsub rw-grant',
    '  publish rw-grant',
    '  zrange rw-queue',
    ...Array.from({ length: 49 }, () => ['  pubsub rw-grant', '  publish rw-grant']).flat(),
    '  zremrangebyrank rw-queue',
    '  zadd readers',
    '  pexpire readers',
    '  set rw-token',
  ]);
  expect(new Set(leases.map(({ fencingToken }) => fencingToken)).size).toBe(50);
  await Promise.all(leases.map((lease) => lease.release()));
});

test('ten processes that read and write send exactly two commands for each acquisition', async () => {
  let acquisitions = 0;
  const startedAt = performance.now();
  const lines = await commands(redis, () =>
    Promise.all(
      clients.map(async (client, index) => {
        const lock = new ReadWriteLock(client, 'lock', { prefix });
        for (let round = 0; round < 20; round += 1) {
          await lock[(round + index) % 4 === 0 ? 'write' : 'read'].using(() => (acquisitions += 1));
        }
      }),
    ),
  );
  const extras = mostExtras(10, performance.now() - startedAt);
  const sent = lines.filter((line) => !line.startsWith(' '));
  expect(acquisitions).toBe(200);
  expect(sent.filter((line) => line.startsWith('evalsha release'))).toHaveLength(200);
  expect(sent.filter((line) => line.startsWith('evalsha acquire')).length).toBeGreaterThanOrEqual(200);
  expect(sent.length).toBeLessThanOrEqual(400 + extras);
});

test('renewals of many readers are one command for each slot', async () => {
  const lock = new ReadWriteLock(redis, 'slot a', { prefix });
  const leases = [await lock.read.acquire(), await lock.read.acquire()];
  const lines = await commands(redis, () => Promise.all(leases.map((lease) => lease.renew())));
  expect(lines).toEqual([
    'evalsha renew write readers rw-token write readers rw-token',
    '  time',
    ...leases.flatMap(() => ['  zscore readers', '  zadd readers', '  pexpire readers']),
  ]);
  await Promise.all(leases.map((lease) => lease.release()));
});
