import { beforeEach, describe, expect, test } from '@jest/globals';
import { startProxy } from '@mortise/redis-server';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { cacheKeys } from '../../src/keys.js';
import type { Cell } from '../../src/near/near-store.js';
import { NearStore } from '../../src/near/near-store.js';
import { NearTier } from '../../src/near/near-tier.js';
import type { Cache } from '../../src/read-through/cache.js';
import { nearConnectionsOf, pagesOf } from '../fixture/cached.js';

const redis = connect();
const other = connect();
const near = {};

/** Reads until the near tier has the value, or any. */
async function nearby<Value>(cache: Cache<Value>, key: string, wanted?: Value): Promise<Value | null> {
  const found = await until(`${String(wanted ?? key)} in the near tier`, async () => {
    await cache.get(key);
    const value = cache.peek(key);
    return value !== undefined && (wanted === undefined || value === wanted) && { value };
  });
  return found.value;
}

describe('the near tier', () => {
  test('answers at once what it has read, and asks nobody', async () => {
    const { cache } = pagesOf<string>(redis, { near });
    await cache.set('tools', 'saws');
    expect(cache.peek('tools')).toBeUndefined();
    expect(await nearby(cache, 'tools')).toBe('saws');
    const { hits, nearHits } = cache.stats();
    expect(cache.peek('tools')).toBe('saws');
    expect(await cache.get('tools')).toBe('saws');
    expect(await cache.getOrLoad('tools', () => 'planes')).toBe('saws');
    expect(cache.stats()).toMatchObject({ hits, nearHits: nearHits + 3, nearEntries: 1, loads: 0 });
  });

  test('knows that there is nothing', async () => {
    const { cache } = pagesOf<string>(redis, { near });
    await cache.getOrLoad('none', () => null);
    expect(await nearby(cache, 'none')).toBeNull();
  });

  test('drops what another process changes, by whatever it changes it', async () => {
    const prefix = freshPrefix();
    const { cache } = pagesOf<string>(redis, { prefix, near });
    const there = pagesOf<string>(other, { prefix }).cache;
    const changes: [string, () => Promise<unknown>][] = [
      ['set', () => there.set('tools', 'planes', { tags: ['shop'] })],
      ['delete', () => there.delete('tools')],
      ['deleteMany', () => there.deleteMany(['tools', 'none'])],
      ['expire', () => there.expire('tools', 50_000)],
      ['invalidateTag', () => there.invalidateTag('shop')],
      ['DEL', () => other.del(`${prefix}:cache:{pages}:value:tools`)],
      ['an expiry', () => other.pexpire(`${prefix}:cache:{pages}:value:tools`, 0)],
    ];
    for (const [what, change] of changes) {
      await there.set('tools', 'saws', { tags: ['shop'] });
      expect(await nearby(cache, 'tools')).toBe('saws');
      await change();
      await until(`news of ${what}`, () => cache.peek('tools') === undefined);
    }
    expect(cache.stats()).toMatchObject({ nearEntries: 0, nearBytes: 0 });
  });

  test('never gives a value that this process has changed', async () => {
    const { cache } = pagesOf<string>(redis, { near });
    await cache.set('tools', 'saws', { tags: ['shop'] });
    await nearby(cache, 'tools');
    const setting = cache.set('tools', 'planes', { tags: ['shop'] });
    expect(cache.peek('tools')).toBeUndefined();
    await setting;
    expect(await nearby(cache, 'tools')).toBe('planes');
    const expiring = cache.expire('tools', 0);
    expect(cache.peek('tools')).toBeUndefined();
    await expiring;
    expect(cache.peek('tools')).toBeUndefined();
    expect(await cache.get('tools')).toBeUndefined();
    await cache.set('tools', 'planes', { tags: ['shop'] });
    await nearby(cache, 'tools');
    const deleting = cache.delete('tools');
    expect(cache.peek('tools')).toBeUndefined();
    await deleting;
    await cache.set('tools', 'files', { tags: ['shop'] });
    await nearby(cache, 'tools');
    const invalidating = cache.invalidateTag('shop');
    expect(cache.peek('tools')).toBeUndefined();
    await invalidating;
    expect(await cache.get('tools')).toBeUndefined();
  });

  test.each([
    ['set', (cache: Cache<string>, round: number) => cache.set('tools', `saws ${round}`, { tags: ['shop'] })],
    ['delete', (cache: Cache<string>) => cache.delete('tools')],
    ['invalidateTag', (cache: Cache<string>) => cache.invalidateTag('shop')],
  ])('nor one that was being read at %s', async (what, change) => {
    const { cache } = pagesOf<string>(redis, { near });
    await cache.set('tools', 'saws', { tags: ['shop'] });
    await nearby(cache, 'tools');
    const wrong: unknown[] = [];
    for (let round = 1; round <= 300; round += 1) {
      await cache.set('tools', `planes ${round}`, { tags: ['shop'] });
      // Before and after it: either may be answered first, over another connection.
      const reads = [cache.get('tools')];
      const changing = change(cache, round);
      reads.push(cache.get('tools'));
      await changing;
      const wanted = what === 'set' ? `saws ${round}` : 'loaded';
      const known = cache.peek('tools');
      const value = await cache.getOrLoad('tools', () => 'loaded', { tags: ['shop'] });
      if (value !== wanted || (known !== undefined && known !== wanted)) wrong.push([known, value, wanted]);
      await Promise.all(reads);
    }
    expect(wrong).toEqual([]);
  });

  test('stays open where somebody has put something else under a key of the cache', async () => {
    const { cache, prefix } = pagesOf<string>(redis, { near });
    await redis.hset(`${prefix}:cache:{pages}:value:odd`, 'a', 'b');
    await cache.set('tools', 'saws');
    await nearby(cache, 'tools');
    for (let read = 0; read < 5; read += 1) {
      expect(await cache.get('odd')).toBeUndefined();
      expect(cache.peek('tools')).toBe('saws');
    }
  });

  test('keeps no more than the bytes of a value that has them as they came', async () => {
    const codec = { encode: (value: Buffer) => value, decode: (bytes: Buffer) => bytes };
    const { cache } = pagesOf<Buffer>(redis, { near, codec });
    await cache.set('tools', Buffer.from('saws'));
    expect(await nearby(cache, 'tools')).toEqual(Buffer.from('saws'));
    expect(cache.peek('tools')!.buffer.byteLength).toBe(4);
  });

  test('refuses what would be refused without it, by a promise', async () => {
    const { cache } = pagesOf<string>(redis, { near });
    await cache.set('tools', 'saws');
    await nearby(cache, 'tools');
    const shop = cache.namespace('shop');
    await shop.set('tools', 'planes');
    await nearby(shop as never, 'tools');
    const load = (): string => 'files';
    const refused = { code: 'ERR_INVALID_ARG' };
    const wrong: [unknown, unknown?, unknown?][] = [
      [42, load],
      [Symbol.iterator, load],
      ['', load],
      // How the key of the namespace begins in Redis.
      ['\0shop\0tools', load],
      ['tools'],
      ['tools', load, null],
      ['tools', load, { ttlMs: 0 }],
      ['tools', load, { tags: [''] }],
      ['tools', load, { signal: {} }],
    ];
    for (const args of wrong) {
      const read = cache.getOrLoad(...(args as ['tools', () => string]));
      await expect(read).rejects.toMatchObject(refused);
    }
    for (const key of [42, Symbol.iterator, '', '\0shop\0tools'])
      expect(() => cache.peek(key as string)).toThrow(expect.objectContaining(refused));
    const reason = new Error('closed the page');
    const signal = AbortSignal.abort(reason);
    await expect(cache.getOrLoad('tools', load, { signal })).rejects.toBe(reason);
    expect(await cache.getOrLoad('tools', load, { ttlMs: 1, tags: ['x'] })).toBe('saws');
    expect(cache.stats()).toMatchObject({ loads: 0 });
  });

  test('drops a value at its own end, whatever the server announces', async () => {
    const { cache } = pagesOf<string>(redis, { near, staleMs: 3_600_000 });
    await cache.set('tools', 'saws', { ttlMs: 3_600_000 });
    await nearby(cache, 'tools');
    await cache.set('tools', 'planes', { ttlMs: 300 });
    // A read that gets past the near tier finds it stale.
    await until('the end of its time', async () => {
      expect(await cache.get('tools')).toBe('planes');
      return cache.stats().staleHits > 0;
    });
    expect(cache.peek('tools')).toBeUndefined();
    expect(cache.stats().nearEntries).toBe(0);
  });

  test('holds no more entries and bytes than it may, and keeps what is read', async () => {
    const { cache } = pagesOf<string>(redis, { near: { entries: 3 } });
    for (const key of ['a', 'b', 'c', 'd']) await cache.set(key, key);
    for (const key of ['a', 'b', 'c']) await nearby(cache, key);
    // Each was read since it came: all lose their marks, and the oldest goes.
    await nearby(cache, 'd');
    expect(cache.stats().nearEntries).toBe(3);
    const small = pagesOf<string>(redis, { near: { bytes: 1_024 } }).cache;
    await small.set('a', 'a'.repeat(500));
    await small.set('b', 'b'.repeat(500));
    await small.set('huge', 'c'.repeat(2_000));
    await nearby(small, 'a');
    await nearby(small, 'b');
    expect(small.peek('a')).toBeUndefined();
    expect(await small.get('huge')).toBe('c'.repeat(2_000));
    expect(small.peek('b')).toBe('b'.repeat(500));
    expect(small.stats().nearBytes).toBeLessThanOrEqual(1_024);
  });
});

describe('a break', () => {
  test('of its connections empties the near tier, and it comes back', async () => {
    const server = redis.options;
    const proxy = await startProxy({ port: server.port ?? 6379 });
    try {
      const proxied = connect(proxy.url);
      const prefix = freshPrefix();
      const { cache } = pagesOf<string>(proxied, { prefix, near });
      const there = pagesOf<string>(other, { prefix }).cache;
      for (let round = 0; round < 3; round += 1) {
        await there.set('tools', `saws ${round}`);
        await nearby(cache, 'tools', `saws ${round}`);
        proxy.refuse();
        await until('the near tier to close', () => cache.peek('tools') === undefined);
        // Nobody can tell this process.
        await there.set('tools', `planes ${round}`);
        await proxy.restore();
        await nearby(cache, 'tools', `planes ${round}`);
      }
      expect(cache.stats().nearEntries).toBe(1);
    } finally {
      await proxy.stop();
    }
  });

  test.each(['reads', 'invalidations'])(
    'of the connection of the %s alone empties it as well',
    async (which) => {
      const prefix = freshPrefix();
      const named = connect();
      (named.options as { connectionName?: string }).connectionName = prefix;
      const { cache } = pagesOf<string>(named, { prefix, near });
      const there = pagesOf<string>(other, { prefix }).cache;
      for (let round = 0; round < 3; round += 1) {
        await there.set('tools', `saws ${round}`);
        await nearby(cache, 'tools', `saws ${round}`);
        const [line = ''] = await nearConnectionsOf(other, prefix, which);
        await other.client('KILL', 'ID', /^id=(\d+)/.exec(line)?.[1] ?? '');
        await there.set('tools', `planes ${round}`);
        await until('the near tier to close, or the news', () => cache.peek('tools') !== `saws ${round}`);
        await nearby(cache, 'tools', `planes ${round}`);
      }
      expect(cache.stats().nearEntries).toBe(1);
    },
  );

  test('without a sign shows by silence', async () => {
    const proxy = await startProxy({ port: redis.options.port ?? 6379 });
    try {
      const { cache } = pagesOf<string>(connect(proxy.url), { near });
      await cache.set('tools', 'saws');
      await nearby(cache, 'tools');
      proxy.halfOpen();
      await until('the near tier to close', () => cache.peek('tools') === undefined);
      await proxy.restore();
      expect(await nearby(cache, 'tools')).toBe('saws');
    } finally {
      await proxy.stop();
    }
  });

  test('stop while the tier connects reports nothing', async () => {
    for (let commands = 0; commands < 8; commands += 1) {
      const { cache, errors } = pagesOf(redis, { near });
      for (let command = 0; command <= commands; command += 1) await cache.get('tools');
      await cache.stop();
      expect(errors).toEqual([]);
    }
  });

  test('stop closes the connections, and the next read opens them again', async () => {
    const named = connect();
    const prefix = freshPrefix();
    (named.options as { connectionName?: string }).connectionName = prefix;
    const { cache } = pagesOf<string>(named, { prefix, near });
    const own = async (): Promise<number> => (await nearConnectionsOf(other, prefix)).length;
    await cache.set('tools', 'saws');
    await nearby(cache, 'tools');
    expect(await own()).toBe(2);
    await cache.stop();
    await cache.stop();
    expect(cache.peek('tools')).toBeUndefined();
    await until('the end of the connections', async () => (await own()) === 0);
    expect(await nearby(cache, 'tools')).toBe('saws');
  });
});

const keys = cacheKeys('pages', undefined, 0);

function cell(value: string, tags: readonly string[] = []): Cell<string> {
  const common = {
    seen: Buffer.alloc(8),
    freshUntil: Infinity,
    earlyFrom: Infinity,
    loadMs: 0,
    isRead: false,
  };
  return { ...common, value, tags, bytes: value.length };
}

describe('a read that is under way', () => {
  let tier: NearTier<string>;
  const kept = (): string | undefined => tier.store.get('a', 0)?.value;

  beforeEach(() => {
    tier = new NearTier({ entries: 10, bytes: 10_000 });
    tier.open();
  });

  test('is kept when nothing has changed what it was read from', () => {
    const mark = tier.mark([keys.value('a'), keys.tag('x')]);
    tier.onChanged(keys.value('b'));
    tier.onChanged(keys.tag('y'));
    tier.keep(mark, 'a', cell('old', ['x']));
    expect(kept()).toBe('old');
  });

  test.each([
    ['its key', keys.value('a')],
    ['one of its tags', keys.tag('x')],
  ])('is not kept when %s has changed, in whatever order the news and the reply come', (_, redisKey) => {
    const mark = tier.mark([keys.value('a'), keys.tag('x')]);
    tier.onChanged(redisKey);
    tier.keep(mark, 'a', cell('old', ['x']));
    expect(kept()).toBeUndefined();
    tier.unmark(mark);

    const next = tier.mark([keys.value('a'), keys.tag('x')]);
    tier.keep(next, 'a', cell('old', ['x']));
    tier.onChanged(redisKey);
    expect(kept()).toBeUndefined();
  });

  test('is not kept when news may have been missed since, nor while none come', () => {
    const mark = tier.mark([keys.value('a')]);
    tier.close();
    tier.open();
    tier.keep(mark, 'a', cell('old'));
    expect(kept()).toBeUndefined();
    tier.close();
    expect(tier.mark([keys.value('a')])).toBeUndefined();
    tier.keep(undefined, 'a', cell('old'));
    expect(kept()).toBeUndefined();
  });
});

test('a cell that was read stays when room is made, once', () => {
  const store = new NearStore<string>({ entries: 2, bytes: 10_000 });
  store.set('a', cell('a'));
  store.set('b', cell('b'));
  store.get('a', 0);
  store.set('c', cell('c'));
  expect(['a', 'b', 'c'].map((key) => store.get(key, 0)?.value)).toEqual(['a', undefined, 'c']);
  store.clear();
  expect([store.entries, store.bytes]).toEqual([0, 0]);
});

test('a value is counted once, however often it is replaced', () => {
  const store = new NearStore<string>({ entries: 10, bytes: 10_000 });
  for (let round = 0; round < 5; round += 1) store.set('a', cell('value', ['x', 'y']));
  // 200 for the entry, 2 for its key, and 152 for each tag.
  expect([store.entries, store.bytes]).toEqual([1, 511]);
  store.deleteTag('y');
  store.deleteTag('x');
  expect([store.entries, store.bytes]).toEqual([0, 0]);
});
