/** Repairs of a Semaphore, beside those of every kind in recheck.test.ts. They run at the same time. */
import { expect, test } from '@jest/globals';
import { Semaphore } from '@mortise/locks';
import { connect, freshPrefix, runServer, until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import { fastestOf } from '../fixture/fastest-of.js';
import { queued } from '../fixture/queued.js';

const alone = await runServer({ isCluster: true });

/** A re-check comes within 1.2 s, and a busy machine may add some. Without one, a lease of ten seconds would be waited for. */
const RECHECK_LIMIT_MS = 8_000;

interface Pool {
  readonly redis: Redis;
  readonly mine: Semaphore;
  readonly theirs: Semaphore;
  readonly prefix: string;
  readonly permits: string;
  readonly queue: string;
  readonly state: string;
}

function pool(permits: number, leaseMs = 10_000, url?: string): Pool {
  const prefix = freshPrefix();
  const key = (part: string): string => `${prefix}:locks:{pool}:${part}`;
  const redis = connect(url);
  const [mine, theirs] = [redis, connect(url)].map(
    (client) => new Semaphore(client, 'pool', { prefix, permits, leaseMs }),
  ) as [Semaphore, Semaphore];
  const keys = { permits: key('permits'), queue: key('permits-queue'), state: key('permits-state') };
  return { redis, mine, theirs, prefix, ...keys };
}

test.concurrent('grants whose messages were lost reach their waiters', async () => {
  const { redis, mine, theirs, permits, queue } = pool(2);
  const held = await mine.acquire({ permits: 2 });
  const waits = [theirs.acquire(), theirs.acquire(), theirs.acquire()];
  await queued(mine, 3);
  // A release without its messages: the permits change hands, and the number of used ones stays.
  const heads = await redis.zrange(queue, '0', '1');
  const end = (await redis.zscore(permits, held.holder))!;
  await redis
    .multi()
    .zrem(queue, ...heads)
    .del(permits)
    .zadd(permits, end, heads[0]!, end, heads[1]!)
    .exec();
  const startedAt = performance.now();
  const leases = [await waits[0]!, await waits[1]!];
  expect(performance.now() - startedAt).toBeLessThan(RECHECK_LIMIT_MS);
  expect(leases.map(({ holder }) => holder)).toEqual(heads);
  for (const lease of leases) expect(lease.fencingToken).toBeGreaterThan(held.fencingToken);
  expect(leases[0]!.fencingToken).not.toBe(leases[1]!.fencingToken);
  for (const lease of leases) expect(await lease.release()).toBe(true);
  expect(await (await waits[2]!).release()).toBe(true);
  expect(await mine.inspect()).toMatchObject({ used: 0, queueLength: 0 });
});

test.concurrent('an idle waiter for more than the limit is refused, and blocks no waiter', async () => {
  const { redis, mine, theirs, prefix, queue } = pool(2);
  const deaf = connect();
  const held = await mine.acquire({ permits: 2 });
  const wait = theirs.acquire();
  await queued(mine, 1);
  const messages: string[] = [];
  deaf.on('message', (_, message: string) => messages.push(message));
  await deaf.subscribe(`${prefix}:locks:{pool}:permits-grant:deaf`);
  await redis.zadd(queue, 1, 'deaf.a.1000.3');
  expect(await held.release()).toBe(true);
  expect(await (await wait).release()).toBe(true);
  await until('the message', () => messages.length > 0);
  expect(messages).toEqual(['a:!2']);
  // A first re-check that the server doesn't know may arrive after the release. Its grant ends when nobody confirms it.
  await until('no permit is used', async () => (await mine.inspect()).used === 0);
  expect(await mine.inspect()).toMatchObject({ used: 0, queueLength: 0 });
});

test.concurrent('a release drops dead waiters, a hundred in one call, and the next waiter gets the permit', async () => {
  const turn = async (): Promise<number> => {
    const { redis, mine, theirs, queue } = pool(1);
    const held = await mine.acquire();
    const wait = theirs.acquire();
    await queued(mine, 1);
    const dead = Array.from({ length: 250 }, (_, index) => [index, `dead.${index}.1000.1`]).flat();
    await redis.zadd(queue, ...dead, 251, 'no waiter', 252, 'nor.this.one');
    const startedAt = performance.now();
    expect(await held.release()).toBe(true);
    expect(await (await wait).release()).toBe(true);
    const tookMs = performance.now() - startedAt;
    expect(await mine.inspect()).toMatchObject({ used: 0, queueLength: 0 });
    return tookMs;
  };
  expect(await fastestOf(3, turn)).toBeLessThan(900);
});

test.concurrent('tryAcquire goes past more dead waiters and holders than one call clears', async () => {
  const { redis, mine, theirs, queue, permits } = pool(300);
  const held = await mine.acquire({ permits: 300 });
  const dead = Array.from({ length: 450 }, (_, index) => [index, `dead.${index}.1000.1`]).flat();
  await redis.zadd(queue, ...dead);
  await redis.zadd(permits, 'XX', 1, held.holder);
  expect((await theirs.tryAcquire({ permits: 300 }))?.isValid).toBe(true);
  expect(await mine.inspect()).toMatchObject({ used: 300, queueLength: 0 });
});

test.concurrent('permits of newcomers after a loss are missing for the lost holders', async () => {
  const { redis, mine, theirs, permits, state } = pool(3, 60_000);
  const lost = [await mine.acquire(), await mine.acquire(), await mine.acquire()];
  await redis.del(permits, state);
  // No caller can know better: it is the first one of an unknown semaphore.
  const newcomer = await theirs.acquire({ permits: 1 });
  await lost[0]!.renew();
  expect(await mine.inspect()).toMatchObject({ used: 2 });
  // From now on the process knows that there may be more of them.
  expect(await theirs.tryAcquire()).toBeNull();
  expect(await theirs.available()).toBe(0);
  await lost[1]!.renew();
  await expect(lost[2]!.renew()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', reason: 'taken' });
  expect(await mine.inspect()).toMatchObject({ used: 3 });
  // All three have reported, so nothing is kept back any more.
  expect(await newcomer.release()).toBe(true);
  const next = await theirs.tryAcquire();
  expect(next?.fencingToken).toBeGreaterThan(newcomer.fencingToken);
  expect(newcomer.fencingToken).toBeGreaterThan(lost[2]!.fencingToken);
  for (const lease of [lost[0]!, lost[1]!, next!]) expect(await lease.release()).toBe(true);
  expect(await mine.available()).toBe(3);
});

test.concurrent('the state may be lost without the permits: they are counted again', async () => {
  const { redis, mine, theirs, state } = pool(5, 60_000);
  const leases = [await mine.acquire({ permits: 2 }), await mine.acquire({ permits: 2 })];
  const wait = theirs.acquire({ permits: 3 });
  await queued(mine, 1);
  await redis.del(state);
  expect(await mine.inspect()).toMatchObject({ limit: 5, used: 4, queueLength: 1 });
  await leases[0]!.renew();
  expect(await theirs.tryAcquire()).toBeNull();
  expect(await mine.inspect()).toMatchObject({ limit: 5, used: 4, queueLength: 1 });
  await redis.del(state);
  expect(await leases[0]!.release()).toBe(true);
  const last = await wait;
  expect(await mine.inspect()).toMatchObject({ limit: 5, used: 5, queueLength: 0 });
  for (const lease of [leases[1]!, last]) expect(await lease.release()).toBe(true);
  expect(await mine.available()).toBe(5);
});

test.concurrent('the permits may be lost without the state: callers wait for their holders', async () => {
  const { redis, mine, theirs, permits } = pool(2, 60_000);
  const leases = [await mine.acquire(), await mine.acquire()];
  await redis.del(permits);
  expect(await theirs.tryAcquire()).toBeNull();
  expect(await theirs.available()).toBe(0);
  await leases[0]!.renew();
  expect(await theirs.tryAcquire()).toBeNull();
  expect(await theirs.inspect()).toMatchObject({ used: 1, limit: 2 });
  expect(await leases[1]!.release()).toBe(true);
  const next = await theirs.tryAcquire();
  expect(next?.isValid).toBe(true);
  expect(await theirs.tryAcquire()).toBeNull();
  for (const lease of [leases[0]!, next!]) expect(await lease.release()).toBe(true);
  expect(await (await theirs.acquire({ permits: 2 })).release()).toBe(true);
});

test.concurrent('the limit after a loss is that of the waiters, not of old leases', async () => {
  const { redis, mine, theirs, prefix, permits, queue, state } = pool(2, 60_000);
  const old = await mine.acquire({ permits: 2 });
  const waits = [mine.acquire()];
  await queued(mine, 1);
  await mine.setPermits(4);
  waits.push(mine.acquire());
  const leases = await Promise.all(waits);
  const wait = mine.acquire({ permits: 4 });
  await queued(mine, 1);
  for (let round = 0; round < 2; round += 1) {
    await redis.del(permits, queue, state);
    await old.renew();
    await queued(mine, 1);
    for (const lease of leases) await lease.renew();
    expect(await mine.inspect()).toMatchObject({ limit: 4, used: 4, queueLength: 1 });
  }
  await expect(theirs.acquire()).rejects.toMatchObject({ value: 2, knownValue: 4 });
  for (const lease of [old, ...leases]) expect(await lease.release()).toBe(true);
  expect(await (await wait).release()).toBe(true);
  expect(await new Semaphore(redis, 'pool', { prefix, permits: 4 }).available()).toBe(4);
});

const HOUR_US = 3_600_000_000;

/**
 * Moves all instants that Redis knows of a semaphore, as if a clock that was ahead had written them: a test cannot set the
 * clock of the server.
 */
async function setClockBack({ redis, state, permits, queue }: Pool, byUs: number): Promise<void> {
  const script = `
    local limit, used, token, at, ahead, began, lostUntil, reported = cmsgpack.unpack(redis.call('GET', KEYS[1]))
    local by = tonumber(ARGV[1])
    local state = cmsgpack.pack(limit, used, token + by, at + by, ahead, began, lostUntil, reported)
    redis.call('SET', KEYS[1], state, 'KEEPTTL')
    for i = 2, 3 do
      local scores = redis.call('ZRANGE', KEYS[i], 0, -1, 'WITHSCORES')
      for j = 1, #scores, 2 do redis.call('ZADD', KEYS[i], scores[j + 1] + by, scores[j]) end
    end`;
  await redis.eval(script, 3, state, permits, queue, byUs);
}

test.concurrent('a clock that goes back by an hour does not keep the permits of the dead for an hour', async () => {
  const scene = pool(2, 4_000);
  const { redis, mine, theirs, prefix } = scene;
  const dying = new Semaphore(redis, 'pool', { prefix, permits: 2, leaseMs: 4_000, renew: false });
  const dead = await dying.acquire();
  const alive = await mine.acquire();
  await setClockBack(scene, HOUR_US);
  expect(await mine.tryAcquire()).toBeNull();
  expect(await mine.available()).toBe(0);
  const { expiresAt } = alive;
  const lease = await theirs.acquire({ waitMs: 20_000 });
  expect(performance.now()).toBeGreaterThan(dead.expiresAt);
  expect(lease.fencingToken).toBeGreaterThan(dead.fencingToken + HOUR_US - 1);
  await until('a renewal', () => alive.expiresAt > expiresAt);
  expect(await mine.inspect()).toMatchObject({ used: 2 });
  expect(await mine.tryAcquire()).toBeNull();
  expect(await alive.release()).toBe(true);
  expect(await lease.release()).toBe(true);
});

test.concurrent('it goes back again and again: tokens rise, nobody is overtaken, nothing is granted twice', async () => {
  const scene = pool(1);
  const { mine, theirs } = scene;
  const tokens: number[] = [];
  for (const byUs of [500_000, 10_000_000, HOUR_US, 24 * HOUR_US]) {
    const held = await mine.acquire();
    const waits = [theirs.acquire()];
    await queued(mine, 1);
    await setClockBack(scene, byUs);
    waits.push(mine.acquire());
    await queued(mine, 2);
    expect(await theirs.tryAcquire()).toBeNull();
    tokens.push(held.fencingToken);
    expect(await held.release()).toBe(true);
    for (const wait of waits) {
      const lease = await wait;
      await lease.renew();
      tokens.push(lease.fencingToken);
      expect(await lease.release()).toBe(true);
    }
  }
  expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
});

test.concurrent('when the state is lost and the clock has gone back, tokens go on rising and leases last', async () => {
  const scene = pool(3, 5_000);
  const { redis, mine, permits, state } = scene;
  await (await mine.acquire()).release();
  await setClockBack(scene, HOUR_US);
  const lost = await mine.acquire();
  await redis.del(permits, state);
  const newcomer = await mine.acquire();
  expect(newcomer.fencingToken).toBeLessThan(lost.fencingToken);
  await redis.del(permits, state);
  await lost.renew();
  await newcomer.renew();
  expect(await mine.inspect()).toMatchObject({ used: 2 });
  const lease = await mine.acquire();
  expect(lease.fencingToken).toBeGreaterThan(lost.fencingToken);
  expect(await mine.inspect()).toMatchObject({ used: 3 });
  for (const held of [lost, newcomer, lease]) expect(await held.release()).toBe(true);
});

test.concurrent('the first grant after the clock went back counts, too', async () => {
  const scene = pool(2);
  const { mine } = scene;
  const leases = [await mine.acquire()];
  await setClockBack(scene, HOUR_US);
  leases.push(await mine.acquire());
  expect(await mine.tryAcquire()).toBeNull();
  await leases[0]!.renew();
  expect(await mine.inspect()).toMatchObject({ used: 2 });
  for (const lease of leases) expect(await lease.release()).toBe(true);
});

test('FLUSHALL and SCRIPT FLUSH during 50 waits: holders come back, and all waiters get permits', async () => {
  const { redis, mine, theirs } = pool(3, 6_000, alone.server.url);
  const held = [await mine.acquire(), await mine.acquire(), await theirs.acquire()];
  let inside = 3;
  let most = 0;
  const tokens = held.map(({ fencingToken }) => fencingToken);
  const order: number[] = [];
  const sections: Promise<unknown>[] = [];
  for (let index = 0; index < 50; index += 1) {
    const section = theirs.using(async (_, { fencingToken }) => {
      inside += 1;
      most = Math.max(most, inside);
      order.push(index);
      tokens.push(fencingToken);
      await redis.ping();
      inside -= 1;
    });
    sections.push(section);
  }
  await queued(mine, 50);
  await redis.flushall();
  await redis.script('FLUSH');
  await queued(mine, 50);
  expect(order).toEqual([]);
  // Two come back by their renewals; the third one reports when it releases.
  const back = await until('two holders', async () => {
    const { holders } = await mine.inspect();
    return holders.length >= 2 && holders;
  });
  expect(back.every(({ holder }) => held.some((lease) => lease.holder === holder))).toBe(true);
  for (const lease of held) {
    expect(lease.isValid).toBe(true);
    inside -= 1;
    expect(await lease.release()).toBe(true);
  }
  await Promise.all(sections);
  expect(most).toBeLessThanOrEqual(3);
  expect(order).toEqual(Array.from({ length: 50 }, (_, index) => index));
  expect(tokens.slice(3)).toEqual([...new Set(tokens.slice(3))].toSorted((a, b) => a - b));
  expect(Math.min(...tokens.slice(3))).toBeGreaterThan(Math.max(...tokens.slice(0, 3)));
  expect(await mine.inspect()).toMatchObject({ limit: 3, used: 0, queueLength: 0 });
});

test('CLIENT KILL TYPE pubsub during 50 waits lets no more in than there are permits', async () => {
  const { redis, mine, theirs } = pool(2, 10_000, alone.server.url);
  const held = await mine.acquire({ permits: 2 });
  let inside = 2;
  let most = 0;
  const sections = Array.from({ length: 50 }, () =>
    theirs.using(async () => {
      inside += 1;
      most = Math.max(most, inside);
      await redis.ping();
      inside -= 1;
    }),
  );
  await queued(mine, 50);
  inside -= 2;
  await Promise.all([redis.client('KILL', 'TYPE', 'PUBSUB'), held.release()]);
  await Promise.all(sections);
  expect(most).toBeLessThanOrEqual(2);
  expect(await mine.inspect()).toMatchObject({ used: 0, queueLength: 0 });
});
