/** Caches over HTTP, beside programs that use the package. */
import { expect, test } from '@jest/globals';
import { Cache } from '@mortise/cache';
import { connect, until } from '@mortise/test-kit';

import type { Answer } from './fixture/api.js';
import { startApi } from './fixture/api.js';

const redis = connect();
const api = await startApi();
const program = new Cache<unknown>(redis, 'products', { prefix: api.prefix });
const ask = (method: string, path: string, body?: object): Promise<Answer> =>
  api.send({ method, path: `/v1/caches/products/${path}`, ...(body && { body }) });
const seen = ({ status, json }: Answer): unknown[] => [status, json?.type?.split('/').at(-1) ?? json];

test('an entry is stored, read and removed, and is the one of programs', async () => {
  expect(seen(await ask('GET', 'entries/a%2Fb'))).toEqual([404, 'not-cached']);
  expect((await ask('PUT', 'entries/a%2Fb', { value: { price: 5 } })).status).toBe(204);
  expect(await program.get('a/b')).toEqual({ price: 5 });
  await program.set('a/b', [null, 'x']);
  expect(seen(await ask('GET', 'entries/a%2Fb'))).toEqual([200, { value: [null, 'x'] }]);
  expect(seen(await ask('DELETE', 'entries/a%2Fb'))).toEqual([200, { isDeleted: true }]);
  expect(seen(await ask('DELETE', 'entries/a%2Fb'))).toEqual([200, { isDeleted: false }]);
  expect(await program.get('a/b')).toBeUndefined();
});

test('a known absence is null', async () => {
  expect((await ask('PUT', 'entries/none', { value: null })).status).toBe(204);
  expect(seen(await ask('GET', 'entries/none'))).toEqual([200, { value: null }]);
  expect(await program.getOrLoad('none', () => Promise.resolve('loaded'))).toBeNull();
});

test('a tag ends its entries, those of programs too', async () => {
  await ask('PUT', 'entries/one', { value: 1, tags: ['red', 'big'] });
  await ask('PUT', 'entries/two', { value: 2, tags: ['big'] });
  await program.set('three', 3, { tags: ['red'] });
  expect((await ask('POST', 'invalidations', { tag: 'red' })).status).toBe(204);
  const all = await Promise.all(['one', 'two', 'three'].map((key) => ask('GET', `entries/${key}`)));
  expect(all.map((answer) => answer.json.value ?? answer.status)).toEqual([404, 2, 404]);
});

test('an entry ends after its time, and is stale before that', async () => {
  await ask('PUT', 'entries/short', { value: 1, ttlMs: 50 });
  await ask('PUT', 'entries/stale', { value: 1, ttlMs: 50, staleMs: 60_000 });
  await until('the end of an entry', async () => (await ask('GET', 'entries/short')).status === 404);
  expect((await ask('GET', 'entries/stale')).json).toEqual({ value: 1 });
});

test.each([
  [{}],
  [{ value: 1, ttlMs: 0 }],
  [{ value: 1, ttlMs: 31_536_000_001 }],
  [{ value: 1, tags: ['\0a'] }],
  [{ value: 1, tags: Array.from({ length: 17 }, (_, n) => `t${n}`) }],
])('%j is refused', async (body) => {
  expect(seen(await ask('PUT', 'entries/x', body))).toEqual([400, 'invalid-body']);
});

test('a key that begins with NUL is refused', async () => {
  expect(seen(await ask('GET', 'entries/%00a'))).toEqual([400, 'invalid-id']);
});
