/** Waits during an outage of Redis. */
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { Chats, Mailboxes } from '@mortise/messaging';
import { startProxy, startSingle } from '@mortise/redis-server';
import type { RedisServer, TcpProxy } from '@mortise/redis-server';
import { WaiterHub } from '@mortise/redis';
import { connect, disconnect, freshPrefix, until } from '@mortise/test-kit';
import { Redis } from 'ioredis';
import { stoppedChannels } from './stopped-channels.js';

let server: RedisServer;
let proxy: TcpProxy;
const clients: Redis[] = [];

beforeAll(async () => {
  server = await startSingle({ isCluster: true });
  proxy = await startProxy(server);
});

afterEach(async () => {
  for (const client of clients.splice(0)) disconnect(client);
  await proxy.restore();
});

afterAll(async () => {
  await proxy?.stop();
  await server?.stop();
});

/** A client whose commands wait for Redis as long as it takes. */
async function patient(): Promise<Redis> {
  const redis = new Redis(proxy.url, { maxRetriesPerRequest: null, retryStrategy: () => 5 });
  redis.on('error', () => undefined);
  clients.push(redis);
  await redis.ping();
  return redis;
}

const OUTAGES: Readonly<Record<string, () => void>> = {
  'cannot be reached': () => proxy.refuse(),
  'is silent': () => proxy.halfOpen(),
};
const METHODS = ['receive', 'pull'] as const;
type Method = (typeof METHODS)[number];
const CASES = Object.keys(OUTAGES).flatMap((outage) => METHODS.map((method) => ({ outage, method })));
const CHANNELS: Readonly<Record<Method, string>> = { receive: 'mailbox-wake', pull: 'member-events' };

class Reader {
  readonly prefix = freshPrefix();
  readonly #mailboxes: Mailboxes;
  readonly #chats: Chats;

  constructor(
    redis: Redis,
    readonly method: Method,
  ) {
    this.#mailboxes = new Mailboxes(redis, { prefix: this.prefix });
    this.#chats = new Chats(redis, { prefix: this.prefix });
  }

  read(waitMs: number): Promise<unknown[]> {
    return this.method === 'pull'
      ? this.#chats.pull('jack', { waitMs })
      : this.#mailboxes.receive('jack', { waitMs });
  }

  /** Something to read, by a client that reaches the server. */
  async send(): Promise<void> {
    const redis = connect(server.url);
    clients.push(redis);
    const { prefix } = this;
    if (this.method === 'receive')
      await new Mailboxes(redis, { prefix }).send('jack', 'hi', { from: 'anna' });
    else await new Chats(redis, { prefix }).create({ sender: 'anna', members: ['jack'], body: 'hi' });
  }

  /** Resolves when somebody waits. */
  async isWaiting(): Promise<void> {
    const redis = connect(server.url);
    clients.push(redis);
    const channel = `${this.prefix}:messaging:{jack}:${CHANNELS[this.method]}`;
    await until('a subscription', async () => {
      const [, count] = (await redis.pubsub('NUMSUB', channel)) as [string, number];
      return count > 0;
    });
  }
}

const timeout = (waitMs: number): object => ({ code: 'ERR_READ_TIMEOUT', reader: 'jack', waitMs });

describe.each(CASES)('$method with waitMs, while Redis $outage', ({ outage, method }) => {
  const fail = OUTAGES[outage]!;

  test('ends with ERR_READ_TIMEOUT, and reads again when Redis is back', async () => {
    const reader = new Reader(await patient(), method);
    fail();
    const startedAt = performance.now();
    await expect(reader.read(200)).rejects.toMatchObject(timeout(200));
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(200);
    await reader.send();
    await proxy.restore();
    expect(await reader.read(0)).toHaveLength(1);
  });

  test('ends with it also where the outage begins in the middle of the wait', async () => {
    const redis = await patient();
    const stopped = stoppedChannels(redis);
    const reader = new Reader(redis, method);
    // Long enough for the subscription on a machine that stands still now and then.
    const reading = reader.read(3_000);
    reading.catch(() => undefined);
    await reader.isWaiting();
    fail();
    await expect(reading).rejects.toMatchObject(timeout(3_000));
    expect(stopped).toEqual([`${reader.prefix}:messaging:{jack}:${CHANNELS[method]}`]);
  });

  test('ends with it where the outage begins before the subscription', async () => {
    const redis = await patient();
    const reader = new Reader(redis, method);
    const hub = WaiterHub.of(redis);
    const spy = jest.spyOn(hub, 'listen').mockImplementationOnce((...args) => {
      fail();
      spy.mockRestore();
      return hub.listen(...args);
    });
    await expect(reader.read(200)).rejects.toMatchObject(timeout(200));
  });

  test('returns what came meanwhile when Redis is back in time', async () => {
    const reader = new Reader(await patient(), method);
    const reading = reader.read(60_000);
    await reader.isWaiting();
    fail();
    await reader.send();
    await proxy.restore();
    expect(await reading).toHaveLength(1);
  });
});

describe('pull with autoAck, while its acks get no answer', () => {
  test.each([
    // The first look has until a second after the end.
    ['at the end of the wait', { waitMs: 1_500 }, 0],
    ['with its signal', {}, 50],
  ])('returns what it has read, %s', async (_, options, abortMs) => {
    const prefix = freshPrefix();
    const redis = await patient();
    const direct = connect(server.url);
    clients.push(direct);
    const other = new Chats(direct, { prefix });
    await other.create({ chatId: 'c', sender: 'anna', members: ['jack'], body: 'hi' });
    const controller = new AbortController();
    const call = redis.call.bind(redis) as (...args: unknown[]) => Promise<unknown>;
    jest.spyOn(redis, 'call').mockImplementation((...args: unknown[]) => {
      if (String(args[0]).startsWith('evalsha')) {
        proxy.halfOpen();
        if (abortMs > 0) setTimeout(() => controller.abort(), abortMs);
      }
      return call(...args);
    });
    const { signal } = controller;
    const pulled = await new Chats(redis, { prefix }).pull('jack', { ...options, signal, autoAck: true });
    expect(pulled).toMatchObject([{ chatId: 'c', messages: [{ body: 'hi' }] }]);
    expect(await other.pull('jack')).toHaveLength(1);
  });
});

test.each(METHODS)('%s is empty when only the subscription is not confirmed in time', async (method) => {
  const redis = await patient();
  const reader = new Reader(redis, method);
  jest.spyOn(WaiterHub.of(redis), 'listen').mockReturnValue(new Promise<never>(() => undefined));
  expect(await reader.read(1_500)).toEqual([]);
});

test.each(METHODS)('%s without waitMs waits as long as the client does', async (method) => {
  const reader = new Reader(await patient(), method);
  proxy.refuse();
  const reading = reader.read(0);
  await reader.send();
  await proxy.restore();
  expect(await reading).toHaveLength(1);
});

test.each(METHODS)('%s is answered within a wait that is shorter than a round trip', async (method) => {
  const reader = new Reader(await patient(), method);
  proxy.delay({ repliesMs: 30 });
  expect(await reader.read(1)).toEqual([]);
  await reader.send();
  expect(await reader.read(1)).toHaveLength(1);
});
