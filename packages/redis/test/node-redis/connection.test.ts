import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startProxy } from '@mortise/redis-server';
import { runServer, until } from '@mortise/test-kit';
import type { RedisClient } from '../../src/index.js';
import { isClosed, isTransient, requireClient } from '../../src/index.js';
import { fromNodeRedis } from '../../src/node-redis/index.js';
import { NODE_REDIS, adapted, connectBoth, nodeClient, nodeCluster } from '../fixture/node-redis.js';
import { connectionsOf, subscribersOf } from '../fixture/observe.js';
import { swap } from '../fixture/scripts.js';
import { waitingCases } from '../fixture/waiting-cases.js';

const { server } = await runServer();
const proxy = await startProxy(server);
afterAll(() => proxy.stop());
beforeEach(async () => {
  if (!server.isRunning) await server.restart();
  await proxy.restore();
});

const QUICK = { socket: { reconnectStrategy: () => 20 } };

function eventsOf(redis: RedisClient): string[] {
  const seen: string[] = [];
  for (const event of ['connecting', 'connect', 'ready', 'close', 'reconnecting', 'end']) {
    redis.on(event, () => seen.push(event));
  }
  return seen;
}

describe('fromNodeRedis', () => {
  test('gives one client for one client, which the packages take', () => {
    const client = nodeClient('5');
    const redis = fromNodeRedis(client);
    expect(fromNodeRedis(client)).toBe(redis);
    expect(requireClient(redis)).toBe(redis);
    expect(redis.isCluster).toBe(false);
    expect(fromNodeRedis(nodeCluster('6', [{ host: '127.0.0.1', port: 1 }])).isCluster).toBe(true);
  });

  const NO_CLIENT = 'client must be a client of createClient or createCluster of node-redis 5 or 6';

  test.each<[string, unknown, string]>([
    ['nothing', undefined, NO_CLIENT],
    ['a URL', 'redis://127.0.0.1', NO_CLIENT],
    ['options', { url: 'redis://127.0.0.1' }, NO_CLIENT],
    ['a pool', { execute: () => undefined, sendCommand: () => undefined }, NO_CLIENT],
    [
      'createSentinel',
      { getMasterNode: () => undefined, sendCommand: () => undefined },
      'createSentinel of node-redis is not supported: it reports no lost connection of its subscriptions. With Sentinel, use ioredis',
    ],
  ])('refuses %s', (_, client, message) => {
    expect(() => fromNodeRedis(client as never)).toThrow(
      expect.objectContaining({ message, code: 'ERR_INVALID_ARG' }),
    );
  });
});

describe.each(NODE_REDIS)('node-redis %s', (major) => {
  waitingCases({ connect: () => connectBoth(major, server.url), servers: () => [server] });

  test('has the status and the events of ioredis, from the first connection to the end', async () => {
    const client = nodeClient(major, proxy.url, QUICK);
    const redis = fromNodeRedis(client);
    const events = eventsOf(redis);
    expect(redis.status).toBe('wait');
    const connecting = client.connect();
    expect(redis.status).toBe('connecting');
    await connecting;
    expect(redis.status).toBe('ready');
    expect(events).toEqual(['connecting', 'connect', 'ready']);

    const isBack = new Promise((resolve) => redis.on('ready', resolve));
    const status = new Promise((resolve) => redis.on('close', () => resolve(redis.status)));
    proxy.cut();
    expect(await status).toBe('reconnecting');
    expect(isClosed(redis)).toBe(false);
    await isBack;
    expect(events.slice(3)).toEqual(['close', 'reconnecting', 'connecting', 'connect', 'ready']);

    await client.close();
    expect(redis.status).toBe('end');
    expect(isClosed(redis)).toBe(true);
    expect(events.slice(8)).toEqual(['close', 'end']);
    await expect(redis.call('ping', [])).rejects.toThrow(/^Connection is closed\.$/);

    await client.connect();
    expect(redis.status).toBe('ready');
    expect(await redis.call('ping', [])).toBe('PONG');
  });

  test('a command before connect() is refused, and says what is missing', async () => {
    const redis = fromNodeRedis(nodeClient(major));
    await expect(redis.call('ping', [])).rejects.toThrow(
      'the node-redis client is not connected: await its connect() first',
    );
    expect(redis.status).toBe('wait');
  });

  test('a server that is down: the status of a client that tries again, and commands wait', async () => {
    proxy.refuse();
    const client = nodeClient(major, proxy.url, { ...QUICK, commandOptions: {} });
    const redis = fromNodeRedis(client);
    const connecting = client.connect();
    const reply = redis.call('ping', []);
    await until('a failed attempt', () => redis.status === 'reconnecting');
    await proxy.restore();
    await connecting;
    expect(await reply).toBe('PONG');
  });

  test('a time limit of the caller ends a command that waits to be sent', async () => {
    const { redis } = await adapted(major, proxy.url, { ...QUICK, commandOptions: { timeout: 50 } });
    proxy.refuse();
    proxy.cut();
    await until('the loss', () => redis.status === 'reconnecting');
    const error: unknown = await redis.call('ping', []).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message: 'the command was not sent within commandOptions.timeout' });
    expect(isTransient(error)).toBe(true);
  });

  test('a command that finds no connection has the code of that', async () => {
    const { redis } = await adapted(major, proxy.url, { ...QUICK, disableOfflineQueue: true });
    proxy.refuse();
    proxy.cut();
    await until('the loss', () => redis.status === 'reconnecting');
    const run = swap.run(redis, { target: randomUUID() }, { value: 'a', fields: ['f'] });
    await expect(run).rejects.toMatchObject({ code: 'ERR_REDIS_UNREACHABLE' });
  });

  test('a client that gives up has ended', async () => {
    const { redis } = await adapted(major, proxy.url, { socket: { reconnectStrategy: false } });
    const events = eventsOf(redis);
    proxy.refuse();
    proxy.cut();
    await until('the end', () => events.includes('end'));
    expect(events).toEqual(['close', 'end']);
    expect(redis.status).toBe('end');
  });

  test('commands whose replies are lost are sent again, before those that waited, in their order', async () => {
    const { redis } = await adapted(major, proxy.url, QUICK);
    const list = randomUUID();
    const push = (value: string) => redis.call('rpush', [list, value]);
    proxy.dropReplies();
    const lost = Promise.all([push('a'), push('b'), push('c')]);
    await until('their execution', async () => (await server.command('LLEN', list)) === 3);
    let later: Promise<unknown> | undefined;
    redis.on('close', () => {
      later ??= push('d');
    });
    proxy.cut();
    await proxy.restore();
    expect(await lost).toEqual([4, 5, 6]);
    expect(await later).toBe(7);
    expect(await server.command('LRANGE', list, '0', '-1')).toEqual(['a', 'b', 'c', 'a', 'b', 'c', 'd']);
  });

  test('a command that breaks each connection rejects in the end, and a retry may help', async () => {
    // Replies OK to each command but GET.
    const breaking = createServer((socket) => {
      socket.on('data', (data) => {
        if (data.includes('get')) socket.destroy();
        else socket.write('+OK\r\n'.repeat(String(data).match(/^\*/gm)!.length));
      });
    });
    await new Promise<void>((resolve) => breaking.listen(0, '127.0.0.1', resolve));
    const { port } = breaking.address() as AddressInfo;
    const { redis } = await adapted(major, `redis://127.0.0.1:${port}`, {
      socket: { reconnectStrategy: () => 0 },
    });
    const error: unknown = await redis.call('get', ['x']).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toMatchObject({ name: 'ReplyError' });
    expect(isTransient(error)).toBe(true);
    // By the adapter: a client of node-redis that is connecting survives its own destroy(), and this one would spin.
    const ended = new Promise((resolve) => redis.on('end', resolve));
    redis.disconnect();
    await ended;
    await new Promise((resolve) => breaking.close(resolve));
  });

  test('a command in flight on a client that is closed rejects', async () => {
    const { client, redis } = await adapted(major, proxy.url, QUICK);
    proxy.dropReplies();
    const lost = redis.call('ping', []);
    client.destroy();
    await expect(lost).rejects.toThrow(/^Connection is closed\.$/);
  });

  test('a duplicate that must not send again rejects', async () => {
    const { redis } = await adapted(major, proxy.url, QUICK);
    const duplicate = redis.duplicate({ autoResendUnfulfilledCommands: false }) as RedisClient;
    await duplicate.call('ping', []);
    proxy.dropReplies();
    const lost = duplicate.call('ping', []);
    lost.catch(() => undefined);
    await new Promise(setImmediate);
    proxy.cut();
    await expect(lost).rejects.toThrow(/^Connection is closed\.$/);
    duplicate.disconnect();
  });

  test('calls keep their order when the server learns the script from the first', async () => {
    const { client, redis } = await adapted(major, server.url);
    await server.command('SCRIPT', 'FLUSH');
    const target = randomUUID();
    const run = (value: string) => swap.run(redis, { target }, { value, fields: ['f'] });
    const first = run('a');
    const opened = client.sendCommand(['BLPOP', `${target}:gate`, '0']);
    const second = run('b');
    await server.command('RPUSH', `${target}:gate`, 'open');
    await opened;
    const third = run('c');
    expect(await Promise.all([first, second, third])).toEqual([[null], ['a'], ['b']]);
  });

  test('a duplicate connects by itself, with its own name, and leaves with `disconnect`', async () => {
    const name = randomUUID();
    const { redis } = await adapted(major, server.url, { name, database: 3 });
    const duplicate = redis.duplicate({
      connectionName: `${name}:more`,
      retryStrategy: () => 20,
    }) as RedisClient;
    expect(await duplicate.call('ping', [])).toBe('PONG');
    expect((await connectionsOf([server], name)).map((connection) => connection.name).toSorted()).toEqual([
      name,
      `${name}:more`,
    ]);
    expect(String(await duplicate.call('client', ['info']))).toContain(' db=3 ');

    const renewed = new Promise((resolve) => duplicate.on('ready', resolve));
    const [{ id } = { id: '' }] = await connectionsOf([server], `${name}:more`);
    duplicate.disconnect(true);
    await renewed;
    const [after] = await connectionsOf([server], `${name}:more`);
    expect(after?.id).not.toBe(id);

    duplicate.disconnect();
    expect(duplicate.status).toBe('end');
    await until('its end', async () => (await connectionsOf([server], `${name}:more`)).length === 0);
    expect(redis.status).toBe('ready');
  });

  test('a duplicate that is disconnected while it connects leaves nothing', async () => {
    const name = randomUUID();
    const { redis } = await adapted(major, server.url, { name });
    const isOver: Promise<unknown>[] = [];
    for (let turns = 0; turns < 20; turns += 1) {
      const duplicate = redis.duplicate({
        connectionName: `${name}:more`,
        retryStrategy: () => 20,
      }) as RedisClient;
      isOver.push(new Promise((resolve) => duplicate.on('end', resolve)));
      for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
      duplicate.disconnect();
      expect(duplicate.status).toBe('end');
    }
    await Promise.all(isOver);
    await until('their end', async () => (await connectionsOf([server], `${name}:more`)).length === 0);
  });

  test('a duplicate with `autoResubscribe: false` begins anew after a loss', async () => {
    const name = randomUUID();
    const { redis } = await adapted(major, server.url, QUICK);
    const duplicate = redis.duplicate({
      connectionName: name,
      protocol: 2,
      autoResubscribe: false,
      retryStrategy: () => 20,
    }) as RedisClient;
    const messages: string[] = [];
    duplicate.on('messageBuffer', (channel: Buffer, message: Buffer) =>
      messages.push([channel, message].join(' ')),
    );
    await duplicate.call('subscribe', [`${name}:a`, `${name}:b`]);
    expect(await redis.call('publish', [`${name}:a`, 'one'])).toBe(1);
    const isBack = new Promise((resolve) => duplicate.on('ready', resolve));
    const [{ id } = { id: '' }] = await connectionsOf([server], name);
    await server.command('CLIENT', 'KILL', 'ID', id);
    await isBack;
    // With RESP2, a connection with a subscription would refuse this.
    expect(await duplicate.call('get', ['nothing'])).toBeNull();
    expect(await redis.call('publish', [`${name}:a`, 'two'])).toBe(0);
    await duplicate.call('subscribe', [`${name}:a`]);
    expect(await redis.call('publish', [`${name}:a`, 'three'])).toBe(1);
    await until('the message', () => messages.length === 2);
    expect(messages).toEqual([`${name}:a one`, `${name}:a three`]);
    duplicate.disconnect();
  });

  test('a subscription whose reply is lost is made on the next connection', async () => {
    const name = randomUUID();
    const { redis } = await adapted(major, proxy.url, QUICK);
    const duplicate = redis.duplicate({ autoResubscribe: false, retryStrategy: () => 20 }) as RedisClient;
    await duplicate.call('ping', []);
    proxy.dropReplies();
    const subscribed = duplicate.call('subscribe', [name]);
    await until('its execution', async () => (await subscribersOf([server], name)) === 1);
    proxy.cut();
    await proxy.restore();
    await subscribed;
    expect(await server.command('PUBLISH', name, 'x')).toBe(1);
    const other = duplicate.call('subscribe', [`${name}:other`]);
    duplicate.disconnect();
    await expect(other).rejects.toThrow(/^Connection is closed\.$/);
  });

  test('a duplicate that must not reconnect ends when its server is down', async () => {
    const { redis } = await adapted(major, proxy.url, QUICK);
    proxy.refuse();
    const duplicate = redis.duplicate({ retryStrategy: null }) as RedisClient;
    const errors: unknown[] = [];
    duplicate.on('error', (error: unknown) => errors.push(error));
    await new Promise((resolve) => duplicate.on('end', resolve));
    expect(duplicate.status).toBe('end');
    expect(errors.length).toBeGreaterThan(0);
  });
});
