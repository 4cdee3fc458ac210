import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { runSentinel, runServer, until } from '@mortise/test-kit';
import { WaiterHub } from '../src/index.js';
import { MAJORS, connect, connectSentinel } from './fixture/clients.js';
import type { Major } from './fixture/clients.js';
import { commandsOf, connectionsOf, subscribersOf } from './fixture/observe.js';
import {
  elapse,
  fakeTimers,
  TestChannel,
  waitingCases,
  wakesAfterBreak,
  WHOLE_AGAIN,
} from './fixture/waiting-cases.js';

const { server } = await runServer();
const { servers: sentinel } = await runSentinel();

describe.each(MAJORS)('a single node, ioredis %s', (major) => {
  waitingCases({ connect: () => connect(major, server.url), servers: () => [server] });

  test('uses as many connections as it says: one with RESP3, two with RESP2', async () => {
    const name = randomUUID();
    const client = connect(major, server.url, { connectionName: name });
    expect(WaiterHub.of(client)).toBe(WaiterHub.of(client));
    await client.ping();
    expect(await connectionsOf([server], name)).toHaveLength(1);
    const channels = Array.from({ length: 20 }, () => new TestChannel(client));
    await Promise.all(channels.map((channel) => channel.waiter('w')));
    const names = (await connectionsOf([server], name)).map((connection) => connection.name);
    expect(names.toSorted()).toEqual(major === '6' ? [name] : [name, `${name}:mortise-subscriber`]);
  });

  test('closes a connection of its own with the last channel, and opens another one for the next', async () => {
    const name = randomUUID();
    const client = connect(major, server.url, { connectionName: name, protocol: 2 });
    fakeTimers();
    for (let round = 0; round < 3; round += 1) {
      const waiters = await Promise.all([
        new TestChannel(client).waiter('w'),
        new TestChannel(client).waiter('w'),
      ]);
      expect(await connectionsOf([server], `${name}:mortise-subscriber`)).toHaveLength(1);
      waiters[0].close();
      await elapse(30_000, server);
      expect(await connectionsOf([server], `${name}:mortise-subscriber`)).toHaveLength(1);
      waiters[1].close();
      await elapse(30_000, server);
      await until(
        'the end of the subscriber',
        async () => (await connectionsOf([server], name)).length === 1,
      );
    }
  });

  test('with lazyConnect opens nothing until somebody waits', async () => {
    const client = connect(major, server.url, { lazyConnect: true });
    const channel = new TestChannel(client);
    expect(client.status).toBe('wait');
    const waiter = await channel.waiter('w');
    expect(await channel.publish('w:hello')).toBe(1);
    expect(await waiter.next()).toMatchObject({ type: 'message' });
  });

  test('with autoResubscribe off and with automatic pipelining, a killed connection gives resync all the same', async () => {
    const options = { autoResubscribe: false, enableAutoPipelining: true, connectionName: randomUUID() };
    const channel = new TestChannel(connect(major, server.url, options));
    const waiter = await channel.waiter('w');
    await kill(options.connectionName);
    expect(await wakesAfterBreak(channel, waiter, connect('6', server.url))).toEqual(WHOLE_AGAIN);
  });

  test('a killed subscription gives resync to every waiter, and messages flow again', async () => {
    const name = randomUUID();
    const client = connect(major, server.url, { connectionName: name });
    const channels = Array.from({ length: 10 }, () => new TestChannel(client));
    const waiters = await Promise.all(channels.map((channel) => channel.waiter('w')));
    const publisher = connect('6', server.url);
    for (let round = 0; round < 3; round += 1) {
      await kill(name);
      const wakes = channels.map((channel, index) => wakesAfterBreak(channel, waiters[index]!, publisher));
      expect(await Promise.all(wakes)).toEqual(channels.map(() => WHOLE_AGAIN));
    }
    expect(await Promise.all(channels.map(({ name: channel }) => subscribersOf([server], channel)))).toEqual(
      channels.map(() => 1),
    );
  });

  test('keeps no event listener per waiter, channel or reconnect', async () => {
    const name = randomUUID();
    const client = connect(major, server.url, { connectionName: name });
    const channel = new TestChannel(client);
    const waiter = await channel.waiter('first');
    const count = (): number[] =>
      ['ready', 'end', 'close', 'error', 'messageBuffer'].map((event) => client.listenerCount(event));
    const before = count();
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(['a', 'b', 'c'].map(async (id) => (await channel.waiter(id)).close()));
      await new TestChannel(client).waiter('w');
      await kill(name);
      expect(await wakesAfterBreak(channel, waiter, connect('6', server.url))).toEqual(WHOLE_AGAIN);
    }
    expect(count()).toEqual(before);
  });
});

async function kill(name: string): Promise<void> {
  for (const { id } of await connectionsOf([server], name)) await server.command('CLIENT', 'KILL', 'ID', id);
}

describe('the connection of the caller, with RESP3', () => {
  test("keeps the caller's own subscriptions and listeners", async () => {
    const client = connect('6', server.url);
    const channel = new TestChannel(client);
    const own = `own:${randomUUID()}`;
    const calls: string[] = [];
    client.on('message', (name: string, text: string) => calls.push(`${name} ${text}`));
    client.on('pmessage', (_pattern: string, name: string, text: string) => calls.push(`${name} ${text}`));
    await client.subscribe(own);
    await client.psubscribe(`${own}:*`);
    const waiter = await channel.waiter('w');
    const publisher = connect('6', server.url);
    await publisher.publish(own, 'w:1');
    await publisher.publish(`${own}:x`, '2');
    await channel.publish('w:mine', publisher);
    expect(await waiter.next()).toMatchObject({ body: Buffer.from('mine') });
    expect(await waiter.next({ deadlineAt: 0 })).toEqual({ type: 'timeout' });
    await until('the own messages', () => calls.length === 3);
    expect(calls.toSorted()).toEqual([`${own} w:1`, `${own}:x 2`, `${channel.name} w:mine`].toSorted());
  });

  test("its reconnect brings the caller's subscriptions back too, and each channel once", async () => {
    const name = randomUUID();
    const client = connect('6', server.url, { connectionName: name });
    const channel = new TestChannel(client);
    const own = `own:${randomUUID()}`;
    await client.subscribe(own);
    const waiter = await channel.waiter('w');
    await server.command('CONFIG', 'RESETSTAT');
    await kill(name);
    expect(await wakesAfterBreak(channel, waiter, connect('6', server.url))).toEqual(WHOLE_AGAIN);
    expect(await subscribersOf([server], own)).toBe(1);
    expect(await commandsOf(server)).toMatchObject({ subscribe: 2 });
  });

  test('a client of ioredis 5 that has subscriptions of its own can still be waited on', async () => {
    const client = connect('5', server.url);
    await client.subscribe(`own:${randomUUID()}`);
    const channel = new TestChannel(client);
    const waiter = await channel.waiter('w');
    expect(await channel.publish('w:hello', connect('5', server.url))).toBe(1);
    expect(await waiter.next()).toMatchObject({ type: 'message' });
  });
});

test('a wait that begins as the client closes sends nothing after QUIT', async () => {
  const client = connect('6', server.url);
  await client.ping();
  const sent: string[] = [];
  const send = client.sendCommand.bind(client);
  client.sendCommand = (command, ...more) => {
    sent.push(command.name);
    return send(command, ...more);
  };
  const waited = new TestChannel(client).waiter('w').catch((error: unknown) => error);
  // The PING of the hub is on its way then.
  await new Promise(setImmediate);
  expect(await client.quit()).toBe('OK');
  expect(await waited).toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
  expect(sent.slice(-2)).toEqual(['ping', 'quit']);
});

describe('a refused subscription', () => {
  test.each(MAJORS)('passes the refusal on and harms no later one, ioredis %s', async (major) => {
    const user = randomUUID();
    await server.command('ACL', 'SETUSER', user, 'on', '>secret', '~*', '+@all', 'resetchannels');
    const client = connect(major, server.url, { username: user, password: 'secret' });
    const channel = new TestChannel(client);
    for (let round = 0; round < 3; round += 1) {
      await expect(channel.waiter('w')).rejects.toThrow(/^NOPERM /);
    }
    await server.command('ACL', 'SETUSER', user, '&*');
    const waiter = await channel.waiter('w');
    expect(await channel.publish('w:once')).toBe(1);
    expect(await waiter.next()).toMatchObject({ body: Buffer.from('once') });
    expect(await waiter.next({ deadlineAt: performance.now() + 20 })).toEqual({ type: 'timeout' });
    client.disconnect();
    await until('the end', () => client.status === 'end');
    await server.command('ACL', 'DELUSER', user);
  });
});

describe('Sentinel', () => {
  const bySentinel = (major: Major, options: object = {}): Redis => {
    const { name, sentinels } = sentinel;
    return connectSentinel(major, { name, sentinels, ...options });
  };

  describe.each(MAJORS)('ioredis %s', (major) => {
    waitingCases({ connect: () => bySentinel(major), servers: () => sentinel.servers });

    test('uses as many connections as on a single node', async () => {
      const name = randomUUID();
      await new TestChannel(bySentinel(major, { connectionName: name })).waiter('w');
      const names = (await connectionsOf(sentinel.servers, name)).map((connection) => connection.name);
      expect(names.toSorted()).toEqual(major === '6' ? [name] : [name, `${name}:mortise-subscriber`]);
    });
  });

  test('a failover gives resync, and messages flow again', async () => {
    const channels = MAJORS.map((major) => new TestChannel(bySentinel(major)));
    const waiters = await Promise.all(channels.map((channel) => channel.waiter('w')));
    const old = await sentinel.master();
    await old.kill();
    await sentinel.failover();
    const wakes = channels.map((channel, index) =>
      wakesAfterBreak(channel, waiters[index]!, bySentinel('6')),
    );
    expect(await Promise.all(wakes)).toEqual(channels.map(() => WHOLE_AGAIN));
    expect(await sentinel.master()).not.toBe(old);
  });
});
