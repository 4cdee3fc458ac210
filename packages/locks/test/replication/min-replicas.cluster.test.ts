import { expect, test } from '@jest/globals';
import { Mutex } from '@mortise/locks';
import type { Lease } from '@mortise/locks';
import { TIMED_OUT, waitFor } from '@mortise/redis';
import type { RedisServer } from '@mortise/redis-server';
import { freshPrefix, runCluster, until } from '@mortise/test-kit';
import { Redis } from 'ioredis';

const { servers, cluster: redis } = await runCluster();
const prefix = freshPrefix();
const keyOf = (name: string): string => `${prefix}:locks:{${name}}:lease`;

/** The lease on the only replica of a lock's master. */
async function copyOf(name: string): Promise<string | null> {
  const [replica] = await servers.replicasOf(await servers.ownerOf(keyOf(name)));
  const copy = new Redis({ host: replica!.host, port: replica!.port, readOnly: true });
  try {
    return await copy.get(keyOf(name));
  } finally {
    copy.disconnect();
  }
}

/** One lock on each master. */
async function oneEach(): Promise<Map<RedisServer, string>> {
  const names = new Map<RedisServer, string>();
  for (let index = 0; names.size < 3; index += 1) {
    const owner = await servers.ownerOf(keyOf(`lock-${index}`));
    if (!names.has(owner)) names.set(owner, `lock-${index}`);
  }
  return names;
}

test('grants on all masters are on their replicas when the callers get them', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `lock-${index}`);
  const leases = await Promise.all(
    names.map((name) => new Mutex(redis, name, { prefix, minReplicas: 1, replicasWaitMs: 5_000 }).acquire()),
  );
  expect(await Promise.all(names.map(copyOf))).toEqual(leases.map(({ holder }) => holder));
  expect(await Promise.all(leases.map((lease) => lease.release()))).toEqual(names.map(() => true));
});

test('a replica that stands still refuses the locks of its master and of no other', async () => {
  const names = await oneEach();
  const [[owner, name]] = [...names] as [[RedisServer, string]];
  const [replica] = await servers.replicasOf(owner);
  replica!.pause();
  try {
    const probe = new Redis(replica!.url);
    await until('it to stand still', async () => (await waitFor(probe.ping(), { waitMs: 20 })) === TIMED_OUT);
    probe.disconnect();
    const take = (lock: string, replicasWaitMs: number): Promise<Lease | null> =>
      new Mutex(redis, lock, { prefix, minReplicas: 1, replicasWaitMs }).tryAcquire();
    await expect(take(name, 300)).rejects.toMatchObject({ code: 'ERR_LOCK_REPLICAS', acknowledged: 0 });
    expect(await redis.exists(keyOf(name))).toBe(0);
    for (const other of [...names.values()].filter((lock) => lock !== name)) {
      expect(await (await take(other, 5_000))!.release()).toBe(true);
    }
  } finally {
    replica!.resume();
  }
});

test('a lock follows its slot to another master', async () => {
  const names = await oneEach();
  const [[, name], [to]] = [...names] as [[RedisServer, string], [RedisServer, string]];
  const mutex = new Mutex(redis, name, { prefix, minReplicas: 1, replicasWaitMs: 5_000 });
  expect(await (await mutex.acquire()).release()).toBe(true);
  await servers.moveSlot(await redis.cluster('KEYSLOT', keyOf(name)), to);
  const lease = await mutex.acquire();
  expect(await copyOf(name)).toBe(lease.holder);
  expect(await lease.release()).toBe(true);
});

test('a lock that was acknowledged survives the failover of its master', async () => {
  const [[owner, name]] = [...(await oneEach())] as [[RedisServer, string]];
  const options = { prefix, minReplicas: 1, leaseMs: 60_000 };
  const mutex = new Mutex(redis, name, { ...options, replicasWaitMs: 1_000 });
  const lease = await new Mutex(redis, name, { ...options, replicasWaitMs: 5_000 }).acquire();
  await owner.kill();
  await servers.failover(owner);
  const holder = await until('the new master', () => redis.get(keyOf(name)).catch(() => undefined));
  expect(holder).toBe(lease.holder);
  expect(await lease.release()).toBe(true);
  // The new master has no replica yet.
  await expect(mutex.tryAcquire()).rejects.toMatchObject({ code: 'ERR_LOCK_REPLICAS', acknowledged: 0 });
  await owner.restart();
  const next = await until('its replica', () => mutex.acquire().catch(() => undefined));
  expect(await copyOf(name)).toBe(next.holder);
  expect(await next.release()).toBe(true);
});
