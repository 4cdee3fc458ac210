/**
 * Four clients read, load, delete and invalidate entries, while their connections are cut, what they send or receive is lost, and
 * Redis stands still, or is killed and comes back empty. Half a minute, or `MORTISE_CACHE_MINUTES`.
 *
 * No read fails. A read after a change has resolved never returns an older value: not from Redis, not from a load that began
 * before, and not from the memory of a process.
 */
import { setImmediate as immediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Cache } from '@mortise/cache';
import { startProxy, startSingle } from '@mortise/redis-server';
import type { RedisServer, TcpProxy } from '@mortise/redis-server';
import { freshPrefix, until } from '@mortise/test-kit';
import { Redis } from 'ioredis';

const MINUTES = Number(process.env['MORTISE_CACHE_MINUTES'] ?? 0.5);
const CLIENTS = 4;
const READERS = 5;
const KEYS = Array.from({ length: 8 }, (_, index) => `page ${index}`);
const TAG = 'shop';

let server: RedisServer;
let sides: { readonly proxy: TcpProxy; readonly redis: Redis; readonly cache: Cache<number> }[] = [];

beforeEach(async () => {
  server = await startSingle();
});

afterEach(async () => {
  await Promise.all(sides.map(({ cache }) => cache.stop()));
  for (const { redis } of sides) redis.disconnect();
  await Promise.all(sides.map(({ proxy }) => proxy.stop()));
  sides = [];
  await server?.stop();
});

function oneOf<Value>(values: readonly Value[]): Value {
  return values[Math.floor(Math.random() * values.length)]!;
}

async function start(near: boolean): Promise<void> {
  const prefix = freshPrefix();
  for (let client = 0; client < CLIENTS; client += 1) {
    const proxy = await startProxy({ port: server.port });
    const redis = new Redis(proxy.url, { retryStrategy: () => 20 });
    redis.on('error', () => undefined);
    const cache = new Cache<number>(redis, 'pages', {
      prefix,
      leaseMs: 300,
      commandTimeoutMs: 100,
      // A value that a process keeps while Redis is away is older than a change by as much.
      fallbackTtlMs: 0,
      onError: () => undefined,
      ...(near && { near: {} }),
    });
    sides.push({ proxy, redis, cache });
  }
}

/** A fault, and its end. */
const EVENTS: readonly (() => Promise<() => Promise<unknown>>)[] = [
  async () => {
    oneOf(sides).proxy.cut();
    return async () => undefined;
  },
  async () => {
    const { proxy } = oneOf(sides);
    proxy.dropReplies();
    return () => proxy.restore();
  },
  async () => {
    const { proxy } = oneOf(sides);
    proxy.dropRequests();
    return () => proxy.restore();
  },
  async () => {
    const { proxy } = oneOf(sides);
    proxy.delay({ requestsMs: 30, repliesMs: 120 });
    return async () => proxy.delay({});
  },
  async () => {
    server.pause();
    return async () => server.resume();
  },
  async () => {
    await server.command('FLUSHALL');
    return async () => undefined;
  },
  async () => {
    await server.kill();
    return () => server.restart();
  },
];

async function storm(
  near: boolean,
): Promise<{ reads: number; changes: number; events: number; old: string[] }> {
  await start(near);
  /** The versions of the source, and those that every reader has to see. */
  const versions = new Map(KEYS.map((key) => [key, 0]));
  const acked = new Map(KEYS.map((key) => [key, 0]));
  const counts = { reads: 0, changes: 0, events: 0 };
  const old: string[] = [];
  const end = new AbortController();
  const options = { tags: [TAG] };

  const load = async (key: string): Promise<number> => {
    const version = versions.get(key)!;
    // Long enough for others to change it meanwhile.
    await until('a change or two', () => Math.random() < 0.3);
    return version;
  };
  const read = async (cache: Cache<number>): Promise<void> => {
    while (!end.signal.aborted) {
      const key = oneOf(KEYS);
      const atLeast = acked.get(key)!;
      const version = await cache.getOrLoad(key, () => load(key), options);
      counts.reads += 1;
      // Hits of the near tier leave nobody else a turn.
      if (near) await immediate();
      if (version! < atLeast && !near) old.push(`${key}: ${version} after ${atLeast}`);
    }
  };
  const change = async (cache: Cache<number>): Promise<void> => {
    while (!end.signal.aborted) {
      const keys = Math.random() < 0.2 ? KEYS : [oneOf(KEYS)];
      const wanted = keys.map((key) => [key, versions.get(key)! + 1] as const);
      for (const [key, version] of wanted) versions.set(key, version);
      const changed = keys.length === 1 ? cache.delete(keys[0]!) : cache.invalidateTag(TAG);
      const isAcked = await changed.then(
        () => true,
        () => false,
      );
      if (isAcked) for (const [key, version] of wanted) acked.set(key, Math.max(acked.get(key)!, version));
      counts.changes += isAcked ? 1 : 0;
      await until('the next change', () => Math.random() < 0.2);
    }
  };
  const work = sides.flatMap(({ cache }) => [
    change(cache),
    ...Array.from({ length: READERS }, () => read(cache)),
  ]);
  const endsAt = performance.now() + MINUTES * 60_000;
  while (performance.now() < endsAt) {
    const endOf = await oneOf(EVENTS)();
    const { reads } = counts;
    await until('reads', () => counts.reads > reads + Math.random() * 200);
    await endOf();
    await until('more reads', () => counts.reads > reads + 400);
    counts.events += 1;
  }
  end.abort();
  await Promise.all(work);
  // In the end all see the same, the near tiers as well.
  await until('the last versions', async () => {
    const found = await Promise.all(
      sides.flatMap(({ cache }) =>
        KEYS.map(async (key) => {
          const version = await cache.getOrLoad(key, async () => versions.get(key)!, options);
          return version! >= acked.get(key)!;
        }),
      ),
    );
    return found.every(Boolean);
  });
  process.stdout.write(`${JSON.stringify(counts)}\n`);
  return { ...counts, old };
}

test.each([
  ['without', false],
  ['with', true],
])(
  'no read fails, and none gives what was changed before it (%s near tier)',
  async (_, near) => {
    const { old, changes } = await storm(near);
    expect(old).toEqual([]);
    expect(changes).toBeGreaterThan(10);
  },
  MINUTES * 60_000 + 120_000,
);
