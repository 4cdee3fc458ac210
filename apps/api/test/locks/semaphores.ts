/** Semaphores over HTTP. Their leases are those of locks, so locks.ts has what both do. */
import { describe, expect, test } from '@jest/globals';
import { Semaphore } from '@mortise/locks';
import { until } from '@mortise/test-kit';

import { keysOf } from '../fixture/redis.js';
import { api, elsewhere, Leases, prefix, problem, redis } from './leases.js';

const semaphores = new Leases('semaphore');

describe('a semaphore', () => {
  test('lends as many permits as there are, at every process', async () => {
    const name = semaphores.freshName();
    const unused = { name, limit: null, used: 0, queueLength: 0, longestWaitMs: 0, holders: [] };
    expect(await semaphores.look(name)).toEqual(unused);
    const one = await semaphores.take(name, { permits: 3 });
    const two = await semaphores.post(
      `${name}/acquire`,
      { permits: 3, take: 2, leaseMs: 120_000 },
      {},
      elsewhere,
    );
    expect([two.status, two.json.fencingToken > one.fencingToken]).toEqual([201, true]);
    expect(await semaphores.look(name)).toEqual({
      name,
      limit: 3,
      used: 3,
      queueLength: 0,
      longestWaitMs: 0,
      holders: [
        { holder: one.holder, owner: null, permits: 1, remainingMs: expect.any(Number) },
        { holder: two.json.holder, owner: null, permits: 2, remainingMs: expect.any(Number) },
      ],
    });
    const refused = await semaphores.post(`${name}/acquire`, { permits: 3 });
    expect([refused.status, refused.json]).toMatchObject([
      409,
      { type: problem('lock-timeout'), semaphoreName: name, waitMs: 0, limit: 3, used: 3 },
    ]);

    const renewed = await semaphores.post(
      `${name}/renew`,
      { holder: one.holder, leaseMs: 300_000 },
      {},
      elsewhere,
    );
    expect([renewed.status, renewed.json.expiresInMs > 290_000]).toEqual([200, true]);
    const released = await semaphores.post(`${name}/release`, { holder: one.holder }, {}, elsewhere);
    expect([released.status, released.json]).toEqual([200, { isReleased: true }]);
    const lost = await semaphores.post(`${name}/renew`, { holder: one.holder });
    expect([lost.status, lost.json]).toMatchObject([
      409,
      { type: problem('lease-lost'), semaphoreName: name, holder: one.holder },
    ]);
    expect((await semaphores.look(name)).used).toBe(2);
  });

  test('is waited for in order: one who wants many is not overtaken', async () => {
    const name = semaphores.freshName();
    const first = await semaphores.take(name, { permits: 3, take: 2 });
    const many = semaphores.post(`${name}/acquire`, { permits: 3, take: 3, leaseMs: 60_000, waitMs: 30_000 });
    await semaphores.untilQueued(name, 1);
    const few = semaphores.post(
      `${name}/acquire`,
      { permits: 3, leaseMs: 60_000, waitMs: 30_000 },
      {},
      elsewhere,
    );
    await semaphores.untilQueued(name, 2);
    await semaphores.post(`${name}/release`, { holder: first.holder });
    const { status, json } = await many;
    expect([status, json.expiresInMs > 50_000]).toEqual([201, true]);
    // Not only promised: a waiter's lease begins with a claim of a second.
    expect((await semaphores.look(name)).holders[0].remainingMs).toBeGreaterThan(50_000);
    await semaphores.untilQueued(name, 1);
    await semaphores.post(`${name}/release`, { holder: json.holder });
    expect((await few).status).toBe(201);
  });

  test('gives the permits of one holder to a waiter when an operator takes them away', async () => {
    const name = semaphores.freshName();
    const [first, kept] = [
      await semaphores.take(name, { permits: 2 }),
      await semaphores.take(name, { permits: 2 }),
    ];
    const waiting = semaphores.post(`${name}/acquire`, { permits: 2, leaseMs: 60_000, waitMs: 30_000 });
    await semaphores.untilQueued(name, 1);
    const take = async (holder: string): Promise<unknown> =>
      (await semaphores.post(`${name}/force-release`, { holder }, {}, elsewhere)).json;
    expect(await take(first.holder)).toEqual({ isReleased: true });
    const { holder } = (await waiting).json;
    const holders = (await semaphores.look(name)).holders.map((each: { holder: string }) => each.holder);
    expect(new Set(holders)).toEqual(new Set([kept.holder, holder]));
    expect(await take(first.holder)).toEqual({ isReleased: false });
    expect((await semaphores.post(`${name}/renew`, { holder: first.holder })).json.type).toBe(
      problem('lease-lost'),
    );
  });

  test('has one number of permits, which an operator changes', async () => {
    const name = semaphores.freshName();
    await semaphores.take(name, { permits: 1 });
    const other = await semaphores.post(`${name}/acquire`, { permits: 2 });
    expect([other.status, other.json]).toMatchObject([
      409,
      { type: problem('semaphore-limit'), semaphoreName: name, limit: 2, knownLimit: 1 },
    ]);
    const waiting = semaphores.post(`${name}/acquire`, { permits: 1, waitMs: 30_000 });
    await semaphores.untilQueued(name, 1);
    const changed = await api.send({ method: 'PUT', path: `/v1/semaphores/${name}`, body: { permits: 2 } });
    expect([changed.status, changed.json]).toMatchObject([200, { name, limit: 2 }]);
    expect((await waiting).status).toBe(201);
    expect((await semaphores.look(name)).used).toBe(2);
    expect((await semaphores.post(`${name}/acquire`, { permits: 1 })).json.type).toBe(
      problem('semaphore-limit'),
    );
  });

  test('is the same that the package knows by this name, and no lock', async () => {
    const name = semaphores.freshName();
    const semaphore = new Semaphore(redis, name, { permits: 1, prefix });
    const { holder } = await semaphores.take(name, { permits: 1 });
    expect(await semaphore.tryAcquire()).toBeNull();
    const ofLock = await api.send({ method: 'POST', path: `/v1/locks/${name}/acquire`, body: {} });
    expect(ofLock.status).toBe(201);
    await semaphores.post(`${name}/release`, { holder });
    const lease = await semaphore.tryAcquire();
    expect((await semaphores.look(name)).holders).toMatchObject([{ holder: lease!.holder }]);
    await lease!.release();
  });

  test('gets back what is not renewed', async () => {
    const name = semaphores.freshName();
    const { holder } = await semaphores.take(name, { permits: 1, leaseMs: 1_000 });
    await until('the end of the lease', async () => (await semaphores.look(name)).used === 0);
    expect((await semaphores.post(`${name}/renew`, { holder })).json.type).toBe(problem('lease-lost'));
  });

  test('lends under one Idempotency-Key once', async () => {
    const name = semaphores.freshName();
    const key = { 'idempotency-key': 'try-1' };
    const body = { permits: 5, take: 2, leaseMs: 60_000 };
    const first = await semaphores.post(`${name}/acquire`, body, key);
    const again = await semaphores.post(`${name}/acquire`, body, key, elsewhere);
    expect([first.status, again.status, again.json.holder]).toEqual([201, 200, first.json.holder]);
    const other = await semaphores.post(`${name}/acquire`, { ...body, take: 1 }, key);
    expect([other.status, other.json.type]).toEqual([422, problem('request-reused')]);
    expect((await semaphores.look(name)).used).toBe(2);
  });
});

test('the list has each semaphore that is held or waited for once', async () => {
  const held = Array.from({ length: 10 }, () => semaphores.freshName());
  for (const name of held) await semaphores.take(name, { permits: 4, take: 2 });
  const waiting = semaphores.post(`${held[0]!}/acquire`, { permits: 4, take: 4, waitMs: 30_000 });
  await semaphores.untilQueued(held[0]!, 1);
  const found = await semaphores.list(3);
  expect(new Set(found.map(({ name }) => name)).size).toBe(found.length);
  for (const name of held) {
    const queueLength = name === held[0] ? 1 : 0;
    expect(found.find((entry) => entry.name === name)).toEqual({
      name,
      limit: 4,
      used: 2,
      queueLength,
      longestWaitMs: expect.any(Number),
    });
  }
  const [{ holder }] = (await semaphores.look(held[0]!)).holders;
  await semaphores.post(`${held[0]!}/release`, { holder });
  expect((await waiting).status).toBe(201);
});

test('all keys that the tests of locks and semaphores leave expire', async () => {
  // The stream of the audit log has a length instead.
  const keys = (await keysOf(redis, prefix)).filter((key) => !key.includes('{audit}'));
  const expiries = await Promise.all(keys.map((key) => redis.pttl(key)));
  expect(keys.length).toBeGreaterThan(20);
  expect(keys.filter((_, index) => expiries[index] === -1)).toEqual([]);
});
