import { describe, expect, test } from '@jest/globals';
import { connect, freshPrefix, gate, interposed, until } from '@mortise/test-kit';
import type { Cache } from '../../src/read-through/cache.js';
import type { CacheOptions } from '../../src/read-through/options.js';
import { cacheExpire } from '../../src/scripts.gen.js';
import { GatedLoader, pagesOf, waiting } from '../fixture/cached.js';

const redis = connect();
const other = connect();
const third = connect();

type Pages = Cache<string>;

/** A caller without a notification would wait for ten minutes. */
const LONG = { leaseMs: 600_000, loadTimeoutMs: 600_000 };

/** One cache in two processes. */
function inTwo(options: CacheOptions<string> = {}): { prefix: string; first: Pages; second: Pages } {
  const { cache: first, prefix } = pagesOf<string>(redis, options);
  return { prefix, first, second: pagesOf<string>(other, { ...options, prefix }).cache };
}

const PAGE = { title: 'Tools', body: 'saws and planes' };

describe('getOrLoad', () => {
  test('loads what is missing, once, and gives what was loaded from then on', async () => {
    const { cache } = pagesOf(redis);
    let loads = 0;
    const load = async (): Promise<typeof PAGE> => {
      loads += 1;
      return PAGE;
    };
    expect(await cache.get('tools')).toBeUndefined();
    expect(await cache.getOrLoad('tools', load)).toEqual(PAGE);
    expect(await cache.getOrLoad('tools', load)).toEqual(PAGE);
    expect(await cache.get('tools')).toEqual(PAGE);
    expect(loads).toBe(1);
    expect(cache.stats()).toMatchObject({ loads: 1, misses: 2, hits: 2, staleHits: 0, unavailable: 0 });
  });

  test('loads once for all readers of all processes', async () => {
    const prefix = freshPrefix();
    const caches = [redis, other, third].map((client) => pagesOf<string>(client, { prefix, ...LONG }).cache);
    const loader = new GatedLoader<string>();
    const reads = caches.flatMap((cache) =>
      Array.from({ length: 20 }, () => cache.getOrLoad('tools', loader.load)),
    );
    const call = await loader.call(0);
    await waiting(redis, prefix, 'tools');
    call.open('planes');
    expect(new Set(await Promise.all(reads))).toEqual(new Set(['planes']));
    expect(loader.calls).toHaveLength(1);
  });

  test('gives the error of a loader to those who wait for it, and then loads anew', async () => {
    const { cache, errors } = pagesOf<string>(redis);
    const failure = new Error('no such shop');
    const failing = async (): Promise<string> => {
      throw failure;
    };
    const reads = [cache.getOrLoad('tools', failing), cache.getOrLoad('tools', failing)];
    for (const read of reads) await expect(read).rejects.toBe(failure);
    expect(await cache.getOrLoad('tools', () => 'planes')).toBe('planes');
    expect(errors).toEqual([]);
  });

  test('lets another process load when the loader of the first fails', async () => {
    const { prefix, first, second } = inTwo(LONG);
    const loader = new GatedLoader<string>();
    const failing = first.getOrLoad('tools', loader.load);
    const call = await loader.call(0);
    const read = second.getOrLoad('tools', () => 'planes');
    await waiting(redis, prefix, 'tools');
    call.fail(new Error('no such shop'));
    await expect(failing).rejects.toThrow('no such shop');
    expect(await read).toBe('planes');
  });

  test('a reader that gives up leaves the load to the others', async () => {
    const { cache } = pagesOf<string>(redis);
    const loader = new GatedLoader<string>();
    const controller = new AbortController();
    const impatient = cache.getOrLoad('tools', loader.load, { signal: controller.signal });
    const patient = cache.getOrLoad('tools', loader.load);
    const call = await loader.call(0);
    const reason = new Error('closed the page');
    controller.abort(reason);
    await expect(impatient).rejects.toBe(reason);
    await expect(cache.getOrLoad('tools', loader.load, { signal: controller.signal })).rejects.toBe(reason);
    call.open('planes');
    expect(await patient).toBe('planes');
  });

  test('a reader that gives up while another process loads leaves nothing behind that would', async () => {
    const { prefix, first, second } = inTwo(LONG);
    const loader = new GatedLoader<string>();
    const failing = first.getOrLoad('tools', loader.load);
    const call = await loader.call(0);
    const controller = new AbortController();
    const unwanted = new GatedLoader<string>();
    const impatient = second.getOrLoad('tools', unwanted.load, { signal: controller.signal });
    await waiting(redis, prefix, 'tools');
    controller.abort(new Error('closed the page'));
    await expect(impatient).rejects.toThrow('closed the page');
    call.fail(new Error('no such shop'));
    await expect(failing).rejects.toThrow('no such shop');
    // It would share a load of the first reader.
    expect(await second.getOrLoad('tools', () => 'planes')).toBe('planes');
    expect(unwanted.calls).toHaveLength(0);
  });

  test('ends a load that takes too long, and aborts its signal', async () => {
    const { cache } = pagesOf<string>(redis, { loadTimeoutMs: 20 });
    const signals: AbortSignal[] = [];
    const never = (signal: AbortSignal): Promise<string> => {
      signals.push(signal);
      return new Promise(() => undefined);
    };
    const error = {
      code: 'ERR_CACHE_LOAD_TIMEOUT',
      cache: 'pages',
      keys: ['tools'],
      message: expect.stringContaining('20 ms'),
    };
    await expect(cache.getOrLoad('tools', never)).rejects.toMatchObject(error);
    expect(signals).toHaveLength(1);
    expect(signals[0]?.reason).toMatchObject(error);
    expect(await cache.getOrLoad('tools', () => 'planes')).toBe('planes');
  });

  test('waits no longer than that for another process either', async () => {
    const prefix = freshPrefix();
    const loader = new GatedLoader<string>();
    const first = pagesOf<string>(redis, { prefix }).cache.getOrLoad('tools', loader.load);
    const call = await loader.call(0);
    const { cache } = pagesOf<string>(other, { prefix, loadTimeoutMs: 20 });
    await expect(cache.getOrLoad('tools', () => 'saws')).rejects.toMatchObject({
      code: 'ERR_CACHE_LOAD_TIMEOUT',
    });
    call.open('planes');
    expect(await first).toBe('planes');
  });

  test('a load that outlives its lease keeps it', async () => {
    const prefix = freshPrefix();
    const loader = new GatedLoader<string>();
    const slow = pagesOf<string>(redis, { prefix, leaseMs: 100 }).cache;
    const read = slow.getOrLoad('tools', loader.load);
    const call = await loader.call(0);
    const lease = `${prefix}:cache:{pages}:lease:tools`;
    const token = await redis.get(lease);
    let renewals = 0;
    let leftMs = await redis.pttl(lease);
    await until('three renewals', async () => {
      const now = await redis.pttl(lease);
      if (now > leftMs) renewals += 1;
      leftMs = now;
      return renewals === 3;
    });
    expect(await redis.get(lease)).toBe(token);
    call.open('planes');
    expect(await read).toBe('planes');
    expect(loader.calls).toHaveLength(1);
    expect(await redis.exists(lease)).toBe(0);
  });
});

describe('a value that is not there', () => {
  test('is remembered, for a time of its own', async () => {
    const { cache, prefix } = pagesOf<string>(redis, { ttlMs: 3_600_000, negativeTtlMs: 60_000 });
    let loads = 0;
    const nothing = (): undefined => {
      loads += 1;
    };
    expect(await cache.getOrLoad('none', nothing)).toBeNull();
    expect(await cache.getOrLoad('none', nothing)).toBeNull();
    expect(await cache.get('none')).toBeNull();
    expect(loads).toBe(1);
    const leftMs = await redis.pttl(`${prefix}:cache:{pages}:value:none`);
    expect(leftMs).toBeGreaterThan(30_000);
    expect(leftMs).toBeLessThanOrEqual(60_000);
  });

  test('is asked for again each time with negativeTtlMs 0', async () => {
    const { cache } = pagesOf<string>(redis, { negativeTtlMs: 0 });
    expect(await cache.getOrLoad('none', () => null)).toBeNull();
    expect(await cache.get('none')).toBeUndefined();
    expect(await cache.getOrLoad('none', () => 'planes')).toBe('planes');
  });
});

describe('a stale value', () => {
  const old = { ttlMs: 1, staleMs: 3_600_000 };

  test('is given at once, while one process loads it again', async () => {
    const { first, second } = inTwo(old);
    await first.set('tools', 'saws');
    const loader = new GatedLoader<string>();
    // Past its time: the server's clock is asked for by the read.
    await until('the load', async () => {
      expect(await first.getOrLoad('tools', loader.load)).toBe('saws');
      return loader.calls.length === 1;
    });
    expect(await second.getOrLoad('tools', loader.load)).toBe('saws');
    expect(await first.getOrLoad('tools', loader.load)).toBe('saws');
    expect(loader.calls).toHaveLength(1);
    expect(first.stats().staleHits).toBeGreaterThan(0);
    loader.calls[0]?.open('planes');
    await until('the new value', async () => (await second.get('tools')) === 'planes');
  });

  test('whose load fails is reported once a minute for all keys, and another cause at once', async () => {
    const { cache, errors } = pagesOf<string>(redis, { ...old, retryMs: 0 });
    const keys = ['tools', 'toys', 'books'];
    await Promise.all(keys.map((key) => cache.set(key, 'old')));
    let loads = 0;
    let cause = 'no such shop';
    const failing = (): never => {
      loads += 1;
      throw new Error(cause);
    };
    const readAll = (): Promise<unknown> => Promise.all(keys.map((key) => cache.getOrLoad(key, failing)));
    await until('failed loads', async () => {
      await readAll();
      return loads >= 9;
    });
    cause = 'the shop is closed';
    await until('the other failure', async () => {
      await readAll();
      return errors.length > 1;
    });
    expect(errors.map((error) => (error as Error).cause)).toEqual([
      new Error('no such shop'),
      new Error('the shop is closed'),
    ]);
  });

  test('stays when its load fails, which is reported, and nobody tries again for a while', async () => {
    const { cache, errors, prefix } = pagesOf<string>(redis, { ...old, retryMs: 3_600_000 });
    await cache.set('tools', 'saws');
    let loads = 0;
    const failure = new Error('no such shop');
    const failing = (): never => {
      loads += 1;
      throw failure;
    };
    await until('the report', async () => {
      expect(await cache.getOrLoad('tools', failing)).toBe('saws');
      return errors.length > 0;
    });
    expect(errors).toMatchObject([{ code: 'ERR_CACHE_REFRESH', keys: ['tools'], cause: failure }]);
    for (let reads = 0; reads < 10; reads += 1) expect(await cache.getOrLoad('tools', failing)).toBe('saws');
    expect(loads).toBe(1);
    expect(await redis.pttl(`${prefix}:cache:{pages}:lease:tools`)).toBeGreaterThan(3_000_000);
  });

  test('that ends before its load is tried again is loaded by who comes, at once', async () => {
    const { cache, errors, prefix } = pagesOf<string>(redis, { ...old, retryMs: 3_600_000 });
    const failing = (): never => {
      throw new Error('no such shop');
    };
    const tags = ['shop'];
    await cache.set('tools', 'saws', { tags });
    await until('the report', async () => {
      expect(await cache.getOrLoad('tools', failing, { tags })).toBe('saws');
      return errors.length > 0;
    });
    const [value, lease] = ['value', 'lease'].map((part) => `${prefix}:cache:{pages}:${part}:tools`);
    await redis.del(value!);
    expect(await redis.pttl(lease!)).toBeGreaterThan(3_000_000);
    expect(await cache.getOrLoad('tools', () => 'planes', { tags })).toBe('planes');
    expect(await redis.exists(lease!)).toBe(0);
  });

  test('that ends during a load which fails is loaded by who has waited for that', async () => {
    const { prefix, first, second } = inTwo({ ...old, ...LONG, retryMs: 3_600_000 });
    await first.set('tools', 'saws');
    const loader = new GatedLoader<string>();
    await until('the load', async () => {
      expect(await first.getOrLoad('tools', loader.load)).toBe('saws');
      return loader.calls.length === 1;
    });
    await redis.del(`${prefix}:cache:{pages}:value:tools`);
    const read = second.getOrLoad('tools', () => 'planes');
    await waiting(redis, prefix, 'tools');
    loader.calls[0]?.fail(new Error('no such shop'));
    expect(await read).toBe('planes');
  });
});

describe('softTimeoutMs', () => {
  const LATER = { ttlMs: 60_000, staleMs: 60_000, softTimeoutMs: 600_000 };

  /** A stale value in the cache. */
  async function stale(cache: Pages): Promise<void> {
    await cache.set('tools', 'saws');
    await cache.expire('tools', 0);
  }

  test('a stale value waits for its load, in all processes, and all get the new one', async () => {
    const { prefix, first, second } = inTwo({ ...LATER, ...LONG });
    await stale(first);
    const loader = new GatedLoader<string>();
    const reads = [first, first].map((cache) => cache.getOrLoad('tools', loader.load));
    const call = await loader.call(0);
    reads.push(second.getOrLoad('tools', loader.load));
    await waiting(redis, prefix, 'tools');
    call.open('planes');
    expect(await Promise.all(reads)).toEqual(['planes', 'planes', 'planes']);
    expect(loader.calls).toHaveLength(1);
  });

  test('is served when the load takes longer: to readers after that at once, and the load continues', async () => {
    const { prefix, first, second } = inTwo({ ...LATER, ...LONG, softTimeoutMs: 1 });
    await stale(first);
    const loader = new GatedLoader<string>();
    expect(await first.getOrLoad('tools', loader.load)).toBe('saws');
    expect(await first.getOrLoad('tools', loader.load)).toBe('saws');
    const there = Promise.all([1, 2].map(() => second.getOrLoad('tools', loader.load)));
    expect(await there).toEqual(['saws', 'saws']);
    // The second process learns from its wait that the load is slow.
    await waiting(redis, prefix, 'tools');
    const call = await loader.call(0);
    call.open('planes');
    await until('the new value', async () => (await second.get('tools')) === 'planes');
    expect(await second.getOrLoad('tools', loader.load)).toBe('planes');
    expect(loader.calls).toHaveLength(1);
  });

  test('is served when the load fails, which is reported once, and at once in the pause after that', async () => {
    const { prefix, cache, errors } = pagesOf<string>(redis, { ...LATER, retryMs: 3_600_000 });
    const there = pagesOf<string>(other, { ...LATER, prefix }).cache;
    await stale(cache);
    const failure = new Error('no such shop');
    const loader = new GatedLoader<string>();
    const reads = [1, 2].map(() => cache.getOrLoad('tools', loader.load));
    (await loader.call(0)).fail(failure);
    expect(await Promise.all(reads)).toEqual(['saws', 'saws']);
    expect(errors).toMatchObject([{ code: 'ERR_CACHE_REFRESH', keys: ['tools'], cause: failure }]);
    for (const one of [cache, there]) expect(await one.getOrLoad('tools', loader.load)).toBe('saws');
    expect(loader.calls).toHaveLength(1);
  });

  test('a value from before a change that the reader knows of is not returned', async () => {
    const { first, second } = inTwo({ ...LATER, ...LONG });
    await stale(first);
    const loader = new GatedLoader<string>();
    const early = first.getOrLoad('tools', loader.load);
    const call = await loader.call(0);
    await second.set('tools', 'planes');
    await second.expire('tools', 0);
    const late = first.getOrLoad('tools', loader.load);
    const next = await loader.call(1);
    call.open('old');
    expect(await early).toBe('old');
    next.open('new');
    expect(await late).toBe('new');
    expect(await second.get('tools')).toBe('new');
  });

  test('a reader that gives up gets the reason of its signal; its load continues', async () => {
    const { cache } = pagesOf<string>(redis, LATER);
    await stale(cache);
    const loader = new GatedLoader<string>();
    const controller = new AbortController();
    const read = cache.getOrLoad('tools', loader.load, { signal: controller.signal });
    const call = await loader.call(0);
    const reason = new Error('closed the page');
    controller.abort(reason);
    await expect(read).rejects.toBe(reason);
    call.open('planes');
    await until('the new value', async () => (await cache.get('tools')) === 'planes');
  });

  test('a fresh value waits for nothing', async () => {
    const { cache } = pagesOf<string>(redis, LATER);
    await cache.set('tools', 'saws');
    const loader = new GatedLoader<string>();
    expect(await cache.getOrLoad('tools', loader.load)).toBe('saws');
    expect(loader.calls).toHaveLength(0);
  });

  test("a reader without a value waits for the load that others don't wait for", async () => {
    const { cache, prefix } = pagesOf<string>(redis, { ...LATER, ...LONG, softTimeoutMs: 1 });
    await stale(cache);
    const loader = new GatedLoader<string>();
    expect(await cache.getOrLoad('tools', loader.load)).toBe('saws');
    await redis.del(`${prefix}:cache:{pages}:value:tools`);
    const read = cache.getOrLoad('tools', loader.load);
    await until('its miss', () => cache.stats().misses > 0);
    (await loader.call(0)).open('planes');
    expect(await read).toBe('planes');
    expect(loader.calls).toHaveLength(1);
  });
});

describe('a change', () => {
  const changes: [string, (cache: Pages) => Promise<unknown>][] = [
    ['delete', (cache) => cache.delete('tools')],
    ['invalidateTag', (cache) => cache.invalidateTag('shop')],
  ];

  test.each(changes)(
    'by %s keeps an older load from being stored, and readers from getting it',
    async (_, change) => {
      const { first: loading, second: changing } = inTwo();
      const loader = new GatedLoader<string>();
      const tags = ['shop'];
      const early = loading.getOrLoad('tools', loader.load, { tags });
      const call = await loader.call(0);
      await change(changing);
      // It shares the load, which began before it came.
      const late = loading.getOrLoad('tools', loader.load, { tags });
      const here = changing.getOrLoad('tools', loader.load, { tags });
      await until('both to wait', () => loading.stats().misses + changing.stats().misses === 3);
      call.open('old');
      expect(await early).toBe('old');
      (await loader.call(1)).open('new');
      expect(await late).toBe('new');
      expect(await here).toBe('new');
      expect(await changing.get('tools')).toBe('new');
      expect(loader.calls).toHaveLength(2);
    },
  );

  test.each(changes)('by %s keeps nobody who comes later waiting for an older load', async (_, change) => {
    const { prefix, first: loading, second: changing } = inTwo();
    const loader = new GatedLoader<string>();
    const tags = ['shop'];
    const early = loading.getOrLoad('tools', loader.load, { tags });
    const old = await loader.call(0);
    const waits = changing.getOrLoad('tools', loader.load, { tags });
    await waiting(redis, prefix, 'tools');
    await change(changing);
    // Each of them may be the one that loads; whoever waited before is woken by it as well.
    const late = [loading, changing].map((cache) => cache.getOrLoad('tools', loader.load, { tags }));
    (await loader.call(1)).open('new');
    expect(await Promise.all(late)).toEqual(['new', 'new']);
    expect(await waits).toBe('new');
    old.open('old');
    expect(await early).toBe('old');
    expect(await loading.get('tools')).toBe('new');
    expect(loader.calls).toHaveLength(2);
  });

  const options = { tags: ['shop'] };
  test.each<[string, () => [Pick<Pages, 'get' | 'getOrLoad'>, () => Promise<unknown>]]>([
    [
      'delete in the process that loads',
      () => {
        const { cache } = pagesOf<string>(redis);
        return [cache, async () => expect(await cache.delete('tools')).toBe(false)];
      },
    ],
    [
      'invalidateTag in the process that loads',
      () => {
        const { cache } = pagesOf<string>(redis);
        return [cache, () => cache.invalidateTag('shop')];
      },
    ],
    [
      'clear of a namespace',
      () => {
        const { first, second } = inTwo();
        return [first.namespace('shop'), () => second.namespace('shop').clear()];
      },
    ],
  ])('by %s keeps nobody waiting for an older load', async (_, make) => {
    const [cache, change] = make();
    const loader = new GatedLoader<string>();
    const early = cache.getOrLoad('tools', loader.load, options);
    const old = await loader.call(0);
    await change();
    expect(await cache.getOrLoad('tools', () => 'new', options)).toBe('new');
    old.open('old');
    expect(await early).toBe('old');
    expect(await cache.get('tools')).toBe('new');
  });

  test('by delete frees the lease, and the old load is not stored under that of the next', async () => {
    const { first: loading, second: changing } = inTwo();
    const loader = new GatedLoader<string>();
    const early = loading.getOrLoad('tools', loader.load);
    const first = await loader.call(0);
    await changing.delete('tools');
    const here = changing.getOrLoad('tools', loader.load);
    const second = await loader.call(1);
    first.open('old');
    expect(await early).toBe('old');
    expect(await changing.get('tools')).toBeUndefined();
    second.open('new');
    expect(await here).toBe('new');
    expect(await loading.get('tools')).toBe('new');
  });

  test('by set is not overwritten by a load that began before', async () => {
    const { first: loading, second: changing } = inTwo();
    const loader = new GatedLoader<string>();
    const read = loading.getOrLoad('tools', loader.load);
    const call = await loader.call(0);
    await changing.set('tools', 'set');
    call.open('loaded');
    expect(await read).toBe('loaded');
    expect(await loading.get('tools')).toBe('set');
  });

  test('by delete says whether there was an entry', async () => {
    const { cache } = pagesOf<string>(redis);
    await cache.set('tools', 'saws');
    expect([await cache.delete('tools'), await cache.delete('tools')]).toEqual([true, false]);
    expect(await cache.get('tools')).toBeUndefined();
  });
});

describe('deleteMany', () => {
  test('counts the entries that existed, and refuses an invalid key before it removes any', async () => {
    const { cache } = pagesOf<string>(redis);
    for (const key of ['saws', 'planes']) await cache.set(key, key);
    expect(await cache.deleteMany([])).toBe(0);
    await expect(cache.deleteMany(['saws', ''])).rejects.toMatchObject({ code: 'ERR_INVALID_ARG' });
    await expect(cache.deleteMany('saws' as unknown as string[])).rejects.toThrow(/keys/);
    expect(await cache.get('saws')).toBe('saws');
    expect(await cache.deleteMany(['saws', 'planes', 'none', 'saws'])).toBe(2);
    expect(await cache.getMany(['saws', 'planes'])).toEqual(new Map());
  });
});

describe('expire', () => {
  const ofEntry = async (prefix: string): Promise<{ leftMs: number; tagMs: number }> => ({
    leftMs: await redis.pttl(`${prefix}:cache:{pages}:value:tools`),
    tagMs: await redis.pttl(`${prefix}:cache:{pages}:tag:shop`),
  });

  test('makes an entry fresh for a time from now on, and its tags last longer', async () => {
    const { cache, prefix } = pagesOf<string>(redis, { ttlMs: 1, staleMs: 60_000 });
    await cache.set('tools', 'saws', { tags: ['shop'] });
    await until('its end', async () => (await cache.get('tools')) && cache.stats().staleHits > 0);
    expect(await cache.expire('tools', 600_000)).toBe(true);
    const { leftMs, tagMs } = await ofEntry(prefix);
    expect(leftMs).toBeLessThanOrEqual(660_000);
    expect(leftMs).toBeGreaterThan(600_000);
    expect(tagMs).toBeGreaterThan(leftMs);
    const { staleHits, loads } = cache.stats();
    expect(await cache.getOrLoad('tools', () => 'planes')).toBe('saws');
    expect(cache.stats()).toMatchObject({ staleHits, loads });
  });

  test('with 0 makes it stale, so that it is served while it is loaded again', async () => {
    const { cache } = pagesOf<string>(redis, { staleMs: 60_000 });
    await cache.set('tools', 'saws');
    expect(await cache.expire('tools', 0)).toBe(true);
    expect(await cache.getOrLoad('tools', () => 'planes')).toBe('saws');
    await until('the load', async () => (await cache.get('tools')) === 'planes');
  });

  test('with 0 removes an entry without staleMs', async () => {
    const { cache, prefix } = pagesOf<string>(redis);
    await cache.set('tools', 'saws');
    expect(await cache.expire('tools', 0)).toBe(true);
    expect(await cache.get('tools')).toBeUndefined();
    expect(await redis.exists(`${prefix}:cache:{pages}:value:tools`)).toBe(0);
  });

  test('neither creates an entry nor revives one', async () => {
    const { cache } = pagesOf<string>(redis);
    expect(await cache.expire('none', 1_000)).toBe(false);
    await cache.set('tools', 'saws', { tags: ['shop'] });
    await cache.invalidateTag('shop');
    expect(await cache.expire('tools', 1_000)).toBe(false);
    expect(await cache.get('tools')).toBeUndefined();
    const own = cache.namespace('own');
    await own.set('tools', 'saws');
    expect(await own.expire('tools', 1_000)).toBe(true);
    await own.clear();
    expect(await own.expire('tools', 1_000)).toBe(false);
  });

  test('changes the entry that is there when another one was stored during the call', async () => {
    const prefix = freshPrefix();
    const slow = gate();
    const asked = gate();
    const client = interposed(connect(), async (_step, send, args) => {
      if (args.includes(cacheExpire.sha1)) {
        asked.open();
        await slow.passed;
      }
      return send();
    });
    const { cache } = pagesOf<string>(client, { prefix });
    const there = pagesOf<string>(other, { prefix }).cache;
    await there.set('tools', 'saws');
    const expiring = cache.expire('tools', 1_000);
    await asked.passed;
    await there.set('tools', 'planes');
    slow.open();
    expect(await expiring).toBe(true);
    expect(await there.get('tools')).toBe('planes');
    expect(await redis.pttl(`${prefix}:cache:{pages}:value:tools`)).toBeLessThanOrEqual(1_000);
  });

  test('leaves a load under way alone, whose value has the time of the load', async () => {
    const { cache } = pagesOf<string>(redis);
    const loader = new GatedLoader<string>();
    const reading = cache.getOrLoad('tools', loader.load);
    const call = await loader.call(0);
    expect(await cache.expire('tools', 1)).toBe(false);
    call.open('saws');
    expect(await reading).toBe('saws');
    expect(await cache.get('tools')).toBe('saws');
  });

  test.each([[-1], [Number.NaN], [Infinity], ['1'], [undefined]])('the time %p is refused', async (ttlMs) => {
    const { cache } = pagesOf<string>(redis);
    await expect(cache.expire('tools', ttlMs as number)).rejects.toMatchObject({ code: 'ERR_INVALID_ARG' });
  });
});

describe('invalidateTag', () => {
  test('takes all entries that have the tag, and no others', async () => {
    const { cache } = pagesOf<string>(redis);
    await cache.set('planes', '1', { tags: ['tools', 'wood'] });
    await cache.set('hammers', '2', { tags: ['tools', 'metal'] });
    await cache.set('boards', '3', { tags: ['wood'] });
    await cache.getOrLoad('nails', () => '4', { tags: (value) => (value === '4' ? ['metal'] : []) });
    await cache.invalidateTag('metal');
    expect(await cache.getMany(['planes', 'hammers', 'boards', 'nails'])).toEqual(
      new Map([
        ['planes', '1'],
        ['boards', '3'],
      ]),
    );
    await cache.invalidateTag('wood');
    expect(await cache.getMany(['planes', 'boards'])).toEqual(new Map());
    await cache.set('boards', '5', { tags: ['wood'] });
    expect(await cache.get('boards')).toBe('5');
  });

  test('is not what the first value with a tag does to loads under way', async () => {
    const { first, second } = inTwo(LONG);
    const tags = ['tools'];
    const loader = new GatedLoader<string>();
    const slow = first.getOrLoad('planes', loader.load, { tags });
    const call = await loader.call(0);
    expect(await second.getOrLoad('saws', () => '1', { tags })).toBe('1');
    call.open('2');
    expect(await slow).toBe('2');
    // Stored, so nobody loads it again.
    expect(await second.getOrLoad('planes', () => 'again', { tags })).toBe('2');
  });

  test('takes entries whose tag was evicted as well: it may have been invalidated', async () => {
    const { cache, prefix } = pagesOf<string>(redis);
    await cache.set('planes', '1', { tags: ['tools'] });
    await redis.del(`${prefix}:cache:{pages}:tag:tools`);
    expect(await cache.get('planes')).toBeUndefined();
    expect(await cache.getOrLoad('planes', () => '2', { tags: ['tools'] })).toBe('2');
    expect(await cache.get('planes')).toBe('2');
  });
});

describe('a namespace', () => {
  test('has keys of its own, and is cleared as a whole', async () => {
    const { cache } = pagesOf<string>(redis);
    const [ann, bob] = [cache.namespace('ann'), cache.namespace('bob')];
    await cache.set('home', 'all');
    await ann.set('home', 'hers', { tags: ['homes'] });
    expect(await bob.getOrLoad('home', () => 'his')).toBe('his');
    expect([await cache.get('home'), await ann.get('home'), await bob.get('home')]).toEqual([
      'all',
      'hers',
      'his',
    ]);
    await bob.clear();
    expect([await cache.get('home'), await ann.get('home'), await bob.get('home')]).toEqual([
      'all',
      'hers',
      undefined,
    ]);
    await cache.invalidateTag('homes');
    expect(await ann.get('home')).toBeUndefined();
    await bob.set('home', 'again');
    expect(await bob.get('home')).toBe('again');
    expect(() => cache.namespace('a\0b')).toThrow(RangeError);
    await expect(cache.set('\0bob\0home', 'forged')).rejects.toThrow(RangeError);
  });
});

describe('the option load', () => {
  test('loads all keys that miss in one tick in one call', async () => {
    const calls: (readonly string[])[] = [];
    const { cache } = pagesOf<string>(redis, {
      load: async (keys) => {
        calls.push(keys);
        return new Map(keys.filter((key) => key !== 'none').map((key) => [key, key.toUpperCase()]));
      },
    });
    await cache.set('b', 'stored');
    const many = await cache.getOrLoadMany(['a', 'b', 'c', 'none', 'a']);
    expect(many).toEqual(
      new Map([
        ['a', 'A'],
        ['b', 'stored'],
        ['c', 'C'],
      ]),
    );
    expect(calls).toEqual([['a', 'c', 'none']]);
    expect(await cache.getOrLoad('none')).toBeNull();
    expect(calls).toHaveLength(1);
  });

  test.each([
    ['no Map of values by key', { a: 1 }],
    ['a value for 1, which was not requested', new Map([[1, 1]])],
  ])('that returns %s fails', async (problem, result) => {
    const { cache } = pagesOf(redis, { load: async () => result as never });
    await expect(cache.getOrLoad('a')).rejects.toMatchObject({
      code: 'ERR_CACHE_LOAD_RESULT',
      message: expect.stringContaining(problem),
    });
  });

  test('has a time limit', async () => {
    const { cache } = pagesOf(redis, { loadTimeoutMs: 20, load: () => new Promise(() => undefined) });
    await expect(cache.getOrLoad('a')).rejects.toMatchObject({
      code: 'ERR_CACHE_LOAD_TIMEOUT',
      keys: ['a'],
    });
  });
});
