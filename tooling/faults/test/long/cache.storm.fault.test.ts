/**
 * Four clients read, load, delete and invalidate entries, while their connections are cut, what they send or receive is lost, and
 * Redis stands still, or is killed and comes back empty. Half a minute, or `MORTISE_CACHE_MINUTES`.
 *
 * No read fails. A read after a change has resolved never returns an older value: not from Redis, not from a load that began
 * before, and not from the memory of a process.
 */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Cache } from '@mortise/cache';
import { startProxy, startSingle } from '@mortise/redis-server';
import type { RedisServer, TcpProxy } from '@mortise/redis-server';
import { freshPrefix, until } from '@mortise/test-kit';
import { Redis } from 'ioredis';
import { Storm } from '../../src/cache/storm.js';

const MINUTES = Number(process.env['MORTISE_CACHE_MINUTES'] ?? 0.5);
const CLIENTS = 4;

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

async function weather(near: boolean): Promise<Storm> {
  await start(near);
  const storm = new Storm(
    sides.map(({ cache }) => cache),
    { near },
  );
  storm.start();
  let events = 0;
  const { counts } = storm;
  const endsAt = performance.now() + MINUTES * 60_000;
  while (performance.now() < endsAt) {
    const endOf = await oneOf(EVENTS)();
    const { reads } = counts;
    await until('reads', () => counts.reads > reads + Math.random() * 200);
    await endOf();
    await until('more reads', () => counts.reads > reads + 400);
    events += 1;
  }
  await storm.end();
  process.stdout.write(`${JSON.stringify({ ...counts, events })}\n`);
  return storm;
}

test.each([
  ['without', false],
  ['with', true],
])(
  'no read fails, and none gives what was changed before it (%s near tier)',
  async (_, near) => {
    const { old, counts } = await weather(near);
    expect(old).toEqual([]);
    expect(counts.changes).toBeGreaterThan(10);
  },
  MINUTES * 60_000 + 120_000,
);
