/** Semaphores over HTTP. locks.test.ts has the behaviour that locks share. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Semaphore } from '@mortise/locks';
import { connect, freshPrefix } from '@mortise/test-kit';

import type { Answer, Api } from './fixture/api.js';
import { startApi } from './fixture/api.js';
import { keysOf, until } from './fixture/redis.js';

const redis = connect();
const prefix = freshPrefix();
let api: Api;
let elsewhere: Api;
let names = 0;

beforeAll(async () => {
  [api, elsewhere] = (await Promise.all([1, 2].map(() => startApi({ MORTISE_PREFIX: prefix })))) as [
    Api,
    Api,
  ];
});
afterAll(() => Promise.all([api.app.close(), elsewhere.app.close()]));

function freshName(): string {
  names += 1;
  return `semaphore:${names}`;
}

function post(path: string, body?: object, headers: Record<string, string> = {}, at = api): Promise<Answer> {
  return at.send({ method: 'POST', path: `/v1/semaphores/${path}`, headers, ...(body && { body }) });
}

async function look(name: string): Promise<Answer['json']> {
  return (await api.send({ path: `/v1/semaphores/${name}` })).json;
}

async function take(name: string, body: object): Promise<Answer['json']> {
  const { status, json } = await post(`${name}/acquire`, { leaseMs: 60_000, ...body });
  expect([status, json]).toEqual([201, expect.objectContaining({ name })]);
  return json;
}

async function untilQueued(name: string, queueLength: number): Promise<void> {
  await until(`${queueLength} in the queue`, async () => (await look(name)).queueLength === queueLength);
}

const problem = (slug: string): string => `https://mortise.dev/problems/${slug}`;

describe('a semaphore', () => {
  test('lends as many permits as there are, at every process', async () => {
    const name = freshName();
    expect(await look(name)).toEqual({ name, limit: null, used: 0, queueLength: 0, holders: [] });
    const one = await take(name, { permits: 3 });
    const two = await post(`${name}/acquire`, { permits: 3, take: 2, leaseMs: 120_000 }, {}, elsewhere);
    expect([two.status, two.json.fencingToken > one.fencingToken]).toEqual([201, true]);
    expect(await look(name)).toEqual({
      name,
      limit: 3,
      used: 3,
      queueLength: 0,
      holders: [
        { holder: one.holder, permits: 1, remainingMs: expect.any(Number) },
        { holder: two.json.holder, permits: 2, remainingMs: expect.any(Number) },
      ],
    });
    const refused = await post(`${name}/acquire`, { permits: 3 });
    expect([refused.status, refused.json]).toMatchObject([
      409,
      { type: problem('lock-timeout'), semaphoreName: name, waitMs: 0, limit: 3, used: 3 },
    ]);

    const renewed = await post(`${name}/renew`, { holder: one.holder, leaseMs: 300_000 }, {}, elsewhere);
    expect([renewed.status, renewed.json.expiresInMs > 290_000]).toEqual([200, true]);
    const released = await post(`${name}/release`, { holder: one.holder }, {}, elsewhere);
    expect([released.status, released.json]).toEqual([200, { isReleased: true }]);
    const lost = await post(`${name}/renew`, { holder: one.holder });
    expect([lost.status, lost.json]).toMatchObject([
      409,
      { type: problem('lease-lost'), semaphoreName: name, holder: one.holder },
    ]);
    expect((await look(name)).used).toBe(2);
  });

  test('is waited for in order: one who wants many is not overtaken', async () => {
    const name = freshName();
    const first = await take(name, { permits: 3, take: 2 });
    const many = post(`${name}/acquire`, { permits: 3, take: 3, leaseMs: 60_000, waitMs: 30_000 });
    await untilQueued(name, 1);
    const few = post(`${name}/acquire`, { permits: 3, leaseMs: 60_000, waitMs: 30_000 }, {}, elsewhere);
    await untilQueued(name, 2);
    await post(`${name}/release`, { holder: first.holder });
    const { status, json } = await many;
    expect([status, json.expiresInMs > 50_000]).toEqual([201, true]);
    // Not only promised: a waiter's lease begins with a claim of a second.
    expect((await look(name)).holders[0].remainingMs).toBeGreaterThan(50_000);
    await untilQueued(name, 1);
    await post(`${name}/release`, { holder: json.holder });
    expect((await few).status).toBe(201);
  });

  test('has one number of permits, which an operator changes', async () => {
    const name = freshName();
    await take(name, { permits: 1 });
    const other = await post(`${name}/acquire`, { permits: 2 });
    expect([other.status, other.json]).toMatchObject([
      409,
      { type: problem('semaphore-limit'), semaphoreName: name, limit: 2, knownLimit: 1 },
    ]);
    const waiting = post(`${name}/acquire`, { permits: 1, waitMs: 30_000 });
    await untilQueued(name, 1);
    const changed = await api.send({ method: 'PUT', path: `/v1/semaphores/${name}`, body: { permits: 2 } });
    expect([changed.status, changed.json]).toMatchObject([200, { name, limit: 2 }]);
    expect((await waiting).status).toBe(201);
    expect((await look(name)).used).toBe(2);
    expect((await post(`${name}/acquire`, { permits: 1 })).json.type).toBe(problem('semaphore-limit'));
  });

  test('is the same that the package knows by this name, and no lock', async () => {
    const name = freshName();
    const semaphore = new Semaphore(redis, name, { permits: 1, prefix });
    const { holder } = await take(name, { permits: 1 });
    expect(await semaphore.tryAcquire()).toBeNull();
    const ofLock = await api.send({ method: 'POST', path: `/v1/locks/${name}/acquire`, body: {} });
    expect(ofLock.status).toBe(201);
    await post(`${name}/release`, { holder });
    const lease = await semaphore.tryAcquire();
    expect((await look(name)).holders).toMatchObject([{ holder: lease!.holder }]);
    await lease!.release();
  });

  test('gets back what is not renewed', async () => {
    const name = freshName();
    const { holder } = await take(name, { permits: 1, leaseMs: 60 });
    await until('the end of the lease', async () => (await look(name)).used === 0);
    expect((await post(`${name}/renew`, { holder })).json.type).toBe(problem('lease-lost'));
  });

  test('lends under one Idempotency-Key once', async () => {
    const name = freshName();
    const key = { 'idempotency-key': 'try-1' };
    const body = { permits: 5, take: 2, leaseMs: 60_000 };
    const first = await post(`${name}/acquire`, body, key);
    const again = await post(`${name}/acquire`, body, key, elsewhere);
    expect([first.status, again.status, again.json.holder]).toEqual([201, 200, first.json.holder]);
    const other = await post(`${name}/acquire`, { ...body, take: 1 }, key);
    expect([other.status, other.json.type]).toEqual([422, problem('request-reused')]);
    expect((await look(name)).used).toBe(2);
  });
});

test('the list has each semaphore that is held or waited for once', async () => {
  const held = Array.from({ length: 10 }, freshName);
  for (const name of held) await take(name, { permits: 4, take: 2 });
  const waiting = post(`${held[0]!}/acquire`, { permits: 4, take: 4, waitMs: 30_000 });
  await untilQueued(held[0]!, 1);
  const found: Answer['json'][] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const path = `/v1/semaphores?limit=3${cursor && `&cursor=${cursor}`}`;
    const { status, json } = await api.send({ path });
    expect(status).toBe(200);
    found.push(...json.items);
    cursor = json.nextCursor;
  }
  expect(new Set(found.map(({ name }) => name)).size).toBe(found.length);
  for (const name of held) {
    const queueLength = name === held[0] ? 1 : 0;
    expect(found.find((entry) => entry.name === name)).toEqual({ name, limit: 4, used: 2, queueLength });
  }
  const [{ holder }] = (await look(held[0]!)).holders;
  await post(`${held[0]!}/release`, { holder });
  expect((await waiting).status).toBe(201);
});

test('all keys that these tests leave expire', async () => {
  const keys = await keysOf(redis, prefix);
  const lasting = [];
  for (const key of keys) if ((await redis.pttl(key)) === -1) lasting.push(key);
  expect(keys.length).toBeGreaterThan(10);
  expect(lasting).toEqual([]);
});
