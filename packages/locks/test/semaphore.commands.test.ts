import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Semaphore } from '@mortise/locks';
import type { Lease } from '@mortise/locks';
import { startSingle } from '@mortise/redis-server';
import type { RedisServer } from '@mortise/redis-server';
import { connect, freshPrefix, transcript, until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import * as scripts from '../src/scripts.gen.js';
import { queued } from './queued.js';
import { watchFor } from './watch-for.js';
import { mostExtras, withoutLaterRechecks, withoutRechecks } from './without-rechecks.js';

const prefix = freshPrefix();
const options = { prefix, permits: 2 };
let server: RedisServer;
let redis: Redis;
let clients: Redis[];

beforeAll(async () => {
  server = await startSingle({ isCluster: true });
  redis = connect(server.url);
  clients = Array.from({ length: 10 }, () => connect(server.url));
  // The first use of a script on a server sends its text, and the first wait for a semaphore subscribes.
  const semaphore = new Semaphore(redis, 'pool', options);
  const lease = await semaphore.acquire({ permits: 2 });
  await lease.renew();
  await semaphore.setPermits(2);
  const waits = clients.map((client) => new Semaphore(client, 'pool', options).acquire());
  await queued(semaphore, 10);
  await lease.release();
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
      .replace(/permits-grant:\S+/, 'grant')
      .replace('permits permits-queue permits-state', 'all'),
  );
}

function script(name: string, ...inner: readonly string[]): string[] {
  return [`evalsha semaphore.${name}`, ...inner.map((line) => `  ${line}`)];
}

test('permits without contention cost one command to take and one to give back', async () => {
  const semaphore = new Semaphore(redis, 'free', options);
  const leases: Lease[] = [];
  const take = async (): Promise<void> => {
    leases.push(await semaphore.acquire());
  };
  await take();
  await leases.pop()?.release();
  const state = 'get permits-state';
  const save = 'set permits-state';
  const lookAtEnds = 'zrange permits';
  const lookAtQueue = 'zrange permits-queue';
  const hold = ['zadd permits', save, 'pexpire permits'];
  expect(await commands(redis, take)).toEqual(script('acquire all', state, 'time', lookAtQueue, ...hold));
  expect(await commands(redis, take)).toEqual(
    script('acquire all', state, 'time', lookAtEnds, lookAtQueue, ...hold),
  );
  expect(await commands(redis, () => semaphore.tryAcquire())).toEqual(
    script('acquire all', state, 'time', lookAtEnds, 'zscore permits'),
  );
  expect(await commands(redis, () => leases[0]!.renew())).toEqual(
    script('renew permits permits-state', state, 'time', 'zscore permits', ...hold),
  );
  const inspected = [
    state,
    'time',
    lookAtEnds,
    'exists permits',
    'zcard permits-queue',
    'zrank permits-queue',
  ];
  expect(await commands(redis, () => semaphore.inspect())).toEqual([
    'evalsha_ro semaphore.inspect all',
    ...[...inspected, lookAtEnds].map((line) => `  ${line}`),
  ]);
  expect(await commands(redis, () => semaphore.available())).toEqual([
    'evalsha_ro semaphore.inspect all',
    ...inspected.map((line) => `  ${line}`),
  ]);
  const giveBack = ['zrem permits', 'exists permits-queue', save];
  expect(await commands(redis, () => leases[0]!.release())).toEqual(
    script('release all', state, ...giveBack),
  );
  const forOthers = ['zscore permits', 'zrem permits', 'time', 'exists permits-queue', save];
  expect(await commands(redis, () => semaphore.releaseFor(leases[1]!.holder))).toEqual(
    script('release all', state, ...forOthers),
  );
  expect(await commands(redis, () => semaphore.renewFor(leases[1]!.holder))).toEqual(
    script('renew permits permits-state', state, 'time', 'zscore permits'),
  );
  expect(await commands(redis, () => semaphore.setPermits(3))).toEqual(
    script('set-permits all', state, 'time', lookAtQueue, save, 'pexpire permits-state'),
  );
});

test('the first wait of a process subscribes and re-checks', async () => {
  const held = await new Semaphore(redis, 'first', options).acquire({ permits: 2 });
  const semaphore = new Semaphore(clients[0]!, 'first', options);
  const queue = `${prefix}:locks:{first}:permits-queue`;
  const controller = new AbortController();
  const lines = await commands(clients[0]!, async () => {
    const recheck = await watchFor(redis, scripts.semaphoreRecheck.sha1, queue);
    const wait = semaphore.acquire({ signal: controller.signal });
    void wait.catch(() => undefined);
    await recheck.seen;
    controller.abort(new Error('enough'));
    await expect(wait).rejects.toThrow('enough');
    // No more is sent once the waiter has left.
    await until('the end of the wait', async () => (await redis.zcard(queue)) === 0);
  });
  expect(withoutLaterRechecks(lines).filter((line) => line !== 'zcard permits-queue')).toEqual([
    'evalsha semaphore.acquire all',
    '  get permits-state',
    '  time',
    '  zrange permits',
    '  zscore permits',
    '  zrange permits-queue',
    '  zadd permits-queue',
    '  pexpire permits-queue',
    '  set permits-state',
    'subscribe grant',
    'evalsha semaphore.recheck all',
    '  get permits-state',
    '  time',
    '  zscore permits',
    '  zadd permits-queue',
    '  pexpire permits-queue',
    '  zrange permits',
    'evalsha semaphore.release all',
    '  get permits-state',
    '  zscore permits',
    '  zrem permits',
    '  zrem permits-queue',
    '  exists permits-queue',
  ]);
  await held.release();
});

test('from then on a hand-off is one command to ask and one to release, and the grant is a message', async () => {
  const [first, second] = clients.map((client) => new Semaphore(client, 'pool', options)) as [
    Semaphore,
    Semaphore,
  ];
  const held = await first.acquire({ permits: 2 });
  const lines = await commands(clients[0]!, async () => {
    const wait = second.acquire();
    // The wait itself ends with its grant, not with the reply to its command.
    await new Semaphore(clients[1]!, 'pool', options).tryAcquire();
    await held.release();
    await (await wait).release();
  });
  expect(withoutRechecks(lines)).toEqual([
    // Both in one tick of one process: one command.
    'evalsha semaphore.acquire all',
    '  get permits-state',
    '  time',
    '  zrange permits',
    '  zscore permits',
    '  zscore permits',
    '  zrange permits-queue',
    '  zadd permits-queue',
    '  pexpire permits-queue',
    '  set permits-state',
    'evalsha semaphore.release all',
    '  get permits-state',
    '  zrem permits',
    '  exists permits-queue',
    '  time',
    '  zrange permits-queue',
    '  zrem permits-queue',
    '  pubsub grant',
    '  publish grant',
    '  zadd permits',
    '  zrange permits-queue',
    '  set permits-state',
    '  pexpire permits',
    'evalsha semaphore.release all',
    '  get permits-state',
    '  zrem permits',
    '  exists permits-queue',
    '  set permits-state',
  ]);
});

test('a head that gives up is one command, which grants to those behind it', async () => {
  const [first, second] = clients.map((client) => new Semaphore(client, 'pool', options)) as [
    Semaphore,
    Semaphore,
  ];
  const held = await first.acquire();
  const controller = new AbortController();
  const heavy = second.acquire({ permits: 2, signal: controller.signal });
  await queued(first, 1);
  const light = first.acquire();
  await queued(first, 2);
  const lines = await commands(clients[1]!, async () => {
    controller.abort(new Error('enough'));
    await expect(heavy).rejects.toThrow('enough');
    await light;
  });
  expect(withoutRechecks(lines)).toEqual(
    script(
      'release all',
      'get permits-state',
      'zscore permits',
      'zrem permits',
      'zrem permits-queue',
      'exists permits-queue',
      'time',
      'zrange permits',
      'zrange permits-queue',
      'zrem permits-queue',
      'pubsub grant',
      'publish grant',
      'zadd permits',
      'set permits-state',
      'pexpire permits',
    ),
  );
  expect(await (await light).release()).toBe(true);
  expect(await held.release()).toBe(true);
});

async function callsOf(target: RedisServer): Promise<Record<string, number>> {
  const info = String(await target.command('INFO', 'commandstats'));
  const lines = info.matchAll(/^cmdstat_(\w+):calls=(\d+)/gm);
  return Object.fromEntries(Array.from(lines, ([, name, calls]) => [name, Number(calls)]));
}

test('ten processes that take turns send exactly two commands for each acquisition', async () => {
  const before = await callsOf(server);
  let acquisitions = 0;
  const startedAt = performance.now();
  await Promise.all(
    clients.map(async (client, index) => {
      const semaphore = new Semaphore(client, 'pool', options);
      const permits = 1 + (index % 2);
      for (let round = 0; round < 20; round += 1) {
        await semaphore.using(() => (acquisitions += 1), { permits });
      }
    }),
  );
  const extras = mostExtras(10, performance.now() - startedAt);
  const after = await callsOf(server);
  expect(acquisitions).toBe(200);
  const sent = after['evalsha']! - before['evalsha']!;
  expect(sent).toBeGreaterThanOrEqual(400);
  expect(sent).toBeLessThanOrEqual(400 + extras);
  for (const name of ['eval', 'subscribe', 'ping']) expect(after[name]).toBe(before[name]);
});

test('what callers of one tick ask for travels together, and so do releases and renewals', async () => {
  const semaphore = new Semaphore(redis, 'many', { prefix, permits: 30 });
  const leases: Lease[] = [];
  const scriptsOf = async (action: () => Promise<unknown>): Promise<string[]> =>
    (await commands(redis, action)).filter((line) => line.startsWith('evalsha'));
  expect(
    await scriptsOf(async () => {
      leases.push(...(await Promise.all(Array.from({ length: 30 }, () => semaphore.acquire()))));
    }),
  ).toEqual(['evalsha semaphore.acquire all']);
  expect(await scriptsOf(() => Promise.all(leases.map((lease) => lease.renew())))).toEqual([
    'evalsha semaphore.renew permits permits-state',
  ]);
  expect(await scriptsOf(() => Promise.all(leases.map((lease) => lease.release())))).toEqual([
    'evalsha semaphore.release all',
  ]);
});
