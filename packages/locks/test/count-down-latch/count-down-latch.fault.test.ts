import { expect, test } from '@jest/globals';
import { CountDownLatch, RateLimiter } from '@mortise/locks';
import { freshPrefix, runServer } from '@mortise/test-kit';
import { roundTrips } from '../fixture/round-trips.js';

const { server, redis, connect } = await runServer({ isCluster: true });
const clients = [connect(), connect()];

/** Twenty waiters in two processes; all have seen the latch. */
async function twentyWait(prefix: string): Promise<Promise<void>[]> {
  const waits = clients.flatMap((client) => {
    const gate = new CountDownLatch(client, 'import', { count: 3, prefix });
    return Array.from({ length: 10 }, () => gate.wait({ waitMs: 60_000 }));
  });
  // A rejection that comes before anybody looks is no accident.
  void Promise.allSettled(waits);
  await Promise.all(clients.map((client) => roundTrips(client)));
  return waits;
}

function settledBy(waits: readonly Promise<void>[]): Promise<readonly string[]> {
  return Promise.all(
    waits.map((wait) =>
      wait.then(
        () => 'open',
        (error: { code?: string }) => String(error.code),
      ),
    ),
  );
}

test('FLUSHALL: waiters learn of the lost counts within about a second', async () => {
  const prefix = freshPrefix();
  const waits = await twentyWait(prefix);
  const gate = new CountDownLatch(redis, 'import', { count: 3, prefix });
  await gate.countDown();
  await redis.flushall();
  // As if nothing had happened: it counts for a new latch.
  expect(await gate.countDown()).toBe(2);
  expect(await settledBy(waits)).toEqual(waits.map(() => 'ERR_LATCH_LOST'));
  expect(await gate.remaining()).toBe(2);
});

test('SCRIPT FLUSH: counting and waiting go on', async () => {
  const prefix = freshPrefix();
  const waits = await twentyWait(prefix);
  const gate = new CountDownLatch(redis, 'import', { count: 3, prefix });
  for (const remaining of [2, 1, 0]) {
    await redis.script('FLUSH');
    expect(await gate.countDown()).toBe(remaining);
  }
  expect(await settledBy(waits)).toEqual(waits.map(() => 'open'));
});

test('CLIENT KILL TYPE pubsub: subscriptions come back, and nothing is missed in between', async () => {
  const prefix = freshPrefix();
  const waits = await twentyWait(prefix);
  const gate = new CountDownLatch(redis, 'import', { count: 3, prefix });
  await gate.countDown();
  await redis.client('KILL', 'TYPE', 'PUBSUB');
  await gate.countDown();
  await redis.client('KILL', 'TYPE', 'PUBSUB');
  // No client gets the message: after reconnecting, a waiter has to look.
  expect(await gate.countDown()).toBe(0);
  expect(await settledBy(waits)).toEqual(waits.map(() => 'open'));
});

test('a server that does not answer: waits end in time; those that have time go on when it does', async () => {
  const prefix = freshPrefix();
  const waits = await twentyWait(prefix);
  const gate = new CountDownLatch(clients[0]!, 'import', { count: 3, prefix });
  const fresh = new CountDownLatch(clients[1]!, 'another', { count: 1, prefix });
  server.pause();
  try {
    await expect(gate.wait({ waitMs: 50 })).rejects.toMatchObject({ code: 'ERR_LATCH_TIMEOUT' });
    await expect(fresh.wait({ waitMs: 50 })).rejects.toMatchObject({ code: 'ERR_LATCH_TIMEOUT' });
  } finally {
    server.resume();
  }
  expect(await gate.countDown({ by: 3 })).toBe(0);
  expect(await settledBy(waits)).toEqual(waits.map(() => 'open'));
});

test('a server that dies and comes back empty: nobody hangs, and limiters begin anew', async () => {
  const prefix = freshPrefix();
  const waits = await twentyWait(prefix);
  const calls = new RateLimiter(redis, 'calls', { limit: 5, periodMs: 3_600_000, prefix });
  expect(await calls.take(5)).toMatchObject({ isAllowed: true, remaining: 0 });
  await server.kill();
  await server.restart();
  expect(await calls.take(5)).toMatchObject({ isAllowed: true, remaining: 0 });
  expect(await settledBy(waits)).toEqual(waits.map(() => 'ERR_LATCH_LOST'));
});
