import { expect, test } from '@jest/globals';
import { connect, freshPrefix, transcript, until } from '@mortise/test-kit';
import type { Cache } from '../src/read-through/cache.js';
import * as scripts from '../src/scripts.gen.js';
import { brief } from './brief.js';
import { HeldLoader, pagesOf } from './cached.js';

const redis = connect();

/** A cache whose scripts and clock are known already: either costs a round trip once. */
async function warm(): Promise<{
  cache: Cache<string>;
  seen: (action: () => Promise<unknown>) => Promise<string>;
}> {
  const prefix = freshPrefix();
  const { cache } = pagesOf<string>(redis, { prefix });
  await cache.getOrLoad('warm', () => 'warm', { tags: ['warm'] });
  await cache.delete('warm');
  await cache.invalidateTag('warm');
  return { cache, seen: async (action) => brief(await transcript(redis, { prefix, scripts }, action)) };
}

test('a hit is one GET, hits of a tick are one MGET', async () => {
  const { cache, seen } = await warm();
  await cache.set('a', 'a');
  await cache.set('b', 'b');
  await cache.set('t', 't', { tags: ['x'] });
  expect(await seen(() => cache.get('a'))).toMatchInlineSnapshot(`"get value:a"`);
  expect(await seen(() => cache.getOrLoad('a', () => 'c'))).toMatchInlineSnapshot(`"get value:a"`);
  expect(
    await seen(() => Promise.all([cache.get('a'), cache.getMany(['b', 'a', 'none'])])),
  ).toMatchInlineSnapshot(`"mget value:a value:b value:none"`);
  // Tags that the reader names are read in the same command, others in another one.
  expect(await seen(() => cache.getOrLoad('t', () => 'c', { tags: ['x'] }))).toMatchInlineSnapshot(
    `"mget value:t tag:x"`,
  );
  expect(await seen(() => cache.get('t'))).toMatchInlineSnapshot(`
"get value:t
get tag:x"
`);
});

test('a miss is a read, a lease request and a store, for all misses of a tick', async () => {
  const { cache, seen } = await warm();
  const load = (): Promise<unknown> =>
    Promise.all([
      cache.getOrLoad('a', () => 'a'),
      cache.getOrLoad('b', () => 'b', { tags: ['x'] }),
      cache.getOrLoad('a', () => 'a'),
    ]);
  expect(await seen(load)).toMatchInlineSnapshot(`
"mget value:a value:b tag:x
cache.lease seq value:a lease:a value:b lease:b tag:x
  time · get value:a · get lease:a · get seq · set seq · set lease:a · get value:b · get lease:b · get seq · set seq · set lease:b
cache.store seq changes changed value:a lease:a value:b lease:b tag:x
  time · get lease:a · set value:a · del lease:a · get lease:b · get tag:x · pttl tag:x · set tag:x · set value:b · del lease:b"
`);
});

test('a read beside a load of this process checks whether the lease of the load still holds', async () => {
  const { cache, seen } = await warm();
  const loader = new HeldLoader<string>();
  const first = cache.getOrLoad('a', loader.load, { tags: ['x'] });
  const call = await loader.call(0);
  let second: Promise<unknown> | undefined;
  const lines = await seen(async () => {
    const { misses } = cache.stats();
    second = cache.getOrLoad('a', loader.load, { tags: ['x'] });
    await until('its miss', () => cache.stats().misses > misses);
  });
  expect(lines).toMatchInlineSnapshot(`"mget value:a tag:x lease:a"`);
  call.open('a');
  expect([await first, await second]).toEqual(['a', 'a']);
});

test('readers woken by callbacks of one turn share a command while an answer is awaited', async () => {
  const { cache, seen } = await warm();
  const lines = await seen(async () => {
    const woken = Array.from({ length: 50 }, async (_, index) => {
      await new Promise(setImmediate);
      return cache.get(index % 2 === 0 ? 'a' : 'b');
    });
    await Promise.all(woken);
  });
  expect(lines).toMatchInlineSnapshot(`
"get value:a
mget value:b value:a"
`);
});

test('changes are one script each, and publish nothing without waiting readers', async () => {
  const { cache, seen } = await warm();
  expect(await seen(() => cache.set('a', 'a'))).toMatchInlineSnapshot(`
"cache.store seq changes changed value:a lease:a
  time · get lease:a · get seq · set seq · set value:a"
`);
  expect(await seen(() => Promise.all([cache.delete('a'), cache.delete('b')]))).toMatchInlineSnapshot(`
"cache.delete changes changed value:a lease:a value:b lease:b
  get lease:a · unlink value:a · get lease:b · unlink value:b"
`);
  expect(await seen(() => cache.invalidateTag('x'))).toMatchInlineSnapshot(`
"cache.invalidate seq changes changed tag:x
  time · pttl tag:x · get seq · set seq · set tag:x"
`);
});
