/** Read-write locks, several locks at once, and rate limits over HTTP. */
import { describe, expect, test } from '@jest/globals';
import { MultiLock, RateLimiter, ReadWriteLock } from '@mortise/locks';
import { until } from '@mortise/test-kit';

import type { Answer } from '../fixture/api.js';
import { allPages, api, elsewhere, prefix, problem, redis } from './leases.js';

const ask = (path: string, body?: object, headers = {}, at = api): Promise<Answer> =>
  at.send({ method: 'POST', path: `/v1/${path}`, headers, ...(body && { body }) });
const seen = ({ status, json }: Answer): unknown[] => [status, json?.type ?? json];

describe('a read-write lock', () => {
  const path = (name: string, verb: string): string => `read-write-locks/${name}/${verb}`;
  const look = async (name: string): Promise<Answer['json']> =>
    (await api.send({ path: `/v1/read-write-locks/${name}` })).json;
  const take = (name: string, mode: string, more = {}): Promise<Answer> =>
    ask(path(name, 'acquire'), { mode, leaseMs: 60_000, ...more });

  test('has many readers, or one writer, with programs that use the package', async () => {
    const name = 'rw';
    const [one, two] = [await take(name, 'read'), await take(name, 'read')];
    expect([one.status, two.status]).toEqual([201, 201]);
    expect(await look(name)).toEqual({
      name,
      writer: null,
      readers: 2,
      firstReaders: expect.arrayContaining([one.json.holder, two.json.holder]),
      fencingToken: two.json.fencingToken,
      remainingMs: expect.any(Number),
      queueLength: 0,
      longestWaitMs: 0,
    });
    const refused = await take(name, 'write');
    expect([...seen(refused), refused.json.lockName]).toEqual([409, problem('lock-timeout'), name]);
    const writer = new ReadWriteLock(redis, name, { prefix }).write.acquire({ waitMs: 20_000 });
    await until('a waiting writer', async () => (await look(name)).queueLength === 1);
    expect(seen(await take(name, 'read'))).toEqual([409, problem('lock-timeout')]);
    for (const [index, { json }] of [one, two].entries()) {
      const release = { holder: json.holder as string };
      const at = index === 0 ? api : elsewhere;
      expect(seen(await ask(path(name, 'renew'), { ...release, leaseMs: 30_000 }, {}, at))).toEqual([
        200,
        { expiresInMs: expect.any(Number) },
      ]);
      expect(seen(await ask(path(name, 'release'), release, {}, at))).toEqual([200, { isReleased: true }]);
    }
    const held = await writer;
    expect((await look(name)).writer).toBe(held.holder);
    await held.release();
  });

  test('is granted to its first waiter, and once for an Idempotency-Key', async () => {
    const key = { 'idempotency-key': 'w-1' };
    const body = { mode: 'write', leaseMs: 60_000 };
    const first = await ask(path('keyed', 'acquire'), body, key);
    const again = await ask(path('keyed', 'acquire'), body, key, elsewhere);
    expect([first.status, again.status, again.json.holder]).toEqual([201, 200, first.json.holder]);
    const other = await ask(path('keyed', 'acquire'), { ...body, mode: 'read' }, key);
    expect(seen(other)).toEqual([422, problem('request-reused')]);
    const waiting = take('keyed', 'read', { waitMs: 20_000 });
    await until('a waiting reader', async () => (await look('keyed')).queueLength === 1);
    expect((await ask(path('keyed', 'force-release'), { mode: 'write' })).json).toEqual({ isReleased: true });
    expect((await waiting).status).toBe(201);
    const lost = await ask(path('keyed', 'renew'), { holder: first.json.holder, leaseMs: 1_000 });
    expect(seen(lost)).toEqual([409, problem('lease-lost')]);
  });

  test('of a holder that is none is refused', async () => {
    for (const holder of ['x', 'x.r', 'x.w']) {
      expect(seen(await ask(path('rw', 'release'), { holder }))).toEqual([400, problem('invalid-body')]);
    }
  });
});

describe('several locks', () => {
  const names = ['m:2', 'm:1'];
  const take = (body: object, headers = {}): Promise<Answer> =>
    ask('multi-locks/acquire', { leaseMs: 60_000, ...body }, headers);

  test('are held together, and are the locks of their names', async () => {
    const { status, json } = await take({ names });
    expect([status, json]).toEqual([
      201,
      {
        holder: expect.any(String),
        locks: names.map((name) => ({ name, fencingToken: expect.any(Number) })),
        expiresInMs: expect.any(Number),
      },
    ]);
    for (const { name, fencingToken } of json.locks) {
      const lock = (await api.send({ path: `/v1/locks/${name}` })).json;
      expect(lock).toMatchObject({ holder: json.holder, fencingToken });
    }
    const refused = await take({ names: ['m:1', 'm:3'] });
    expect([...seen(refused), refused.json.lockName, refused.json.lockNames]).toEqual([
      409,
      problem('lock-timeout'),
      'm:1',
      ['m:1', 'm:3'],
    ]);
    expect((await api.send({ path: '/v1/locks/m:3' })).json.holder).toBeNull();
    const { holder } = json;
    expect((await ask('multi-locks/renew', { names, holder, leaseMs: 30_000 }, {}, elsewhere)).status).toBe(
      200,
    );
    const program = new MultiLock(redis, names, { prefix }).acquire({ waitMs: 20_000 });
    expect((await ask('multi-locks/release', { names: names.toReversed(), holder })).json).toEqual({
      isReleased: true,
    });
    await (await program).release();
    expect(seen(await ask('multi-locks/renew', { names, holder, leaseMs: 30_000 }))).toEqual([
      409,
      problem('lease-lost'),
    ]);
  });

  test('are granted once for an Idempotency-Key, whatever the order of the names', async () => {
    const key = { 'idempotency-key': 'm-1' };
    const [first, again] = [
      await take({ names: ['k:1', 'k:2'] }, key),
      await take({ names: ['k:2', 'k:1'] }, key),
    ];
    expect([first.status, again.status, again.json.holder]).toEqual([201, 200, first.json.holder]);
    expect(again.json.locks).toEqual(first.json.locks.toReversed());
  });

  test.each([[[]], [['a', 'a']], [['']], [Array.from({ length: 21 }, (_, n) => `n${n}`)], ['a']])(
    'of the names %j are refused',
    async (wrong) => {
      expect(seen(await take({ names: wrong }))).toEqual([400, problem('invalid-body')]);
    },
  );
});

describe('a rate limit', () => {
  const limit = { limit: 3, periodMs: 3_600_000 };

  test('is shared with programs, and refuses without an error', async () => {
    expect((await ask('rate-limiters/mails/take', { ...limit, cost: 2 })).json).toEqual({
      isAllowed: true,
      remaining: 1,
      retryAfterMs: 0,
      resetAfterMs: expect.any(Number),
    });
    const limiter = new RateLimiter(redis, 'mails', { ...limit, prefix });
    expect((await limiter.take()).remaining).toBe(0);
    const { status, json } = await ask('rate-limiters/mails/take', limit, {}, elsewhere);
    expect([status, json.isAllowed, json.retryAfterMs > 1_000_000]).toEqual([200, false, true]);
    const reset = await api.send({ method: 'DELETE', path: '/v1/rate-limiters/mails' });
    expect([reset.status, (await limiter.take(0)).remaining]).toEqual([204, 3]);
  });

  test('is shown with the terms of its last take, and listed until its burst is whole', async () => {
    const look = async (name: string): Promise<Answer['json']> =>
      (await api.send({ path: `/v1/rate-limiters/${name}` })).json;
    const whole = { limit: null, periodMs: null, burst: null, remaining: null, resetAfterMs: 0 };
    expect(await look('never-used')).toEqual({ name: 'never-used', ...whole });
    await new RateLimiter(redis, 'shown', { ...limit, burst: 5, prefix }).take(2);
    const shown = { name: 'shown', ...limit, burst: 5, remaining: 3, resetAfterMs: expect.any(Number) };
    expect(await look('shown')).toEqual(shown);
    const items = await allPages('rate-limiters');
    expect(items.filter(({ name }) => name === 'shown')).toEqual([shown]);
    expect(items.map(({ name }) => name)).not.toContain('never-used');
    await api.send({ method: 'DELETE', path: '/v1/rate-limiters/shown' });
    expect(await look('shown')).toEqual({ name: 'shown', ...whole });
  });

  test('of which another program wrote the key is unreadable, or has what can be read', async () => {
    await redis.set(`${prefix}:locks:{odd}:rate`, 'nonsense');
    await redis.lpush(`${prefix}:locks:{list}:rate`, 'x');
    const odd = await api.send({ path: '/v1/rate-limiters/odd' });
    expect([odd.status, odd.json]).toMatchObject([200, { limit: null, remaining: null, resetAfterMs: 0 }]);
    expect((await api.send({ path: '/v1/rate-limiters/list' })).status).toBe(503);
    const names = new Set((await allPages('rate-limiters')).map(({ name }) => name));
    expect([names.has('odd'), names.has('list')]).toEqual([false, false]);
    for (const name of ['odd', 'list']) await redis.del(`${prefix}:locks:{${name}}:rate`);
  });

  test.each([
    { ...limit, cost: 4 },
    { ...limit, burst: 0 },
    { ...limit, periodMs: 2_678_400_001 },
    { limit: 1, periodMs: 2_678_400_000, burst: 12 },
    { limit: 0.5, periodMs: 1 },
    {},
  ])('%j is refused', async (body) => {
    expect(seen(await ask('rate-limiters/x/take', body))).toEqual([400, problem('invalid-body')]);
  });
});
