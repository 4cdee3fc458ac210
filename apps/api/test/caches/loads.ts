/** Loads of cache entries by HTTP clients, at two servers and beside programs that use the package. */
import { expect, test } from '@jest/globals';
import { Cache } from '@mortise/cache';
import { connect, until } from '@mortise/test-kit';

import type { Answer, Api } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';

const redis = connect();
const api = await startApi();
const second = await startApi({ MORTISE_PREFIX: api.prefix });
const program = new Cache<unknown>(redis, 'products', { prefix: api.prefix });
const WAIT = { waitMs: 30_000, leaseMs: 600_000 };

const ask = (method: string, path: string, body?: object, at: Api = api): Promise<Answer> =>
  at.send({ method, path: `/v1/caches/products/entries/${path}`, ...(body && { body }) });
const seen = ({ status, json }: Answer): unknown[] => [status, json?.type?.split('/').at(-1) ?? json];

/** The token of a load that nobody else has. */
async function tokenOf(key: string, body: object = WAIT): Promise<string> {
  const { status, json } = await ask('POST', `${key}/loads`, body);
  expect([status, json.isCached]).toEqual([201, false]);
  return json.load.token as string;
}

/** Until as many servers wait for the load of a key. */
async function waiting(key: string, servers = 1): Promise<void> {
  await until('waiting servers', async () => {
    const lease = await redis.get(`${api.prefix}:cache:{products}:lease:${key}`);
    return (lease?.split('\n').length ?? 0) >= servers + 2;
  });
}

test('of 50 clients at two servers one loads, and all others get its value', async () => {
  const asked = Array.from({ length: 50 }, (_, n) =>
    ask('POST', 'a/loads', WAIT, n % 2 === 0 ? api : second),
  );
  const { json } = await Promise.race(asked);
  expect(json).toEqual({
    isCached: false,
    load: { token: expect.stringMatching(/^\d{16}$/), expiresInMs: expect.any(Number) },
  });
  await waiting('a', 2);
  const body = { value: { price: 5 }, loadToken: json.load.token };
  expect((await ask('PUT', 'a', body, second)).status).toBe(204);
  // Its answer was lost.
  expect((await ask('PUT', 'a', body)).status).toBe(204);
  const answers = (await Promise.all(asked)).map(seen);
  const value = [200, { isCached: true, value: { price: 5 }, load: null }];
  expect(answers.filter(([status]) => status !== 201)).toEqual(Array.from({ length: 49 }, () => value));
  expect(seen(await ask('POST', 'a/loads', {}))).toEqual(value);
});

test('a client without the token, or with one of another key, cannot store as the loader', async () => {
  const token = await tokenOf('own');
  expect(seen(await ask('PUT', 'other', { value: 1, loadToken: token }))).toEqual([409, 'load-outdated']);
  expect(seen(await ask('PUT', 'own', { value: 1, loadToken: '1795176000000000' }))).toEqual([
    409,
    'load-outdated',
  ]);
  expect((await ask('GET', 'own')).status).toBe(404);
});

test('programs wait for the load of a client', async () => {
  const token = await tokenOf('shared');
  const reading = program.getOrLoad('shared', () => 'of the program');
  await waiting('shared');
  await ask('PUT', 'shared', { value: 'of the client', loadToken: token });
  expect(await reading).toBe('of the client');
});

test('a known absence is stored under a token', async () => {
  await ask('PUT', 'none', { value: null, loadToken: await tokenOf('none') });
  expect(seen(await ask('POST', 'none/loads', {}))).toEqual([
    200,
    { isCached: true, value: null, load: null },
  ]);
});

test('after the death of a loader, one waiting client loads', async () => {
  const dead = await tokenOf('dead', { leaseMs: 100 });
  const asked = [api, second].map((at) => ask('POST', 'dead/loads', WAIT, at));
  const { json } = await Promise.race(asked);
  expect(seen(await ask('PUT', 'dead', { value: 'late', loadToken: dead }))).toEqual([409, 'load-outdated']);
  await ask('PUT', 'dead', { value: 'second', loadToken: json.load.token });
  expect((await Promise.all(asked)).map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
    200, 201,
  ]);
});

test('a load that has failed is given up, and a waiting client gets it at once', async () => {
  const token = await tokenOf('failed');
  const next = ask('POST', 'failed/loads', WAIT, second);
  await waiting('failed');
  expect((await ask('DELETE', `failed/loads/${token}`)).status).toBe(204);
  expect((await next).json.load.token).not.toBe(token);
  expect((await ask('DELETE', `failed/loads/${token}`)).status).toBe(204);
});

test.each([
  ['a removed entry', () => ask('DELETE', 'changed'), 404],
  ['a stored entry', () => ask('PUT', 'changed', { value: 'new' }), 200],
  [
    'an invalidated tag',
    () => api.send({ method: 'POST', path: '/v1/caches/products/invalidations', body: { tag: 'red' } }),
    404,
  ],
])('%s ends the load', async (_, change, status) => {
  await ask('DELETE', 'changed');
  const token = await tokenOf('changed');
  await change();
  const body = { value: 'old', tags: ['red'], loadToken: token };
  expect(seen(await ask('PUT', 'changed', body))).toEqual([409, 'load-outdated']);
  expect((await ask('GET', 'changed')).status).toBe(status);
});

test('a stale value is answered at once, to one client with a token', async () => {
  await program.set('stale', 'old', { staleMs: 60_000 });
  await program.expire('stale', 0);
  expect(seen(await ask('POST', 'stale/loads', WAIT))).toEqual([
    201,
    { isCached: true, value: 'old', load: { token: expect.any(String), expiresInMs: expect.any(Number) } },
  ]);
  expect(seen(await ask('POST', 'stale/loads', WAIT))).toEqual([
    200,
    { isCached: true, value: 'old', load: null },
  ]);
});

test('a client that waits no longer learns that another one loads', async () => {
  await tokenOf('slow');
  const answer = await ask('POST', 'slow/loads', { waitMs: 1 });
  expect(seen(answer)).toEqual([409, 'load-pending']);
  expect(answer.json).toMatchObject({ cache: 'products', key: 'slow', waitMs: 1 });
  expect(answer.headers['retry-after']).toBe('1');
});

test.each([
  [{ waitMs: -1 }],
  [{ waitMs: 30_001 }],
  [{ leaseMs: 99 }],
  [{ leaseMs: 600_001 }],
  [{ token: 'x' }],
])('%j is refused', async (body) => {
  expect(seen(await ask('POST', 'x/loads', body))).toEqual([400, 'invalid-body']);
});

test.each(['0', 'x', '12345678901234567'])('%s is no token', async (token) => {
  expect(seen(await ask('DELETE', `x/loads/${token}`))).toEqual([400, 'invalid-id']);
  expect(seen(await ask('PUT', 'x', { value: 1, loadToken: token }))).toEqual([400, 'invalid-body']);
});
