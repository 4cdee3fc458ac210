import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { startProxy, startSingle } from '@mortise/redis-server';
import type { RedisServer, TcpProxy } from '@mortise/redis-server';
import { connect, freshPrefix, runSentinel, runServer, until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import { GatedLoader, pagesOf, waiting } from '../fixture/cached.js';

const { server, connect: connectShared } = await runServer();
const { servers: sentinel, connect: connectSentinel } = await runSentinel();

const open = new Set<() => Promise<unknown>>();

afterEach(async () => {
  for (const end of open) await end();
  open.clear();
});

/** A client is closed before its server: one that reconnects holds the process for two seconds. */
function endLater<Server extends { readonly url: string; stop(): Promise<void> }>(of: Server): Redis {
  const client = connect(of.url);
  open.add(() => {
    client.disconnect();
    return of.stop();
  });
  return client;
}

/** A server that ends with the test. */
async function ownServer(): Promise<{ own: RedisServer; redis: Redis }> {
  const own = await startSingle();
  return { own, redis: endLater(own) };
}

async function behindProxy(): Promise<{ proxy: TcpProxy; proxied: Redis }> {
  const proxy = await startProxy({ port: server.port });
  return { proxy, proxied: endLater(proxy) };
}

test('a process that dies while it loads delays the others by one lease', async () => {
  const prefix = freshPrefix();
  const redis = connectShared();
  const options = { url: server.url, prefix, leaseMs: 1_000 };
  const child = fork(join(import.meta.dirname, 'cache-process.mjs'), [JSON.stringify(options)], {
    execArgv: [],
  });
  try {
    await once(child, 'message');
    const loader = new GatedLoader<string>();
    const read = pagesOf<string>(redis, { prefix }).cache.getOrLoad('tools', loader.load);
    await waiting(redis, prefix, 'tools');
    const lease = `${prefix}:cache:{pages}:lease:tools`;
    const token = await redis.get(lease);
    // The lease of a living process is renewed.
    let leftMs = await redis.pttl(lease);
    await until('a renewal', async () => {
      const now = await redis.pttl(lease);
      const isRenewed = now > leftMs;
      leftMs = now;
      return isRenewed;
    });
    expect(loader.calls).toHaveLength(0);
    expect(await redis.get(lease)).toBe(token);
    child.kill('SIGKILL');
    (await loader.call(0)).open('planes');
    expect(await read).toBe('planes');
  } finally {
    child.kill('SIGKILL');
  }
});

describe('FLUSHALL', () => {
  test('during a load: its value is not stored, and a waiting reader loads', async () => {
    const [redis, other] = [connectShared(), connectShared()];
    const prefix = freshPrefix();
    const here = pagesOf<string>(redis, { prefix, leaseMs: 1_000 }).cache;
    const there = pagesOf<string>(other, { prefix, leaseMs: 1_000 }).cache;
    const loader = new GatedLoader<string>();
    const first = here.getOrLoad('tools', loader.load);
    const call = await loader.call(0);
    const second = there.getOrLoad('tools', () => 'planes');
    await waiting(redis, prefix, 'tools');
    await redis.flushall();
    call.open('saws');
    expect(await first).toBe('saws');
    expect(await second).toBe('planes');
    expect(await here.get('tools')).toBe('planes');
  });

  test('empties the near tier, and tags go on', async () => {
    const redis = connectShared();
    const { cache } = pagesOf<string>(redis, { near: {} });
    const near = async (wanted: string): Promise<void> => {
      await until('the near tier', async () => {
        await cache.getOrLoad('tools', () => wanted, { tags: ['shop'] });
        return cache.peek('tools') === wanted;
      });
    };
    await near('saws');
    await redis.flushall();
    await until('the invalidation', () => cache.peek('tools') === undefined);
    await near('planes');
    await cache.invalidateTag('shop');
    await near('files');
    expect(cache.stats().unavailable).toBe(0);
  });
});

test('a client that has never connected is named as the cause', async () => {
  const proxy = await startProxy({ port: server.port });
  proxy.refuse();
  const { cache } = pagesOf<string>(endLater(proxy), { prefix: freshPrefix(), commandTimeoutMs: 50 });
  for (const reason of [/^no answer within 50 ms\. /, /./]) {
    const error = await cache.set('tools', 'saws').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'ERR_CACHE_UNAVAILABLE',
      reason: expect.stringMatching(reason),
      message: expect.stringMatching(/the client is "(connecting|reconnecting)"\. Check the address/),
      cause: expect.objectContaining({ code: 'ERR_REDIS_UNREACHABLE' }),
    });
  }
});

describe('a cut', () => {
  test.each(['dropReplies', 'dropRequests'] as const)(
    'of the store (%s): the reader that loaded the value gets it',
    async (how) => {
      const { proxy, proxied } = await behindProxy();
      const prefix = freshPrefix();
      const options = { prefix, commandTimeoutMs: 1_000, leaseMs: 300 };
      const { cache, errors } = pagesOf<string>(proxied, options);
      const direct = pagesOf<string>(connectShared(), { prefix }).cache;
      await cache.set('warm', 'the script is known from now on');
      const load = (): string => {
        proxy[how]();
        return 'saws';
      };
      expect(await cache.getOrLoad('tools', load)).toBe('saws');
      expect(errors).toMatchObject([{ code: 'ERR_CACHE_UNAVAILABLE', reason: 'no answer within 1000 ms' }]);
      // Stored without a reply, or never: then the lease ends by itself.
      expect(await direct.getOrLoad('tools', () => 'planes')).toBe(how === 'dropReplies' ? 'saws' : 'planes');
      await proxy.restore();
      await until('the cache to be back', async () => (await cache.get('tools')) !== undefined);
    },
  );

  test.each(['dropReplies', 'dropRequests'] as const)(
    'of the read (%s): the value is loaded, and changes are refused',
    async (how) => {
      const { proxy, proxied } = await behindProxy();
      const prefix = freshPrefix();
      const { cache } = pagesOf<string>(proxied, { prefix, commandTimeoutMs: 50 });
      await until('an entry', () =>
        cache.set('tools', 'saws').then(
          () => true,
          () => false,
        ),
      );
      proxy[how]();
      const code = 'ERR_CACHE_UNAVAILABLE';
      expect(await cache.get('tools')).toBeUndefined();
      expect(await cache.getOrLoad('tools', () => 'planes')).toBe('planes');
      await expect(cache.set('tools', 'files')).rejects.toMatchObject({ code, cache: 'pages' });
      await expect(cache.delete('tools')).rejects.toMatchObject({ code });
      await expect(cache.invalidateTag('shop')).rejects.toMatchObject({ code });
      // After five timeouts in a row no call waits any more.
      await expect(cache.set('tools', 'files')).rejects.toMatchObject({
        code,
        reason: 'it has not answered 5 times in a row',
      });
      await proxy.restore();
      await until('the cache to be back', async () => {
        await cache.getOrLoad('tools', () => 'planes');
        return (await cache.get('tools')) !== undefined;
      });
    },
  );

  test('of the lease request: a lease that comes too late is released', async () => {
    const { proxy, proxied } = await behindProxy();
    const prefix = freshPrefix();
    const redis = connectShared();
    const { cache } = pagesOf<string>(proxied, {
      prefix,
      commandTimeoutMs: 50,
      leaseMs: 600_000,
      // Its value is not to be found before that.
      fallbackTtlMs: 0,
    });
    await cache.get('warm');
    proxy.delay({ repliesMs: 150 });
    expect(await cache.getOrLoad('tools', () => 'saws')).toBe('saws');
    const lease = `${prefix}:cache:{pages}:lease:tools`;
    proxy.delay({});
    await until('the release of the lease', async () => {
      if ((await redis.exists(lease)) > 0) return false;
      return (await cache.getOrLoad('tools', () => 'planes')) !== null && cache.stats().hits > 0;
    });
  });

  test('at any moment fails no read, and the last read gives the last stored value', async () => {
    const { proxy, proxied } = await behindProxy();
    const prefix = freshPrefix();
    const cut = pagesOf<number>(proxied, {
      prefix,
      near: {},
      commandTimeoutMs: 200,
      leaseMs: 200,
      fallbackTtlMs: 1,
    }).cache;
    const direct = pagesOf<number>(connectShared(), { prefix, leaseMs: 200 }).cache;
    let version = 0;
    for (let round = 0; round < 60; round += 1) {
      const load = async (): Promise<number> => {
        const read = version;
        if (round % 3 === 0) proxy.cut();
        return read;
      };
      const reads = Array.from({ length: 5 }, () => cut.getOrLoad('version', load));
      if (round % 3 === 1) proxy.cut();
      for (const read of await Promise.all(reads)) expect(read).toBeLessThanOrEqual(version);
      version += 1;
      await direct.delete('version');
      expect(await direct.getOrLoad('version', () => version)).toBe(version);
    }
    await until('the last version', async () => (await cut.get('version')) === version);
  });
});

describe('an unavailable Redis', () => {
  test('delays no read, costs one load, and is used again when it is back', async () => {
    const { own, redis } = await ownServer();
    const { cache, errors } = pagesOf<string>(redis, {
      near: {},
      fallbackTtlMs: 60_000,
      commandTimeoutMs: 2_000,
    });
    await cache.set('tools', 'saws');
    await own.kill();
    let loads = 0;
    const load = (): string => {
      loads += 1;
      return 'planes';
    };
    await until('the break', async () => {
      await cache.get('tools');
      return cache.stats().unavailable > 0;
    });
    for (let read = 0; read < 1_000; read += 1) expect(await cache.getOrLoad('tools', load)).toBe('planes');
    expect(loads).toBe(1);
    await expect(cache.set('tools', 'files')).rejects.toMatchObject({ code: 'ERR_CACHE_UNAVAILABLE' });
    const refusal = await until('a refusal while the client reconnects', () =>
      cache.set('tools', 'files').then(
        () => undefined,
        ({ message }: Error) => (message.includes('reconnecting') ? message : undefined),
      ),
    );
    expect(refusal.match(/reconnecting/g)).toHaveLength(1);
    // Not one for each of a thousand reads.
    expect(errors.length).toBeLessThan(20);
    await own.restart();
    await until('the near tier to be back', async () => {
      await cache.getOrLoad('tools', () => 'new');
      return cache.peek('tools') === 'new';
    });
  });

  test('without an answer: after a few timeouts no call waits, and a half-open probe finds that it is back', async () => {
    const { own, redis } = await ownServer();
    const { cache } = pagesOf<string>(redis, { commandTimeoutMs: 30, fallbackTtlMs: 0 });
    await cache.get('warm');
    own.pause();
    for (let read = 0; read < 5; read += 1)
      expect(await cache.getOrLoad(`page ${read}`, () => 'loaded')).toBe('loaded');
    await expect(cache.set('tools', 'saws')).rejects.toMatchObject({
      reason: expect.stringMatching(/not answered \d+ times in a row/),
    });
    own.resume();
    await until('the probe', async () => {
      await cache.getOrLoad('tools', () => 'saws');
      return cache.stats().hits > 0;
    });
  });
});

describe('a Redis that answers reads and refuses writes', () => {
  test('has each key loaded once in a while, not by each reader', async () => {
    const { redis } = await ownServer();
    const { cache, errors } = pagesOf<string>(redis, { fallbackTtlMs: 60_000 });
    await cache.set('warm', 'the scripts are known from now on');
    await redis.replicaof('127.0.0.1', 1);
    let loads = 0;
    const read = (): Promise<string | null> =>
      cache.getOrLoad('tools', () => {
        loads += 1;
        return `saws ${loads}`;
      });
    for (let round = 0; round < 10; round += 1) {
      const values = await Promise.all(Array.from({ length: 20 }, read));
      expect(new Set(values)).toEqual(new Set(['saws 1']));
    }
    expect(loads).toBe(1);
    expect(errors[0]).toMatchObject({
      code: 'ERR_REDIS_READONLY',
      message: expect.stringMatching(/^cache "\w+" cannot use Redis: this Redis is a read-only replica/),
    });

    // Its own changes end what is kept, although Redis refuses them.
    await expect(cache.delete('tools')).rejects.toMatchObject({ code: 'ERR_REDIS_READONLY' });
    expect(await read()).toBe('saws 2');
    await redis.replicaof('NO', 'ONE');
    await until('an entry', async () => (await read()) !== null && (await cache.get('tools')) !== undefined);
  });

  test('does not keep a load that a change of the process overtakes', async () => {
    const { redis } = await ownServer();
    const { cache } = pagesOf<string>(redis, { fallbackTtlMs: 60_000 });
    await cache.get('warm');
    await redis.replicaof('127.0.0.1', 1);
    const loader = new GatedLoader<string>();
    const first = cache.getOrLoad('tools', loader.load);
    const call = await loader.call(0);
    await expect(cache.delete('tools')).rejects.toMatchObject({ code: 'ERR_REDIS_READONLY' });
    call.open('saws');
    expect(await first).toBe('saws');
    expect(await cache.getOrLoad('tools', () => 'planes')).toBe('planes');
  });

  test('also where it gives leases and has no room for the value', async () => {
    const { own, redis } = await ownServer();
    const admin = connect(own.url);
    const { cache, prefix } = pagesOf<string>(redis, { fallbackTtlMs: 60_000, leaseMs: 600_000 });
    const lease = `${prefix}:cache:{pages}:lease:tools`;
    let loads = 0;
    const read = (): Promise<string | null> =>
      cache.getOrLoad('tools', async () => {
        loads += 1;
        await admin.config('SET', 'maxmemory', 1);
        return 'saws';
      });
    expect(await read()).toBe('saws');
    expect(await admin.exists(lease)).toBe(1);
    await admin.config('SET', 'maxmemory', 0);

    // The lease is still there, since it could not be released; then there is none.
    expect(await read()).toBe('saws');
    await admin.del(lease);
    expect(await read()).toBe('saws');
    expect(await admin.exists(lease)).toBe(0);
    expect(loads).toBe(1);
  });
});

describe('a paused Redis', () => {
  test('delays each read once, and each key is loaded once for all readers', async () => {
    const { own, redis } = await ownServer();
    const { cache } = pagesOf<string>(redis, { commandTimeoutMs: 100, fallbackTtlMs: 60_000 });
    await cache.get('warm');
    own.pause();
    const loads = new Map<string, number>();
    const read = (key: string): Promise<string | null> =>
      cache.getOrLoad(key, () => {
        loads.set(key, (loads.get(key) ?? 0) + 1);
        return key;
      });
    const keys = ['saws', 'planes', 'files'];
    const all = keys.flatMap((key) => Array.from({ length: 50 }, () => read(key)));
    expect(new Set(await Promise.all(all))).toEqual(new Set(keys));
    // One MGET, and no lease request after it.
    expect((redis as unknown as { commandQueue: { length: number } }).commandQueue.length).toBe(1);
    for (let reads = 0; reads < 10; reads += 1) expect(await read('saws')).toBe('saws');
    expect([...loads.values()]).toEqual([1, 1, 1]);
    own.resume();
    await until('the cache to be back', async () => {
      await read('saws');
      return (await cache.get('saws')) !== undefined && cache.stats().hits > 0;
    });
  });

  test('keeps no reader that gives up, and loads nothing for such a reader', async () => {
    const { own, redis } = await ownServer();
    const { cache } = pagesOf<string>(redis, { commandTimeoutMs: 1_000 });
    await cache.get('warm');
    own.pause();
    const loader = new GatedLoader<string>();
    const controller = new AbortController();
    const read = cache.getOrLoad('tools', loader.load, { signal: controller.signal });
    const reason = new Error('closed the page');
    controller.abort(reason);
    await expect(read).rejects.toBe(reason);
    expect(cache.stats().unavailable).toBe(0);
    // The next one finds Redis unavailable, and loads: no load had begun.
    expect(await cache.getOrLoad('tools', () => 'planes')).toBe('planes');
    expect(loader.calls).toHaveLength(0);
    own.resume();
  });
});

describe('clocks', () => {
  test('of processes do not matter, nor does that of a server which went back', async () => {
    const prefix = freshPrefix();
    const redis = connectShared();
    const { cache } = pagesOf<string>(redis, { prefix, ttlMs: 60_000 });
    await cache.set('tools', 'saws');
    expect(await cache.get('tools')).toBe('saws');
    // As stored by a master whose clock was an hour ahead of the one that serves now: its end is unknown.
    const storedAt = Buffer.alloc(8);
    storedAt.writeDoubleBE(Date.now() + 3_600_000);
    await redis.setrange(`${prefix}:cache:{pages}:value:tools`, 8, storedAt);
    expect(await cache.getOrLoad('tools', () => 'planes')).toBe('planes');
    // Versions and tokens go on above those it has given out.
    const seq = `${prefix}:cache:{pages}:seq`;
    const ahead = Number(await redis.get(seq)) + 3_600_000_000;
    await redis.set(seq, String(ahead));
    await cache.set('tagged', 'old', { tags: ['shop'] });
    expect(await cache.get('tagged')).toBe('old');
    await cache.invalidateTag('shop');
    expect(await cache.getOrLoad('tagged', () => 'new', { tags: ['shop'] })).toBe('new');
    expect(await cache.get('tagged')).toBe('new');
    expect(Number(await redis.get(seq))).toBeGreaterThan(ahead);
  });
});

test.each(['asked to', 'the master was killed'])(
  'a failover by Sentinel (%s): no read fails, and what is served in the end is what is there',
  async (why) => {
    const prefix = freshPrefix();
    const reconnecting = {
      retryStrategy: () => 50,
      reconnectOnError: ({ message }: Error) => message.startsWith('READONLY') && 2,
    };
    const options = { prefix, near: {}, leaseMs: 500, commandTimeoutMs: 500, fallbackTtlMs: 1 };
    const here = pagesOf<string>(connectSentinel(reconnecting), options).cache;
    const there = pagesOf<string>(connectSentinel(reconnecting), options).cache;
    const loader = new GatedLoader<string>();
    const nearby = (wanted: string): Promise<true> =>
      until(`"${wanted}" in both near tiers`, async () => {
        await Promise.all([here, there].map((cache) => cache.getOrLoad('tools', () => wanted)));
        return [here, there].every((cache) => cache.peek('tools') === wanted) && true;
      });
    await nearby('old');
    const loading = here.getOrLoad('held', loader.load);
    const call = await loader.call(0);
    const master = await sentinel.master();
    if (why === 'the master was killed') await master.kill();
    const changing = sentinel.failover();
    let isOver = false;
    void changing.finally(() => {
      isOver = true;
    });
    let reads = 0;
    // No read fails or waits for the end of it.
    await until('the failover', async () => {
      await Promise.all([here, there].map((cache) => cache.getOrLoad(`page ${reads}`, () => 'loaded')));
      reads += 1;
      return isOver;
    });
    await changing;
    expect(reads).toBeGreaterThan(0);
    call.open('held');
    expect(await loading).toBe('held');
    await until('a change', () =>
      there.set('tools', 'new').then(
        () => true,
        () => false,
      ),
    );
    await nearby('new');
    await there.delete('tools');
    await until('the news', () => here.peek('tools') === undefined);
    await nearby('newest');
  },
);
