import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { startProxy } from '@mortise/redis-server';
import { runServer, until } from '@mortise/test-kit';
import { MAJORS, connect } from './fixture/clients.js';
import { commandsOf, connectionsOf, subscribersOf } from './fixture/observe.js';
import { fakeTimers, TestChannel, wakesAfterBreak, WHOLE_AGAIN } from './fixture/waiting-cases.js';

const { server } = await runServer();
const proxy = await startProxy(server);
afterAll(() => proxy.stop());
beforeEach(async () => {
  if (!server.isRunning) await server.restart();
  await proxy.restore();
});
afterEach(() => {
  jest.useRealTimers();
});

const CLOSED = { code: 'ERR_CLIENT_CLOSED' };

describe.each(MAJORS)('ioredis %s', (major) => {
  test('a server that is killed and comes back: resync, and messages flow again', async () => {
    const channel = new TestChannel(connect(major, server.url));
    const waiter = await channel.waiter('w');
    const next = waiter.next();
    await server.kill();
    await server.restart();
    expect(await next).toEqual({ type: 'resync' });
    expect(await channel.publish('w:back')).toBe(1);
    expect(await waiter.next()).toMatchObject({ type: 'message', body: Buffer.from('back') });
  });

  test('connections that are cut again and again: at the end it is whole', async () => {
    const channel = new TestChannel(connect(major, proxy.url));
    const waiter = await channel.waiter('w');
    const publisher = connect('6', server.url);
    for (let round = 0; round < 10; round += 1) {
      await until('a connection', () => proxy.connections > 0);
      proxy.cut();
    }
    await until('its subscription', async () => (await subscribersOf([server], channel.name)) === 1);
    expect(await wakesAfterBreak(channel, waiter, publisher)).toEqual(WHOLE_AGAIN);
  });

  test('a server that is down at first: waits as any command does, with the offline queue', async () => {
    proxy.refuse();
    const channel = new TestChannel(connect(major, proxy.url, { maxRetriesPerRequest: null }));
    const waiting = channel.waiter('w');
    await until('a failed attempt', () => channel.client.status === 'reconnecting');
    await proxy.restore();
    const waiter = await waiting;
    expect(await channel.publish('w:up')).toBe(1);
    expect(await waiter.next()).toMatchObject({ type: 'message' });
  });

  test('a server that is down at first: fails as any command does, without the offline queue', async () => {
    proxy.refuse();
    const channel = new TestChannel(connect(major, proxy.url, { enableOfflineQueue: false }));
    await expect(channel.waiter('w')).rejects.toMatchObject({
      code: 'ERR_REDIS_UNREACHABLE',
      cause: { message: "Stream isn't writeable and enableOfflineQueue options is false" },
    });
    await proxy.restore();
    await until('the client to be ready', () => channel.client.status === 'ready');
    const [waiter] = await Promise.all(['w', 'x', 'y'].map((id) => channel.waiter(id)));
    expect(await channel.publish('w:once')).toBe(1);
    expect(await waiter!.next()).toMatchObject({ body: Buffer.from('once') });
    expect(await waiter!.next({ deadlineAt: performance.now() + 20 })).toEqual({ type: 'timeout' });
  });

  test('without the offline queue, a killed server gives resync when it is back', async () => {
    const channel = new TestChannel(connect(major, server.url, { enableOfflineQueue: false }));
    await until('the client to be ready', () => channel.client.status === 'ready');
    const waiter = await channel.waiter('w');
    await server.kill();
    await server.restart();
    expect(await wakesAfterBreak(channel, waiter, connect('6', server.url))).toEqual(WHOLE_AGAIN);
  });

  test('a client that is disconnected while it reconnects: every wait ends, also one that is just beginning', async () => {
    const client = connect(major, server.url, { retryStrategy: () => 60_000 });
    const channel = new TestChannel(client);
    const waiters = await Promise.all(['1', '2'].map((id) => channel.waiter(id)));
    const running = Promise.all(waiters.map((waiter) => settled(waiter.next())));
    await server.kill();
    await until('the client to wait for its next attempt', () => client.status === 'reconnecting');
    const late = settled(new TestChannel(client).waiter('late'));
    client.disconnect();
    const rejected = { status: 'rejected', reason: CLOSED };
    expect(await running).toMatchObject([rejected, rejected]);
    expect(await late).toMatchObject(rejected);
    await expect(channel.waiter('3')).rejects.toMatchObject(CLOSED);
  });

  test('a client that gives up reconnecting: every wait ends', async () => {
    const client = connect(major, server.url, { retryStrategy: () => null });
    const waiter = await new TestChannel(client).waiter('w');
    const next = settled(waiter.next());
    await server.kill();
    expect(await next).toMatchObject({ status: 'rejected', reason: CLOSED });
  });

  test('a resubscription that is refused is tried again until it is allowed', async () => {
    const username = randomUUID();
    await server.command('ACL', 'SETUSER', username, 'on', '>secret', '~*', '+@all', '&*');
    const channel = new TestChannel(connect(major, server.url, { username, password: 'secret' }));
    const waiter = await channel.waiter('w');
    await server.command('ACL', 'LOG', 'RESET');
    fakeTimers();
    // This also closes the connections of the user that have a subscription.
    await server.command('ACL', 'SETUSER', username, 'resetchannels');
    await until('a refusal', async () => {
      await jest.advanceTimersByTimeAsync(20);
      return ((await server.command('ACL', 'LOG')) as unknown[]).length > 0;
    });
    await server.command('ACL', 'SETUSER', username, '&*');
    await jest.advanceTimersByTimeAsync(1_000);
    jest.useRealTimers();
    expect(await wakesAfterBreak(channel, waiter, connect('6', server.url))).toEqual(WHOLE_AGAIN);
  });
});

test('a resubscription on the connection of the caller that is not answered does not end the process', async () => {
  const name = randomUUID();
  const client = connect('6', proxy.url, { commandTimeout: 2_000, connectionName: name });
  const channel = new TestChannel(client);
  const waiter = await channel.waiter('w');
  const isReady = new Promise<void>((resolve) => {
    client.once('ready', () => {
      // The SUBSCRIBE has just been written.
      proxy.dropReplies();
      resolve();
    });
  });
  const [{ id } = { id: '' }] = await connectionsOf([server], name);
  await server.command('CLIENT', 'KILL', 'ID', id);
  await isReady;
  await expect(client.ping()).rejects.toThrow('Command timed out');
  // An unhandled rejection would fail the test here.
  await new Promise(setImmediate);
  await proxy.restore();
  expect(await wakesAfterBreak(channel, waiter, connect('6', server.url))).toEqual(WHOLE_AGAIN);
});

async function settled<T>(promise: Promise<T>): Promise<PromiseSettledResult<T>> {
  const [outcome] = await Promise.allSettled([promise]);
  return outcome;
}

test('a subscriber of our own with a dead peer is replaced after 15 s', async () => {
  const name = randomUUID();
  const subscriber = async (): Promise<string | undefined> =>
    (await connectionsOf([server], `${name}:mortise-subscriber`))[0]?.id;
  fakeTimers();
  const channel = new TestChannel(connect('5', proxy.url, { connectionName: name }));
  const waiter = await channel.waiter('w');
  const before = await subscriber();
  await server.command('CONFIG', 'RESETSTAT');
  await jest.advanceTimersByTimeAsync(10_000);
  await until('its answer to a PING', async () => (await commandsOf(server))['ping'] === 1);
  await jest.advanceTimersByTimeAsync(9_000);
  expect(await subscriber()).toBe(before);

  proxy.halfOpen();
  await jest.advanceTimersByTimeAsync(5_999);
  expect(proxy.connections).toBe(2);
  await jest.advanceTimersByTimeAsync(1);
  await until('another connection', async () => {
    // ioredis gives the old one two seconds to close.
    await jest.advanceTimersByTimeAsync(100);
    return proxy.connections === 3;
  });
  await proxy.restore();
  await until('a new subscriber', async () => {
    await jest.advanceTimersByTimeAsync(100);
    return (await subscribersOf([server], channel.name)) === 1 && (await subscriber()) !== before;
  });
  jest.useRealTimers();
  expect(await wakesAfterBreak(channel, waiter, connect('6', server.url))).toEqual(WHOLE_AGAIN);
});

test('a slow answer after a blocked event loop is no reason to give a subscriber up', async () => {
  const name = randomUUID();
  fakeTimers();
  const channel = new TestChannel(connect('5', server.url, { connectionName: name }));
  const waiter = await channel.waiter('w');
  const before = await connectionsOf([server], name);
  // Within one timer callback the PING is sent, its answer arrives, and the time limit passes before it could be read.
  await pause(1);
  jest.advanceTimersByTime(10_000);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
  jest.advanceTimersByTime(5_000);
  await pause(1);
  await jest.advanceTimersByTimeAsync(2_000);
  await until('a message', async () => (await channel.publish('w:still here')) === 1);
  expect(await connectionsOf([server], name)).toEqual(before);
  expect(await waiter.next()).toMatchObject({ body: Buffer.from('still here') });
});
