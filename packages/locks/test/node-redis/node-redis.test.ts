import { describe, expect, test } from '@jest/globals';
import { freshPrefix, until } from '@mortise/test-kit';
import { connectNodeRedis, NODE_REDIS_MAJORS } from '@mortise/test-kit/node-redis';
import { Mutex, RateLimiter, Semaphore } from '../../src/index.js';
import { fromNodeRedis } from '../../src/node-redis/index.js';

describe.each(NODE_REDIS_MAJORS)('node-redis %s', (major) => {
  test('a lock goes from one client to the other, in order, and tokens rise', async () => {
    const prefix = freshPrefix();
    const clients = await Promise.all([connectNodeRedis(major), connectNodeRedis(major)]);
    const [one, other] = clients.map((client) => new Mutex(fromNodeRedis(client), 'lock', { prefix }));
    const first = await one!.acquire();
    expect(await other!.tryAcquire()).toBeNull();
    const waiting = other!.acquire({ waitMs: 30_000 });
    expect(await first.release()).toBe(true);
    const second = await waiting;
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
    expect(await one!.inspect()).toMatchObject({ holder: second.holder });
    await second.release();
  });

  test('a rate limiter, and its state', async () => {
    const prefix = freshPrefix();
    const client = fromNodeRedis(await connectNodeRedis(major));
    const terms = { limit: 5, periodMs: 86_400_000, burst: 5 };
    const calls = new RateLimiter(client, 'calls', { prefix, ...terms });
    expect(await calls.take(2)).toMatchObject({ isAllowed: true, remaining: 3 });
    expect(await calls.peek()).toMatchObject({ remaining: 3 });
    expect(await RateLimiter.inspect(client, 'calls', { prefix })).toMatchObject({ terms, remaining: 3 });
  });

  test('permits, and the end of a wait when the client is closed', async () => {
    const prefix = freshPrefix();
    const client = await connectNodeRedis(major);
    const semaphore = new Semaphore(fromNodeRedis(client), 'permits', { prefix, permits: 2 });
    await semaphore.acquire();
    await semaphore.acquire();
    const waiting = semaphore.acquire();
    const observer = new Semaphore(fromNodeRedis(await connectNodeRedis(major)), 'permits', {
      prefix,
      permits: 2,
    });
    await until('the wait', async () => (await observer.inspect()).queueLength === 1);
    client.destroy();
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
  });
});
