import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Mutex } from '@mortise/locks';
import type { Lease } from '@mortise/locks';
import { startSingle } from '@mortise/redis-server';
import type { RedisServer } from '@mortise/redis-server';
import type { Redis } from 'ioredis';
import { connect } from './connection.js';
import { transcript } from './transcript.js';
import { queued } from './until.js';

let server: RedisServer;
let redis: Redis;
let clients: Redis[];

beforeAll(async () => {
  server = await startSingle({ isCluster: true });
  redis = connect(server.url);
  clients = Array.from({ length: 10 }, () => connect(server.url));
  // The first use of a script on a server sends its text, and the first wait for a lock subscribes.
  const mutex = new Mutex(redis, 'lock');
  const lease = await mutex.acquire();
  await lease.renew();
  const waits = clients.map((client) => new Mutex(client, 'lock').acquire());
  await queued(mutex, 10);
  await lease.release();
  await Promise.all(waits.map(async (wait) => (await wait).release()));
});

afterAll(async () => {
  await server?.stop();
});

test('a lock without contention costs one command to take and one to give back', async () => {
  const mutex = new Mutex(redis, 'free');
  let lease: Lease | null = null;
  expect(
    await transcript(redis, async () => {
      lease = await mutex.acquire();
    }),
  ).toEqual(['mutex.acquire: time exists set set']);
  expect(await transcript(redis, () => lease!.renew())).toEqual(['mutex.renew: get pexpire']);
  expect(await transcript(redis, () => mutex.tryAcquire())).toEqual(['mutex.acquire: time exists set pttl']);
  expect(await transcript(redis, () => mutex.inspect())).toEqual(['mutex.inspect: get get pttl zcard']);
  expect(await transcript(redis, () => lease!.release())).toEqual(['mutex.release: get exists del']);
  expect(
    await transcript(redis, async () => {
      lease = await mutex.tryAcquire();
    }),
  ).toEqual(['mutex.acquire: time exists set set']);
  expect(await transcript(redis, () => lease!.release())).toEqual(['mutex.release: get exists del']);
  expect(await transcript(redis, () => mutex.forceRelease())).toEqual(['mutex.release: get zrem']);
});

test('the first wait of a process for a lock subscribes and re-checks', async () => {
  const holder = await new Mutex(redis, 'first').acquire();
  const mutex = new Mutex(clients[0]!, 'first');
  const lines = await transcript(redis, async () => {
    await expect(mutex.acquire({ waitMs: 200 })).rejects.toMatchObject({ code: 'ERR_LOCK_TIMEOUT' });
    await queued(mutex, 0);
  });
  expect(lines.filter((line) => !line.startsWith('mutex.inspect'))).toEqual([
    'mutex.acquire: time exists set zrange zadd pexpire pttl',
    'subscribe',
    'mutex.recheck: time get zadd pexpire pttl',
    'mutex.release: get zrem',
  ]);
  await holder.release();
});

test('from then on a hand-off is one command to ask and one to release, and the grant is a message', async () => {
  const [first, second] = clients.map((client) => new Mutex(client, 'lock')) as [Mutex, Mutex];
  const holder = await first.acquire();
  const lines = await transcript(redis, async () => {
    const wait = second.acquire();
    // The wait itself ends with its grant, not with the reply to its command.
    await new Mutex(clients[1]!, 'lock').tryAcquire();
    await holder.release();
    await (await wait).release();
  });
  expect(lines).toEqual([
    // Both in one tick of one process: one command.
    'mutex.acquire: time exists set set zrange zadd pexpire pttl',
    'mutex.release: get exists time get zrange publish zpopmin set set',
    'mutex.release: get exists del',
  ]);
});

async function callsOf(target: RedisServer): Promise<Record<string, number>> {
  const info = String(await target.command('INFO', 'commandstats'));
  const lines = info.matchAll(/^cmdstat_(\w+):calls=(\d+)/gm);
  return Object.fromEntries(Array.from(lines, ([, name, calls]) => [name, Number(calls)]));
}

test('ten processes that take turns send exactly two commands for each acquisition', async () => {
  const before = await callsOf(server);
  let acquisitions = 0;
  await Promise.all(
    clients.map(async (client) => {
      const mutex = new Mutex(client, 'lock');
      for (let round = 0; round < 20; round += 1) await mutex.using(() => (acquisitions += 1));
    }),
  );
  const after = await callsOf(server);
  expect(acquisitions).toBe(200);
  expect(after['evalsha']! - before['evalsha']!).toBe(400);
  for (const name of ['eval', 'subscribe', 'ping']) expect(after[name]).toBe(before[name]);
});

test('what many callers of one tick ask for travels together', async () => {
  const mutex = new Mutex(redis, 'many');
  const controller = new AbortController();
  let leases: Promise<unknown>[] = [];
  const lines = await transcript(redis, async () => {
    leases = Array.from({ length: 30 }, () => mutex.acquire({ signal: controller.signal }));
    await leases[0];
  });
  expect(lines.filter((line) => line.startsWith('mutex.acquire'))).toHaveLength(1);
  await queued(mutex, 29);
  const left = await transcript(redis, async () => {
    controller.abort();
    await Promise.allSettled(leases);
    await queued(mutex, 0);
  });
  expect(left.filter((line) => line.startsWith('mutex.release'))).toHaveLength(1);
});

test('renewals of many locks are one command for each slot', async () => {
  // Without hash tags in their names, two locks share a slot only by chance.
  const mutexes = [new Mutex(redis, 'slot a'), new Mutex(redis, 'slot b')];
  const leases = await Promise.all(mutexes.map((mutex) => mutex.acquire()));
  const lines = await transcript(redis, () =>
    Promise.all(leases.flatMap((lease) => [lease.renew(), lease.renew()])),
  );
  expect(lines).toEqual(['mutex.renew: get pexpire get pexpire', 'mutex.renew: get pexpire get pexpire']);
  await Promise.all(leases.map((lease) => lease.release()));
});
