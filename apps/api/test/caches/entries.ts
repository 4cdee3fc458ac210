/** Caches over HTTP, beside programs that use the package. */
import { expect, test } from '@jest/globals';
import { Cache } from '@mortise/cache';
import { connect, until } from '@mortise/test-kit';

import type { Answer } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';

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

test('the keys of a cache are listed, also hostile ones, those of shards, and none of others', async () => {
  const [name, other] = ['listed', 'listed-2'];
  const all = async (): Promise<string[]> => {
    const keys = new Set<string>();
    let query = '?limit=1';
    for (;;) {
      const { json } = await api.send({ path: `/v1/caches/${name}/entries${query}` });
      for (const { key } of json.items) keys.add(key);
      if (json.nextCursor === null) return [...keys].toSorted((a, b) => (a < b ? -1 : 1));
      query = `?limit=1&cursor=${encodeURIComponent(json.nextCursor)}`;
    }
  };
  expect(await all()).toEqual([]);
  const hostile = 'a:}{*?[x]%';
  const cache = new Cache<unknown>(redis, name, { prefix: api.prefix, shards: 3 });
  for (const key of ['one', hostile, ...Array.from({ length: 9 }, (_, n) => `n${n}`)])
    await cache.set(key, 1);
  await cache.namespace('ann').set('hidden', 1);
  await new Cache<unknown>(redis, other, { prefix: api.prefix }).set('foreign', 1);
  expect(await all()).toEqual([hostile, ...Array.from({ length: 9 }, (_, n) => `n${n}`), 'one']);
  await cache.delete('one');
  expect(await all()).not.toContain('one');
});

test('reads by requests are counted, and those of programs are not', async () => {
  const look = async (): Promise<unknown> => (await api.send({ path: '/v1/caches/counted' })).json;
  expect(await look()).toEqual({ cache: 'counted', hits: 0, misses: 0 });
  const counted = new Cache<unknown>(redis, 'counted', { prefix: api.prefix });
  await counted.set('a', 1);
  await counted.get('a');
  for (const key of ['a', 'a', 'none']) await api.send({ path: `/v1/caches/counted/entries/${key}` });
  await api.send({ method: 'POST', path: '/v1/caches/counted/entries/a/loads', body: {} });
  expect(await look()).toEqual({ cache: 'counted', hits: 3, misses: 1 });
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
