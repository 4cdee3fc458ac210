import { afterEach, describe, expect, test } from '@jest/globals';
import { Claims } from '@mortise/queues';
import type { Redis } from 'ioredis';
import { connectTo, keys, newProxied, prefix, queueOn, server } from '../fixture/faults.js';
import type { Tasks } from '../fixture/launch.js';
import { reached, until } from '../fixture/until.js';

const open = new Set<Claims<Tasks>>();

/** Before the connections are closed. */
async function stopClaims(): Promise<void> {
  await Promise.all([...open].map((claims) => claims.stop()));
  open.clear();
}

afterEach(stopClaims);

function claimsOn(redis: Redis): Claims<Tasks> {
  const claims = new Claims<Tasks>(redis, 'q', { prefix, onError: () => undefined });
  open.add(claims);
  return claims;
}

/** A client that gives up when its connection is lost, as one that answers requests does. */
const HASTY = { maxRetriesPerRequest: 0 };
const GONE = { code: 'ERR_REDIS_UNREACHABLE' };

/** A call that is going to be refused while nobody waits for it yet. */
function received<T>(call: Promise<T>): Promise<T> {
  call.catch(() => undefined);
  return call;
}

describe('a reply that is lost', () => {
  test('of a claim: its tasks run again after their leases', async () => {
    const { redis: near, proxy } = await newProxied();
    const claims = claimsOn(connectTo(proxy, HASTY));
    // Its first call sends the text of the script.
    expect(await claims.claim()).toEqual([]);
    await until(async () => (await near.zcard(keys.of.idle)) === 0);
    const { id } = await queueOn(near).enqueue('t', 1);
    proxy.dropReplies();
    const claim = received(claims.claim({ leaseMs: 1_000 }));
    await until(async () => (await queueOn(near).get(id))?.attempt === 1);
    proxy.cut();
    await expect(claim).rejects.toMatchObject(GONE);
    await proxy.restore();
    const [task] = await claimsOn(near).claim({ waitMs: 30_000 });
    expect(task).toMatchObject({ id, attempt: 2 });
    await stopClaims();
  });

  test('of a completion: it counts, and a repetition rejects with ERR_LEASE_LOST', async () => {
    const { redis: near, queue, proxy } = await newProxied();
    const far = claimsOn(connectTo(proxy, HASTY));
    await queue.enqueueMany([1, 2].map((payload) => ({ name: 't', payload })));
    const [first, second] = await far.claim({ limit: 2, leaseMs: 3_600_000 });
    await far.complete(first!.id, first!.lease);
    proxy.dropReplies();
    const completion = received(far.complete(second!.id, second!.lease, 'done'));
    await reached(queue, second!.id, 'succeeded');
    proxy.cut();
    await expect(completion).rejects.toMatchObject(GONE);
    await proxy.restore();
    const again = claimsOn(near).complete(second!.id, second!.lease, 'again');
    await expect(again).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
    expect((await queue.get(second!.id))!.result).toBe('done');
    await stopClaims();
  });
});

test('a wait outlives a restart of Redis', async () => {
  const single = await server({ appendFsync: 'always' });
  const redis = connectTo(single, { maxRetriesPerRequest: null });
  const claims = claimsOn(redis);
  const claim = claims.claim({ waitMs: 30_000 });
  await until(async () => (await redis.zcard(keys.of.idle)) === 1);
  await single.kill();
  await single.restart();
  await queueOn(redis).enqueue('t', 'after');
  expect(await claim).toMatchObject([{ payload: 'after' }]);
  await stopClaims();
});

test('a lease outlives one as well, and its holder completes the task', async () => {
  const single = await server({ appendFsync: 'always' });
  const redis = connectTo(single, { maxRetriesPerRequest: null });
  const claims = claimsOn(redis);
  const queue = queueOn(redis);
  await queue.enqueue('t', 1, { id: 'a' });
  const [task] = await claims.claim({ leaseMs: 3_600_000 });
  await single.kill();
  await single.restart();
  await claims.heartbeat('a', task!.lease, 60_000);
  await claims.complete('a', task!.lease);
  expect((await queue.get('a'))!.state).toBe('succeeded');
  await stopClaims();
});
