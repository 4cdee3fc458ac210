import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startProxy, startSingle } from '@mortise/redis-server';
import type { RedisServer } from '@mortise/redis-server';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { HeldLoader, pagesOf, waiting } from './cached.js';

let server: RedisServer;

beforeAll(async () => {
  server = await startSingle();
});

afterAll(async () => {
  await server?.stop();
});

test('a process that dies while it loads holds the others up for one lease', async () => {
  const prefix = freshPrefix();
  const redis = connect(server.url);
  const options = { url: server.url, prefix, leaseMs: 300 };
  const child = fork(join(import.meta.dirname, 'cache-process.mjs'), [JSON.stringify(options)], {
    execArgv: [],
  });
  try {
    await once(child, 'message');
    const loader = new HeldLoader<string>();
    const read = pagesOf<string>(redis, { prefix }).cache.getOrLoad('tools', loader.load);
    await waiting(redis, prefix, 'tools');
    const lease = `${prefix}:cache:{pages}:lease:tools`;
    const token = await redis.get(lease);
    // The lease of a process that lives goes on.
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
  test('during a load: what it brings is not stored, and who waits for it loads', async () => {
    const [redis, other] = [connect(server.url), connect(server.url)];
    const prefix = freshPrefix();
    const here = pagesOf<string>(redis, { prefix, leaseMs: 200 }).cache;
    const there = pagesOf<string>(other, { prefix, leaseMs: 200 }).cache;
    const loader = new HeldLoader<string>();
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
    const redis = connect(server.url);
    const { cache } = pagesOf<string>(redis, { near: {} });
    const near = async (wanted: string): Promise<void> => {
      await until('the near tier', async () => {
        await cache.getOrLoad('tools', () => wanted, { tags: ['shop'] });
        return cache.peek('tools') === wanted;
      });
    };
    await near('saws');
    await redis.flushall();
    await until('the news', () => cache.peek('tools') === undefined);
    await near('planes');
    await cache.invalidateTag('shop');
    await near('files');
    expect(cache.stats().unavailable).toBe(0);
  });
});

describe('a cut', () => {
  test.each(['dropReplies', 'dropRequests'] as const)(
    'of the store (%s): the value is there for who has loaded it',
    async (how) => {
      const proxy = await startProxy({ port: server.port });
      try {
        const prefix = freshPrefix();
        const options = { prefix, commandTimeoutMs: 1_000, leaseMs: 300 };
        const { cache, errors } = pagesOf<string>(connect(proxy.url), options);
        const direct = pagesOf<string>(connect(server.url), { prefix }).cache;
        await cache.set('warm', 'the script is known from now on');
        const load = (): string => {
          proxy[how]();
          return 'saws';
        };
        expect(await cache.getOrLoad('tools', load)).toBe('saws');
        expect(errors).toMatchObject([{ code: 'ERR_CACHE_UNAVAILABLE', reason: 'no answer within 1000 ms' }]);
        // Stored without a reply, or never: then the lease ends by itself.
        expect(await direct.getOrLoad('tools', () => 'planes')).toBe(
          how === 'dropReplies' ? 'saws' : 'planes',
        );
        await proxy.restore();
        await until('the cache to be back', async () => (await cache.get('tools')) !== undefined);
      } finally {
        await proxy.stop();
      }
    },
  );

  test.each(['dropReplies', 'dropRequests'] as const)(
    'of the read (%s): the value is loaded, and changes are refused',
    async (how) => {
      const proxy = await startProxy({ port: server.port });
      try {
        const prefix = freshPrefix();
        const { cache } = pagesOf<string>(connect(proxy.url), { prefix, commandTimeoutMs: 50 });
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
        // Five silences in a row: nobody waits any more.
        await expect(cache.set('tools', 'files')).rejects.toMatchObject({
          code,
          reason: 'it has not answered 5 times in a row',
        });
        await proxy.restore();
        await until('the cache to be back', async () => {
          await cache.getOrLoad('tools', () => 'planes');
          return (await cache.get('tools')) !== undefined;
        });
      } finally {
        await proxy.stop();
      }
    },
  );

  test('of the claim: a lease that comes too late is given back', async () => {
    const proxy = await startProxy({ port: server.port });
    try {
      const prefix = freshPrefix();
      const redis = connect(server.url);
      const { cache } = pagesOf<string>(connect(proxy.url), {
        prefix,
        commandTimeoutMs: 50,
        leaseMs: 600_000,
        // Its value is not to be found before that.
        outageTtlMs: 0,
      });
      await cache.get('warm');
      proxy.delay({ repliesMs: 150 });
      expect(await cache.getOrLoad('tools', () => 'saws')).toBe('saws');
      const lease = `${prefix}:cache:{pages}:lease:tools`;
      proxy.delay({});
      await until('a lease that is given back', async () => {
        if ((await redis.exists(lease)) > 0) return false;
        return (await cache.getOrLoad('tools', () => 'planes')) !== null && cache.stats().hits > 0;
      });
    } finally {
      await proxy.stop();
    }
  });

  test('at any moment fails no read, and what is read at last is what was stored at last', async () => {
    const proxy = await startProxy({ port: server.port });
    try {
      const prefix = freshPrefix();
      const proxied = pagesOf<number>(connect(proxy.url), {
        prefix,
        near: {},
        commandTimeoutMs: 200,
        leaseMs: 200,
        outageTtlMs: 1,
      }).cache;
      const direct = pagesOf<number>(connect(server.url), { prefix, leaseMs: 200 }).cache;
      let version = 0;
      for (let round = 0; round < 60; round += 1) {
        const load = async (): Promise<number> => {
          const read = version;
          if (round % 3 === 0) proxy.cut();
          return read;
        };
        const reads = Array.from({ length: 5 }, () => proxied.getOrLoad('version', load));
        if (round % 3 === 1) proxy.cut();
        for (const read of await Promise.all(reads)) expect(read).toBeLessThanOrEqual(version);
        version += 1;
        await direct.delete('version');
        expect(await direct.getOrLoad('version', () => version)).toBe(version);
      }
      await until('the last version', async () => (await proxied.get('version')) === version);
    } finally {
      await proxy.stop();
    }
  });
});

describe('a Redis that is gone', () => {
  test('lets no read wait, spares the source, and is used again when it is back', async () => {
    const own = await startSingle();
    try {
      const { cache, errors } = pagesOf<string>(connect(own.url), {
        near: {},
        outageTtlMs: 60_000,
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
      // Not one for each of a thousand reads.
      expect(errors.length).toBeLessThan(20);
      await own.restart();
      await until('the near tier to be back', async () => {
        await cache.getOrLoad('tools', () => 'new');
        return cache.peek('tools') === 'new';
      });
    } finally {
      await own.stop();
    }
  });

  test('without a word: after a few silences nobody waits, and one probe finds out that it is back', async () => {
    const own = await startSingle();
    try {
      const { cache } = pagesOf<string>(connect(own.url), { commandTimeoutMs: 30, outageTtlMs: 0 });
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
    } finally {
      await own.stop();
    }
  });
});
