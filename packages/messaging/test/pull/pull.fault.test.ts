/** Reads and waits during an outage of Redis. The tests run side by side, each with a proxy of its own. */
import { getEventListeners } from 'node:events';
import { expect, jest, test } from '@jest/globals';
import { Chats, Mailboxes } from '@mortise/messaging';
import { startProxy } from '@mortise/redis-server';
import type { TcpProxy } from '@mortise/redis-server';
import { WaiterHub } from '@mortise/redis';
import { disconnect, freshPrefix, runServer, until } from '@mortise/test-kit';
import { Redis } from 'ioredis';
import { listenedChannels } from '../fixture/listened-channels.js';
import { subscribed } from '../fixture/subscribed.js';

const { server, redis: direct } = await runServer({ isCluster: true });

/** A client behind a proxy, whose commands wait for Redis as long as it takes. */
class Patient {
  private constructor(
    readonly proxy: TcpProxy,
    readonly redis: Redis,
  ) {}

  static async connect(): Promise<Patient> {
    const proxy = await startProxy(server);
    const redis = new Redis(proxy.url, {
      maxRetriesPerRequest: null,
      retryStrategy: () => 5,
      disconnectTimeout: 100,
    });
    redis.on('error', () => undefined);
    await redis.ping();
    return new Patient(proxy, redis);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    disconnect(this.redis);
    await this.proxy.stop();
  }
}

const OUTAGES: Readonly<Record<string, (proxy: TcpProxy) => void>> = {
  'cannot be reached': (proxy) => proxy.refuse(),
  'is silent': (proxy) => proxy.halfOpen(),
};
const METHODS = ['receive', 'pull'] as const;
type Method = (typeof METHODS)[number];
const CASES = Object.entries(OUTAGES).flatMap(([outage, fail]) =>
  METHODS.map((method) => ({ outage, fail, method })),
);
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

  read(waitMs: number, signal?: AbortSignal): Promise<unknown[]> {
    const options = { waitMs, ...(signal && { signal }) };
    return this.method === 'pull'
      ? this.#chats.pull('jack', options)
      : this.#mailboxes.receive('jack', options);
  }

  /** Something to read, by a client that reaches the server. */
  async send(): Promise<void> {
    const { prefix } = this;
    if (this.method === 'receive')
      await new Mailboxes(direct, { prefix }).send('jack', 'hi', { from: 'anna' });
    else await new Chats(direct, { prefix }).create({ sender: 'anna', members: ['jack'], body: 'hi' });
  }

  get channel(): string {
    return `${this.prefix}:messaging:{jack}:${CHANNELS[this.method]}`;
  }
}

const timeout = (waitMs: number): object => ({ code: 'ERR_READ_TIMEOUT', reader: 'jack', waitMs });

test.concurrent.each(CASES)(
  '$method with waitMs ends with ERR_READ_TIMEOUT while Redis $outage, and reads again when Redis is back',
  async ({ fail, method }) => {
    await using patient = await Patient.connect();
    const reader = new Reader(patient.redis, method);
    fail(patient.proxy);
    const startedAt = performance.now();
    await expect(reader.read(200)).rejects.toMatchObject(timeout(200));
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(200);
    await reader.send();
    await patient.proxy.restore();
    expect(await reader.read(0)).toHaveLength(1);
  },
);

test.concurrent.each(CASES)(
  '$method with waitMs ends with it also where Redis $outage in the middle of the wait',
  async ({ fail, method }) => {
    await using patient = await Patient.connect();
    const { confirmed, stopped } = listenedChannels(patient.redis);
    const reader = new Reader(patient.redis, method);
    // Long enough for the subscription on a machine that stands still now and then.
    const reading = reader.read(3_000);
    reading.catch(() => undefined);
    await until('the subscription', () => confirmed.length > 0);
    fail(patient.proxy);
    await expect(reading).rejects.toMatchObject(timeout(3_000));
    expect(stopped).toEqual([reader.channel]);
  },
);

test.concurrent.each(CASES)(
  '$method with waitMs ends with it where Redis $outage before the subscription',
  async ({ fail, method }) => {
    await using patient = await Patient.connect();
    const reader = new Reader(patient.redis, method);
    const hub = WaiterHub.of(patient.redis);
    const spy = jest.spyOn(hub, 'listen').mockImplementationOnce((...args) => {
      fail(patient.proxy);
      spy.mockRestore();
      return hub.listen(...args);
    });
    await expect(reader.read(200)).rejects.toMatchObject(timeout(200));
  },
);

test.concurrent.each(CASES)(
  '$method with waitMs returns what came while Redis $outage, when Redis is back in time',
  async ({ fail, method }) => {
    await using patient = await Patient.connect();
    const reader = new Reader(patient.redis, method);
    const reading = reader.read(60_000);
    await subscribed(direct, reader.channel);
    fail(patient.proxy);
    await reader.send();
    await patient.proxy.restore();
    expect(await reading).toHaveLength(1);
  },
);

test.concurrent.each([
  // The first look has until a second after the end.
  ['at the end of the wait', { waitMs: 1_500 }, false],
  ['with its signal', {}, true],
] as const)(
  'pull with autoAck returns what it has read while its acks get no answer, %s',
  async (_, options, isAborted) => {
    const prefix = freshPrefix();
    await using patient = await Patient.connect();
    const { redis, proxy } = patient;
    const other = new Chats(direct, { prefix });
    await other.create({ chatId: 'c', sender: 'anna', members: ['jack'], body: 'hi' });
    const controller = new AbortController();
    const call = redis.call.bind(redis) as (...args: unknown[]) => Promise<unknown>;
    jest.spyOn(redis, 'call').mockImplementation((...args: unknown[]) => {
      if (String(args[0]).startsWith('evalsha')) {
        proxy.halfOpen();
        // After the write.
        if (isAborted) setImmediate(() => controller.abort());
      }
      return call(...args);
    });
    const { signal } = controller;
    const pulled = await new Chats(redis, { prefix }).pull('jack', { ...options, signal, autoAck: true });
    expect(pulled).toMatchObject([{ chatId: 'c', messages: [{ body: 'hi' }] }]);
    expect(await other.pull('jack')).toHaveLength(1);
  },
);

test.concurrent.each(METHODS)(
  '%s is empty when only the subscription is not confirmed in time',
  async (method) => {
    await using patient = await Patient.connect();
    const reader = new Reader(patient.redis, method);
    jest.spyOn(WaiterHub.of(patient.redis), 'listen').mockReturnValue(new Promise<never>(() => undefined));
    expect(await reader.read(1_500)).toEqual([]);
  },
);

test.concurrent.each(METHODS)('%s without waitMs waits as long as the client does', async (method) => {
  await using patient = await Patient.connect();
  const reader = new Reader(patient.redis, method);
  patient.proxy.refuse();
  const reading = reader.read(0);
  await reader.send();
  await patient.proxy.restore();
  expect(await reading).toHaveLength(1);
});

test.concurrent.each(METHODS)(
  '%s is answered within a wait that is shorter than a round trip',
  async (method) => {
    await using patient = await Patient.connect();
    const reader = new Reader(patient.redis, method);
    patient.proxy.delay({ repliesMs: 30 });
    expect(await reader.read(1)).toEqual([]);
    await reader.send();
    expect(await reader.read(1)).toHaveLength(1);
  },
);

test.concurrent('a pull reads again when the subscription of a chat was cut', async () => {
  const prefix = freshPrefix();
  await using patient = await Patient.connect();
  const others = new Chats(direct, { prefix });
  await others.create({ chatId: 'c', sender: 'anna', members: ['jack'] });
  const pull = new Chats(patient.redis, { prefix }).pull('jack', { waitMs: 60_000 });
  await subscribed(direct, `${prefix}:messaging:{c}:events`);
  patient.proxy.refuse();
  await others.post('c', 'anna', 'unheard');
  await patient.proxy.restore();
  expect(await pull).toMatchObject([{ messages: [{ body: 'unheard' }] }]);
});

const REASON = new Error('enough');

test.concurrent.each(METHODS)(
  'a signal ends %s at once while Redis cannot be reached, with its reason, with and without waitMs',
  async (method) => {
    await using patient = await Patient.connect();
    const reader = new Reader(patient.redis, method);
    patient.proxy.refuse();
    const stop = new AbortController();
    const reads = [0, 60_000, Infinity].map((waitMs) => reader.read(waitMs, stop.signal));
    await until('the connection to be lost', () => patient.redis.status === 'reconnecting');
    stop.abort(REASON);
    expect(await Promise.allSettled(reads)).toEqual(
      reads.map(() => ({ status: 'rejected', reason: REASON })),
    );
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
    await patient.proxy.restore();
    expect(await reader.read(0)).toEqual([]);
  },
);

test.concurrent.each(METHODS)(
  'a signal ends %s while it subscribes and Redis cannot be reached, and leaves nothing there',
  async (method) => {
    await using patient = await Patient.connect();
    const { redis, proxy } = patient;
    const hub = WaiterHub.of(redis);
    // The read has been answered by then.
    const spy = jest.spyOn(hub, 'listen');
    const stopped = jest.fn();
    const stop = new AbortController();
    spy.mockImplementationOnce(async (channel, listener) => {
      proxy.refuse();
      spy.mockRestore();
      setImmediate(() => stop.abort(REASON));
      const leave = await hub.listen(channel, listener);
      return () => {
        stopped();
        leave();
      };
    });
    await expect(new Reader(redis, method).read(Infinity, stop.signal)).rejects.toBe(REASON);
    expect(stopped).toHaveBeenCalledTimes(0);
    await proxy.restore();
    await until('the late subscription to be given up', () => stopped.mock.calls.length === 1);
  },
);
