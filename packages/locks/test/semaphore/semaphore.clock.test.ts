/** The server's clock goes back. A test cannot set it, but writes the state that a clock which was ahead left. */
import { expect, test } from '@jest/globals';
import { Semaphore } from '@mortise/locks';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { queued } from '../fixture/queued.js';

const redis = connect();
const other = connect();
const HOUR_US = 3_600_000_000;

/** Moves all instants that Redis knows of a semaphore, as if they had been written by a clock that was ahead. */
async function setClockBack(prefix: string, byUs: number): Promise<void> {
  const key = (part: string): string => `${prefix}:locks:{pool}:${part}`;
  const script = `
    local limit, used, token, at, ahead, began, lostUntil, reported = cmsgpack.unpack(redis.call('GET', KEYS[1]))
    local by = tonumber(ARGV[1])
    local state = cmsgpack.pack(limit, used, token + by, at + by, ahead, began, lostUntil, reported)
    redis.call('SET', KEYS[1], state, 'KEEPTTL')
    for i = 2, 3 do
      local scores = redis.call('ZRANGE', KEYS[i], 0, -1, 'WITHSCORES')
      for j = 1, #scores, 2 do redis.call('ZADD', KEYS[i], scores[j + 1] + by, scores[j]) end
    end`;
  await redis.eval(script, 3, key('permits-state'), key('permits'), key('permits-queue'), byUs);
}

test.concurrent('a clock that goes back by an hour does not keep the permits of the dead for an hour', async () => {
  const prefix = freshPrefix();
  const options = { prefix, permits: 2, leaseMs: 4_000 };
  const dead = await new Semaphore(redis, 'pool', { ...options, renew: false }).acquire();
  const semaphore = new Semaphore(redis, 'pool', options);
  const alive = await semaphore.acquire();
  await setClockBack(prefix, HOUR_US);
  expect(await semaphore.tryAcquire()).toBeNull();
  expect(await semaphore.available()).toBe(0);
  const { expiresAt } = alive;
  const lease = await new Semaphore(other, 'pool', options).acquire({ waitMs: 20_000 });
  expect(performance.now()).toBeGreaterThan(dead.expiresAt);
  expect(lease.fencingToken).toBeGreaterThan(dead.fencingToken + HOUR_US - 1);
  await until('a renewal', () => alive.expiresAt > expiresAt);
  expect(await semaphore.inspect()).toMatchObject({ used: 2 });
  expect(await semaphore.tryAcquire()).toBeNull();
  expect(await alive.release()).toBe(true);
  expect(await lease.release()).toBe(true);
});

test.concurrent('it goes back again and again: tokens rise, nobody is overtaken, nothing is granted twice', async () => {
  const prefix = freshPrefix();
  const semaphore = new Semaphore(redis, 'pool', { prefix, permits: 1 });
  const second = new Semaphore(other, 'pool', { prefix, permits: 1 });
  const tokens: number[] = [];
  for (const byUs of [500_000, 10_000_000, HOUR_US, 24 * HOUR_US]) {
    const held = await semaphore.acquire();
    const waits = [second.acquire()];
    await queued(semaphore, 1);
    await setClockBack(prefix, byUs);
    waits.push(semaphore.acquire());
    await queued(semaphore, 2);
    expect(await second.tryAcquire()).toBeNull();
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
  const prefix = freshPrefix();
  const semaphore = new Semaphore(redis, 'pool', { prefix, permits: 3, leaseMs: 5_000 });
  await (await semaphore.acquire()).release();
  await setClockBack(prefix, HOUR_US);
  const lost = await semaphore.acquire();
  const key = (part: string): string => `${prefix}:locks:{pool}:${part}`;
  await redis.del(key('permits'), key('permits-state'));
  const newcomer = await semaphore.acquire();
  expect(newcomer.fencingToken).toBeLessThan(lost.fencingToken);
  await redis.del(key('permits'), key('permits-state'));
  await lost.renew();
  await newcomer.renew();
  expect(await semaphore.inspect()).toMatchObject({ used: 2 });
  const lease = await semaphore.acquire();
  expect(lease.fencingToken).toBeGreaterThan(lost.fencingToken);
  expect(await semaphore.inspect()).toMatchObject({ used: 3 });
  for (const held of [lost, newcomer, lease]) expect(await held.release()).toBe(true);
});

test.concurrent('the first grant after the clock went back counts, too', async () => {
  const prefix = freshPrefix();
  const semaphore = new Semaphore(redis, 'pool', { prefix, permits: 2 });
  const leases = [await semaphore.acquire()];
  await setClockBack(prefix, HOUR_US);
  leases.push(await semaphore.acquire());
  expect(await semaphore.tryAcquire()).toBeNull();
  await leases[0]!.renew();
  expect(await semaphore.inspect()).toMatchObject({ used: 2 });
  for (const lease of leases) expect(await lease.release()).toBe(true);
});
