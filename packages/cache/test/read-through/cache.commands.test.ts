/** The commands that each call of a cache sends. */
import { expect, test } from '@jest/globals';
import { commands, commandTable, connect, freshPrefix, until } from '@mortise/test-kit';
import type { Cache } from '../../src/read-through/cache.js';
import * as scripts from '../../src/scripts.gen.js';
import { GatedLoader, pagesOf } from '../fixture/cached.js';

const redis = connect();

/** A cache whose scripts and clock are known already: either costs a round trip once. */
async function warm(): Promise<{ cache: Cache<string>; scope: { prefix: string; scripts: typeof scripts } }> {
  const prefix = freshPrefix();
  const { cache } = pagesOf<string>(redis, { prefix });
  await cache.getOrLoad('warm', () => 'warm', { tags: ['warm'] });
  await cache.delete('warm');
  await cache.invalidateTag('warm');
  await cache.set('a', 'a');
  await cache.set('b', 'b');
  await cache.set('t', 't', { tags: ['x'] });
  return { cache, scope: { prefix, scripts } };
}

test('a hit is one command, a miss a read, a lease request and a store; calls of a tick share them', async () => {
  const { cache, scope } = await warm();
  const table = await commandTable(redis, scope, {
    get: () => cache.get('a'),
    'getOrLoad, hit': () => cache.getOrLoad('a', () => 'c'),
    'hits of a tick': () => Promise.all([cache.get('a'), cache.getMany(['b', 'a', 'none'])]),
    // Tags that the reader names are read in the same command, others in another one.
    'expected tags': () => cache.getOrLoad('t', () => 'c', { tags: ['x'] }),
    'other tags': () => cache.get('t'),
    'misses of a tick': () =>
      Promise.all([
        cache.getOrLoad('m', () => 'm'),
        cache.getOrLoad('n', () => 'n', { tags: ['y'] }),
        cache.getOrLoad('m', () => 'm'),
      ]),
    'readers woken by callbacks of one turn': () =>
      Promise.all(
        Array.from({ length: 50 }, async (_, index) => {
          await new Promise(setImmediate);
          return cache.get(index % 2 === 0 ? 'a' : 'b');
        }),
      ),
    // Nothing is published without waiting readers.
    set: () => cache.set('a', 'a'),
    'deletes of a tick': () => Promise.all([cache.delete('a'), cache.delete('b')]),
    invalidateTag: () => cache.invalidateTag('x'),
  });
  expect(table).toMatchInlineSnapshot(`
"get → get value:a
getOrLoad, hit → get value:a
hits of a tick → mget value:a value:b value:none
expected tags → mget value:t tag:x
other tags → get value:t | get tag:x
misses of a tick → mget value:m value:n tag:y | cache.lease:  time · get value:m · get lease:m · get seq · set seq · set lease:m · get value:n · get lease:n · get seq · set seq · set lease:n | cache.store:  time · get lease:m · set value:m · del lease:m · get lease:n · get tag:y · pttl tag:y · set tag:y · set value:n · del lease:n
readers woken by callbacks of one turn → get value:a | mget value:b value:a
set → cache.store:  time · get lease:a · get seq · set seq · set value:a
deletes of a tick → cache.delete:  get lease:a · unlink value:a · get lease:b · unlink value:b
invalidateTag → cache.invalidate:  time · pttl tag:x · get seq · set seq · set tag:x"
`);
});

test('a read beside a load of this process checks whether the load still has its lease', async () => {
  const { cache, scope } = await warm();
  const loader = new GatedLoader<string>();
  const first = cache.getOrLoad('m', loader.load, { tags: ['x'] });
  const call = await loader.call(0);
  let second: Promise<unknown> | undefined;
  const sent = await commands(redis, scope, async () => {
    const { misses } = cache.stats();
    second = cache.getOrLoad('m', loader.load, { tags: ['x'] });
    await until('its miss', () => cache.stats().misses > misses);
  });
  expect(sent).toMatchInlineSnapshot(`"mget value:m tag:x lease:m"`);
  call.open('m');
  expect([await first, await second]).toEqual(['m', 'm']);
});
