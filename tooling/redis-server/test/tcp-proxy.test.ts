import { once } from 'node:events';
import { connect, createServer } from 'node:net';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { disconnect } from './disconnect.js';
import { Redis } from 'ioredis';
import { until } from '@mortise/server-process';

import { startProxy, startSingle, type RedisServer, type TcpProxy } from '../src/index.js';

/** The outcome of a promise so far: what nothing has happened to is 'pending'. */
function stateOf(promise: Promise<unknown>): Promise<unknown> {
  return Promise.race([promise.catch((error: Error) => error.message), Promise.resolve('pending')]);
}

describe('TcpProxy', () => {
  let server: RedisServer;
  let proxy: TcpProxy;
  const clients: { destroy: () => void }[] = [];
  beforeAll(async () => {
    server = await startSingle();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    proxy = await startProxy(server);
    await server.command('FLUSHALL');
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.destroy();
    await proxy.stop();
  });

  /** A client of the proxy that is connected, and stays disconnected when its connection breaks. */
  const client = async (): Promise<Redis> => {
    const redis = new Redis(proxy.url, {
      retryStrategy: null,
      maxRetriesPerRequest: null,
      lazyConnect: true,
    });
    redis.on('error', () => {});
    clients.push({ destroy: () => disconnect(redis) });
    await redis.connect();
    return redis;
  };
  const counter = async (): Promise<number> => Number(await server.command('GET', 'n'));
  /** Waits until the server has executed INCR so often. */
  const counted = (n: number): Promise<boolean> =>
    until(async () => (await counter()) === n, { what: `n to be ${n}` });

  it('loses the reply of one request, which the server has executed, and passes all others', async () => {
    const [a, b] = await Promise.all([client(), client()]);
    const lost = proxy.loseReply(2);

    expect(await a.incr('n')).toBe(1);
    const second = b.incr('n').catch((error: Error) => error.message);
    await lost;
    expect(await second).toBe('Connection is closed.');
    expect(await a.incr('n')).toBe(3);
  });

  it('passes what it is sent, and counts connections', async () => {
    const [a, b] = await Promise.all([client(), client()]);
    const large = 'x'.repeat(5_000_000);

    expect(await Promise.all([a.set('a', large), b.incr('n')])).toEqual(['OK', 1]);
    expect(await b.get('a')).toBe(large);
    expect(proxy).toMatchObject({ connections: 2, url: `redis://127.0.0.1:${proxy.port}` });
    a.disconnect();
    await until(() => proxy.connections === 1, { what: 'one connection to be left' });
    expect(await b.incr('n')).toBe(2);
  });

  describe('delay', () => {
    it.each(['requestsMs', 'repliesMs'] as const)('adds %s to a round trip', async (direction) => {
      const redis = await client();
      proxy.delay({ [direction]: 60 });
      const sentAt = performance.now();

      await redis.ping();

      expect(performance.now() - sentAt).toBeGreaterThanOrEqual(59);
    });
  });

  describe('dropReplies', () => {
    it('lets requests be executed and swallows the replies; restore() breaks such connections', async () => {
      const redis = await client();
      proxy.dropReplies();

      const reply = redis.incr('n').catch((error: Error) => error.message);
      await counted(1);
      expect(await stateOf(reply)).toBe('pending');
      await proxy.restore();

      expect(await reply).toBe('Connection is closed.');
      expect(await (await client()).incr('n')).toBe(2);
    });
  });

  describe('dropRequests', () => {
    it('keeps requests from the server', async () => {
      const redis = await client();
      proxy.dropRequests();

      const reply = redis.incr('n').catch((error: Error) => error.message);
      await until(() => redis.stream.writableLength === 0, { what: 'INCR to be sent' });
      await proxy.restore();

      expect(await reply).toBe('Connection is closed.');
      expect(await (await client()).exists('n')).toBe(0);
    });
  });

  describe('cut', () => {
    it('breaks all connections, and accepts new ones', async () => {
      const [a, b] = await Promise.all([client(), client()]);
      const ends = [once(a, 'end'), once(b, 'end')];

      proxy.cut();
      await Promise.all(ends);

      expect(proxy.connections).toBe(0);
      expect(await (await client()).ping()).toBe('PONG');
    });
  });

  describe('aim', () => {
    it('sends new connections to another server, and leaves the old ones', async () => {
      const other = await startSingle();
      try {
        const before = await client();
        proxy.aim(other);
        const after = await client();
        await Promise.all([before.set('who', 'old'), after.set('who', 'new')]);

        expect([await server.command('GET', 'who'), await other.command('GET', 'who')]).toEqual([
          'old',
          'new',
        ]);
      } finally {
        await other.stop();
      }
    });
  });

  describe('refuse', () => {
    it('breaks all connections, and refuses new ones until restore()', async () => {
      const redis = await client();
      const end = once(redis, 'end');

      proxy.refuse();
      await end;
      const socket = connect({ host: proxy.host, port: proxy.port });
      const [error] = (await once(socket, 'error')) as [Error];
      await proxy.restore();

      expect(error.message).toContain('ECONNREFUSED');
      expect(await (await client()).ping()).toBe('PONG');
    });
  });

  describe('halfOpen', () => {
    it('holds both directions of old and new connections, which stay open; restore() lets all arrive', async () => {
      const redis = await client();
      proxy.halfOpen();

      const reply = redis.incr('n');
      const late = connect({ host: proxy.host, port: proxy.port });
      clients.push(late);
      await once(late, 'connect');
      late.write('PING\r\n');
      await until(() => proxy.connections === 2, { what: 'the new connection to be accepted' });
      await server.command('CLIENT', 'KILL', 'TYPE', 'normal'); // which the clients don't notice
      expect([await stateOf(reply.catch(() => 'failed')), redis.status, late.closed]).toEqual([
        'pending',
        'ready',
        false,
      ]);
      expect(await counter()).toBe(0);

      await proxy.restore();
      await expect(reply).rejects.toThrow('Connection is closed.');
      expect(await (await client()).incr('n')).toBe(1);
    });

    it('delivers what was sent meanwhile, in order', async () => {
      const redis = await client();
      proxy.halfOpen();
      const replies = Promise.all([redis.incr('n'), redis.incr('n'), redis.get('n')]);
      expect(await stateOf(replies)).toBe('pending');

      await proxy.restore();

      expect(await replies).toEqual([1, 2, '2']);
    });
  });

  describe('stop', () => {
    it('breaks all connections and frees the port; again, it does nothing', async () => {
      const redis = await client();
      const end = once(redis, 'end');

      await Promise.all([proxy.stop(), proxy.stop(), end]);

      const again = createServer().listen(proxy.port, '127.0.0.1');
      await once(again, 'listening');
      again.close();
      expect(proxy.connections).toBe(0);
    });
  });
});
