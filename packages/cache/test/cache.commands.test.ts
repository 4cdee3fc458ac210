import { expect, test } from '@jest/globals';
import { connect, freshPrefix, transcript, until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import * as scripts from '../src/scripts.gen.js';
import { HeldLoader, pagesOf } from './cached.js';

const redis = connect();
const value = (key: string): string => `cache:{pages}:value:${key}`;
const lease = (key: string): string => `cache:{pages}:lease:${key}`;
const tag = (name: string): string => `cache:{pages}:tag:${name}`;
const seq = 'cache:{pages}:seq';
const changes = 'cache:{pages}:changes cache:{pages}:changed';

/** The server knows all scripts and the process its clock from now on: either costs a round trip once. */
async function warm(client: Redis, prefix: string) {
  const { cache } = pagesOf<string>(client, { prefix });
  await cache.getOrLoad('warm', () => 'warm', { tags: ['warm'] });
  await cache.delete('warm');
  await cache.invalidateTag('warm');
  return cache;
}

test('a hit is one GET, hits of a tick are one MGET', async () => {
  const prefix = freshPrefix();
  const cache = await warm(redis, prefix);
  await cache.set('a', 'a');
  await cache.set('b', 'b');
  await cache.set('t', 't', { tags: ['x'] });
  const lines = (action: () => Promise<unknown>): Promise<string[]> =>
    transcript(redis, { prefix, scripts }, action);
  expect(await lines(() => cache.get('a'))).toEqual([`get ${value('a')}`]);
  expect(await lines(() => cache.getOrLoad('a', () => 'c'))).toEqual([`get ${value('a')}`]);
  expect(await lines(() => Promise.all([cache.get('a'), cache.getMany(['b', 'a', 'none'])]))).toEqual([
    `mget ${value('a')} ${value('b')} ${value('none')}`,
  ]);
  // Tags that the reader names come along, others are looked up.
  expect(await lines(() => cache.getOrLoad('t', () => 'c', { tags: ['x'] }))).toEqual([
    `mget ${value('t')} ${tag('x')}`,
  ]);
  expect(await lines(() => cache.get('t'))).toEqual([`get ${value('t')}`, `get ${tag('x')}`]);
});

test('a miss is a read, a lease request and a store, for all misses of a tick', async () => {
  const prefix = freshPrefix();
  const cache = await warm(redis, prefix);
  const lines = await transcript(redis, { prefix, scripts }, () =>
    Promise.all([
      cache.getOrLoad('a', () => 'a'),
      cache.getOrLoad('b', () => 'b', { tags: ['x'] }),
      cache.getOrLoad('a', () => 'a'),
    ]),
  );
  const claimed = [`  get ${seq}`, `  set ${seq}`];
  expect(lines).toEqual([
    `mget ${value('a')} ${value('b')} ${tag('x')}`,
    `evalsha cache.lease ${seq} ${value('a')} ${lease('a')} ${value('b')} ${lease('b')} ${tag('x')}`,
    '  time',
    `  get ${value('a')}`,
    `  get ${lease('a')}`,
    ...claimed,
    `  set ${lease('a')}`,
    `  get ${value('b')}`,
    `  get ${lease('b')}`,
    ...claimed,
    `  set ${lease('b')}`,
    `evalsha cache.store ${seq} ${changes} ${value('a')} ${lease('a')} ${value('b')} ${lease('b')} ${tag('x')}`,
    '  time',
    `  get ${lease('a')}`,
    `  set ${value('a')}`,
    `  del ${lease('a')}`,
    `  get ${lease('b')}`,
    `  get ${tag('x')}`,
    `  pttl ${tag('x')}`,
    `  set ${tag('x')}`,
    `  set ${value('b')}`,
    `  del ${lease('b')}`,
  ]);
});

test('a read beside a load of this process looks whether its lease still holds', async () => {
  const prefix = freshPrefix();
  const cache = await warm(redis, prefix);
  const loader = new HeldLoader<string>();
  const first = cache.getOrLoad('a', loader.load, { tags: ['x'] });
  const call = await loader.call(0);
  let second: Promise<unknown> | undefined;
  const lines = await transcript(redis, { prefix, scripts }, async () => {
    const { misses } = cache.stats();
    second = cache.getOrLoad('a', loader.load, { tags: ['x'] });
    await until('its miss', () => cache.stats().misses > misses);
  });
  expect(lines).toEqual([`mget ${value('a')} ${tag('x')} ${lease('a')}`]);
  call.open('a');
  expect([await first, await second]).toEqual(['a', 'a']);
});

test('readers whom the callbacks of one turn wake share a command while an answer is awaited', async () => {
  const prefix = freshPrefix();
  const cache = await warm(redis, prefix);
  const lines = await transcript(redis, { prefix, scripts }, async () => {
    const woken = Array.from({ length: 50 }, async (_, index) => {
      await new Promise(setImmediate);
      return cache.get(index % 2 === 0 ? 'a' : 'b');
    });
    await Promise.all(woken);
  });
  expect(lines).toEqual([`get ${value('a')}`, `mget ${value('b')} ${value('a')}`]);
});

test('changes are one script each, and publish nothing where nobody waits', async () => {
  const prefix = freshPrefix();
  const cache = await warm(redis, prefix);
  const lines = (action: () => Promise<unknown>): Promise<string[]> =>
    transcript(redis, { prefix, scripts }, action);
  expect(await lines(() => cache.set('a', 'a'))).toEqual([
    `evalsha cache.store ${seq} ${changes} ${value('a')} ${lease('a')}`,
    '  time',
    `  get ${lease('a')}`,
    `  get ${seq}`,
    `  set ${seq}`,
    `  set ${value('a')}`,
  ]);
  expect(await lines(() => Promise.all([cache.delete('a'), cache.delete('b')]))).toEqual([
    `evalsha cache.delete ${changes} ${value('a')} ${lease('a')} ${value('b')} ${lease('b')}`,
    `  get ${lease('a')}`,
    `  unlink ${value('a')}`,
    `  get ${lease('b')}`,
    `  unlink ${value('b')}`,
  ]);
  expect(await lines(() => cache.invalidateTag('x'))).toEqual([
    `evalsha cache.invalidate ${seq} ${changes} ${tag('x')}`,
    '  time',
    `  pttl ${tag('x')}`,
    `  get ${seq}`,
    `  set ${seq}`,
    `  set ${tag('x')}`,
  ]);
});
