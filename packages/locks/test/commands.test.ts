import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Mutex } from '@mortise/locks';
import type { Lease } from '@mortise/locks';
import { startSingle } from '@mortise/redis-server';
import type { RedisServer } from '@mortise/redis-server';
import { connect, disconnect, freshPrefix, monitor, transcript, until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import * as scripts from '../src/scripts.gen.js';
import { queued } from './queued.js';
import { watchFor } from './watch-for.js';
import { mostExtras, withoutLaterRechecks, withoutRechecks } from './without-rechecks.js';

const prefix = freshPrefix();
let server: RedisServer;
let redis: Redis;
let clients: Redis[];

beforeAll(async () => {
  server = await startSingle({ isCluster: true });
  redis = connect(server.url);
  clients = Array.from({ length: 10 }, () => connect(server.url));
  // The first use of a script on a server sends its text, and the first wait for a lock subscribes.
  const mutex = new Mutex(redis, 'lock', { prefix });
  const lease = await mutex.acquire();
  await lease.renew();
  const waits = clients.map((client) => new Mutex(client, 'lock', { prefix }).acquire());
  await queued(mutex, 10);
  await lease.release();
  await Promise.all(waits.map(async (wait) => (await wait).release()));
});

afterAll(async () => {
  await server?.stop();
});

/** The transcript, with short names: keys without what all have in common, and a channel without its contender. */
async function commands(client: Redis, action: () => Promise<unknown>): Promise<string[]> {
  const lines = await transcript(client, { prefix, scripts }, action);
  return lines.map((line) => line.replaceAll(/locks:\{[^}]*\}:/g, '').replace(/grant:\S+/, 'grant'));
}

test('a lock without contention costs one command to take and one to give back', async () => {
  const mutex = new Mutex(redis, 'free', { prefix });
  let lease: Lease | null = null;
  const take = ['evalsha mutex.acquire lease token queue', '  exists queue', '  set lease'];
  const giveBack = ['evalsha mutex.release lease token queue', '  get lease', '  zcard queue', '  del lease'];
  expect(
    await commands(redis, async () => {
      lease = await mutex.acquire();
    }),
  ).toEqual([...take, '  time', '  get token', '  set token']);
  expect(await commands(redis, () => lease!.renew())).toEqual([
    'evalsha mutex.renew lease token',
    '  get lease',
    '  pexpire lease',
  ]);
  expect(await commands(redis, () => mutex.tryAcquire())).toEqual([...take, '  get lease', '  pttl lease']);
  expect(await commands(redis, () => mutex.inspect())).toEqual([
    'evalsha_ro mutex.inspect lease token queue',
    '  get lease',
    '  get token',
    '  pttl lease',
    '  zcard queue',
    '  zrank queue',
  ]);
  expect(await commands(redis, () => lease!.release())).toEqual(giveBack);
  expect(
    await commands(redis, async () => {
      lease = await mutex.tryAcquire();
    }),
  ).toEqual([...take, '  time', '  get token', '  setrange token']);
  expect(await commands(redis, () => lease!.release())).toEqual(giveBack);
  expect(await commands(redis, () => mutex.forceRelease())).toEqual(['get lease']);
  await mutex.acquire();
  expect(await commands(redis, () => mutex.forceRelease())).toEqual([
    'get lease',
    'evalsha mutex.release lease token queue',
    '  get lease',
    '  zcard queue',
    '  exists token',
    '  zrange queue',
    '  del lease',
  ]);
});

test('without fencing neither the clock nor a token is touched', async () => {
  const mutex = new Mutex(redis, 'plain', { prefix, fencing: false });
  expect(await commands(redis, async () => (await mutex.acquire()).release())).toEqual([
    'evalsha mutex.acquire lease token queue',
    '  exists queue',
    '  set lease',
    'evalsha mutex.release lease token queue',
    '  get lease',
    '  zcard queue',
    '  del lease',
  ]);
});

test('the first wait of a process for a lock subscribes and re-checks', async () => {
  const holder = await new Mutex(redis, 'first', { prefix }).acquire();
  const mutex = new Mutex(clients[0]!, 'first', { prefix });
  const queue = `${prefix}:locks:{first}:queue`;
  const controller = new AbortController();
  const lines = await commands(clients[0]!, async () => {
    const recheck = await watchFor(redis, scripts.mutexRecheck.sha1, queue);
    const wait = mutex.acquire({ signal: controller.signal });
    void wait.catch(() => undefined);
    await recheck.seen;
    controller.abort(new Error('enough'));
    await expect(wait).rejects.toThrow('enough');
    // No more is sent once the waiter has left.
    await until('the end of the wait', async () => (await redis.zcard(queue)) === 0);
  });
  expect(withoutLaterRechecks(lines).filter((line) => line !== 'zcard queue')).toEqual([
    'evalsha mutex.acquire lease token queue',
    '  exists queue',
    '  set lease',
    '  get lease',
    '  zrange queue',
    '  time',
    '  zadd queue',
    '  pttl lease',
    '  pexpire queue',
    'subscribe grant',
    'evalsha mutex.recheck lease token queue',
    '  get lease',
    '  zadd queue',
    '  pexpire queue',
    '  time',
    '  pttl lease',
    'evalsha mutex.release lease token queue',
    '  get lease',
    '  zcard queue',
    '  zrem queue',
  ]);
  await holder.release();
});

test('from then on a hand-off is one command to ask and one to release, and the grant is a message', async () => {
  const [first, second] = clients.map((client) => new Mutex(client, 'lock', { prefix })) as [Mutex, Mutex];
  const holder = await first.acquire();
  const lines = await commands(clients[0]!, async () => {
    const wait = second.acquire();
    // The wait itself ends with its grant, not with the reply to its command.
    await new Mutex(clients[1]!, 'lock', { prefix }).tryAcquire();
    await holder.release();
    await (await wait).release();
  });
  expect(withoutRechecks(lines)).toEqual([
    // Both in one tick of one process: one command.
    'evalsha mutex.acquire lease token queue',
    '  exists queue',
    '  set lease',
    '  get lease',
    '  pttl lease',
    '  set lease',
    '  get lease',
    '  zrange queue',
    '  time',
    '  zadd queue',
    '  pexpire queue',
    'evalsha mutex.release lease token queue',
    '  get lease',
    '  zcard queue',
    '  zrange queue',
    '  pubsub grant',
    '  time',
    '  get token',
    '  setrange token',
    '  publish grant',
    '  set lease',
    '  zrem queue',
    'evalsha mutex.release lease token queue',
    '  get lease',
    '  zcard queue',
    '  del lease',
  ]);
});

async function callsOf(target: RedisServer): Promise<Record<string, number>> {
  const info = String(await target.command('INFO', 'commandstats'));
  const lines = info.matchAll(/^cmdstat_(\w+):calls=(\d+)/gm);
  return Object.fromEntries(Array.from(lines, ([, name, calls]) => [name, Number(calls)]));
}

test('ten processes that take turns send exactly two commands for each acquisition', async () => {
  const before = await callsOf(server);
  const seen: string[] = [];
  const names = new Map(
    [scripts.mutexAcquire, scripts.mutexRelease, scripts.mutexRecheck].map((script) => [
      script.sha1,
      script.definition.name,
    ]),
  );
  const close = await monitor(redis, ({ command, args }) => {
    if (command === 'evalsha') seen.push(names.get(args[0]!) ?? args[0]!);
  });
  let acquisitions = 0;
  const startedAt = performance.now();
  await Promise.all(
    clients.map(async (client) => {
      const mutex = new Mutex(client, 'lock', { prefix });
      for (let round = 0; round < 20; round += 1) await mutex.using(() => (acquisitions += 1));
    }),
  );
  const count = (name: string): number => seen.filter((one) => one === name).length;
  const extras = mostExtras(10, performance.now() - startedAt);
  await until('all commands to be seen', () => count('mutex.release') >= 200);
  close();
  const after = await callsOf(server);
  expect([acquisitions, count('mutex.release')]).toEqual([200, 200]);
  expect(seen.length).toBeGreaterThanOrEqual(400);
  expect(seen.length).toBeLessThanOrEqual(400 + extras);
  for (const name of ['eval', 'subscribe', 'ping']) expect(after[name]).toBe(before[name]);
});

test('what many callers of one tick ask for travels together', async () => {
  const mutex = new Mutex(redis, 'many', { prefix });
  const controller = new AbortController();
  let leases: Promise<unknown>[] = [];
  const lines = await commands(redis, async () => {
    leases = Array.from({ length: 30 }, () => mutex.acquire({ signal: controller.signal }));
    await leases[0];
  });
  expect(lines.filter((line) => line.startsWith('evalsha mutex.acquire'))).toHaveLength(1);
  await queued(mutex, 29);
  const left = await commands(redis, async () => {
    controller.abort();
    await Promise.allSettled(leases);
    await queued(mutex, 0);
  });
  expect(left.filter((line) => line.startsWith('evalsha mutex.release'))).toHaveLength(1);
});

test('where slots do not count, calls of one tick are one command, whatever locks they are for', async () => {
  const single = await startSingle();
  const client = connect(single.url);
  try {
    const mutexes = Array.from({ length: 50 }, (_, index) => new Mutex(client, `lock ${index}`, { prefix }));
    const turn = async (): Promise<string[]> => {
      const lines = await transcript(client, { prefix, scripts }, async () => {
        const leases = await Promise.all(mutexes.map((mutex) => mutex.acquire()));
        await Promise.all(leases.map((lease) => lease.renew()));
        expect(await Promise.all(leases.map((lease) => lease.release()))).toEqual(leases.map(() => true));
      });
      return lines.filter((line) => !line.startsWith(' ')).map((line) => line.split(' ')[1]!);
    };
    await turn();
    expect(await turn()).toEqual(['mutex.acquire', 'mutex.renew', 'mutex.release']);
  } finally {
    disconnect(client);
    await single.stop();
  }
});

test('a lock whose key is of a foreign type fails alone', async () => {
  const single = await startSingle();
  const client = connect(single.url);
  try {
    const mutexes = ['a', 'foreign', 'b'].map((name) => new Mutex(client, name, { prefix }));
    await client.lpush(`${prefix}:locks:{foreign}:lease`, 'x');
    const outcomes = await Promise.allSettled(mutexes.map((mutex) => mutex.acquire()));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).toMatchObject({
      reason: { message: expect.stringContaining('WRONGTYPE') as unknown as string },
    });
    const leases = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    // The queue of one of them is spoilt while they are held.
    await client.set(`${prefix}:locks:{b}:queue`, 'x');
    const releases = await Promise.allSettled(leases.map((lease) => lease.release()));
    expect(releases).toMatchObject([
      { value: true },
      { reason: { message: expect.stringContaining('WRONGTYPE') as unknown as string } },
    ]);
  } finally {
    disconnect(client);
    await single.stop();
  }
});

test('where they do, a client that cannot know hears it once, and nobody notices', async () => {
  const client = connect(server.url);
  const mutexes = Array.from({ length: 5 }, (_, index) => new Mutex(client, `slot ${index}`, { prefix }));
  const before = await callsOf(server);
  const leases = await Promise.all(mutexes.map((mutex) => mutex.acquire()));
  await Promise.all(leases.map((lease) => lease.release()));
  const after = await callsOf(server);
  expect(leases.map((lease) => lease.fencingToken > 0)).toEqual([true, true, true, true, true]);
  expect(after['evalsha']! - before['evalsha']!).toBe(10);
});

test('renewals of many locks are one command for each slot', async () => {
  // Without hash tags in their names, two locks share a slot only by chance.
  const mutexes = [new Mutex(redis, 'slot a', { prefix }), new Mutex(redis, 'slot b', { prefix })];
  const leases = await Promise.all(mutexes.map((mutex) => mutex.acquire()));
  const lines = await commands(redis, () =>
    Promise.all(leases.flatMap((lease) => [lease.renew(), lease.renew()])),
  );
  const renewal = [
    'evalsha mutex.renew lease token lease token',
    '  get lease',
    '  pexpire lease',
    '  get lease',
    '  pexpire lease',
  ];
  expect(lines).toEqual([...renewal, ...renewal]);
  await Promise.all(leases.map((lease) => lease.release()));
});
