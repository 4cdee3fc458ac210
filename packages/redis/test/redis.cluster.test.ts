import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { RedisServer } from '@mortise/redis-server';
import type { Cluster } from 'ioredis';
import { runCluster, until } from '@mortise/test-kit';
import type { Read, Waiter } from '../src/index.js';
import { Coalescer, KeySpace, WaiterHub, callRedis, keySlot, readMany } from '../src/index.js';
import { MAJORS, connectCluster } from './fixture/clients.js';
import type { Major } from './fixture/clients.js';
import { connectionsOf, subscribersOf } from './fixture/observe.js';
import { count, echo, swap } from './fixture/scripts.js';
import { watchedWrites } from './fixture/writes.js';
import {
  TestListener,
  elapse,
  fakeTimers,
  TestChannel,
  waitingCases,
  wakesAfterBreak,
  WHOLE_AGAIN,
} from './fixture/waiting-cases.js';

const { servers: cluster } = await runCluster();

afterEach(() => {
  jest.useRealTimers();
});

function connect(major: Major, options: object = {}): Cluster {
  return connectCluster(major, cluster.nodes, options);
}

/** Channels on all masters, each with a waiter. */
async function spread(client: Cluster, amount: number): Promise<{ channel: TestChannel; waiter: Waiter }[]> {
  return Promise.all(
    Array.from({ length: amount }, async () => {
      const channel = new TestChannel(client);
      return { channel, waiter: await channel.waiter('w') };
    }),
  );
}

/** The masters in the order of their slots. */
async function masters(): Promise<[RedisServer, RedisServer, RedisServer]> {
  return Promise.all([cluster.ownerOf(0), cluster.ownerOf(8_191), cluster.ownerOf(16_383)]);
}

/** A channel that the node owns. */
async function channelAt(client: Cluster, node: RedisServer): Promise<TestChannel> {
  if (client.status !== 'ready') await client.ping();
  for (;;) {
    const channel = new TestChannel(client);
    if (client.slots[keySlot(channel.name)]?.[0] === `${node.host}:${node.port}`) return channel;
  }
}

const targets = (amount: number): string[] =>
  Array.from({ length: amount }, () => new KeySpace('test').entity(randomUUID()).key('target'));

describe.each(MAJORS)('scripts, ioredis %s', (major) => {
  test.each([
    ['plain', {}],
    ['with automatic pipelining', { enableAutoPipelining: true }],
    ['with reads from replicas', { scaleReads: 'slave' }],
    ['with all of it', { enableAutoPipelining: true, scaleReads: 'slave', lazyConnect: true }],
  ])('a script finds the node of its keys, and is made known to each: %s', async (_, options) => {
    const redis = connect(major, options);
    await Promise.all(cluster.nodes.map((node) => node.command('SCRIPT', 'FLUSH')));
    const all = targets(30);
    for (const value of ['a', 'b']) {
      const swaps = all.map((target) => swap.run(redis, { target }, { value, fields: ['f', 'g'] }));
      expect(await Promise.all(swaps)).toEqual(all.map(() => (value === 'a' ? [null, null] : ['a', 'a'])));
      const counts = all.map((target) => count.run(redis, { tags: [target] }, { values: [1, 2] }));
      expect(await Promise.all(counts)).toEqual(all.map((target) => [1, 2, target, '2']));
    }
  });

  test('calls of an entity keep their order when its node learns the script, and others do not wait', async () => {
    const redis = connect(major);
    await Promise.all(cluster.nodes.map((node) => node.command('SCRIPT', 'FLUSH')));
    const all = targets(30);
    const owners = await Promise.all(all.map((target) => cluster.ownerOf(target)));
    const target = all[0]!;
    const elsewhere = all[owners.findIndex((owner) => owner !== owners[0])]!;
    const sent = jest.spyOn(redis, 'call');
    const run = (key: string, value: string) => swap.run(redis, { target: key }, { value, fields: ['f'] });
    await redis.get(target);
    const ofEntity = [run(target, 'a')];
    const opened = redis.blpop(`${target}:gate`, 0);
    ofEntity.push(run(target, 'b'));
    await until('the text to be sent', () => sent.mock.calls.some(([command]) => command === 'eval'));
    ofEntity.push(run(target, 'c'));
    expect(await run(elsewhere, 'a')).toEqual([null]);
    await connect(major).rpush(`${target}:gate`, 'open');
    await opened;
    expect(await Promise.all(ofEntity)).toEqual([[null], ['a'], ['b']]);
  });

  test.each([
    ['plain', {}],
    ['with automatic pipelining', { enableAutoPipelining: true }],
  ])('a slot that moves between two calls is followed: %s', async (_, options) => {
    const redis = connect(major, options);
    const all = targets(10);
    const moving = all[0]!;
    const swapAll = (value: string): Promise<unknown[]> =>
      Promise.all(all.map((target) => swap.run(redis, { target }, { value, fields: ['f'] })));
    const owner = await cluster.ownerOf(moving);
    const other = await cluster.ownerOf(owner === (await cluster.ownerOf(0)) ? 16_383 : 0);
    expect(await swapAll('a')).toEqual(all.map(() => [null]));
    await cluster.moveSlot(keySlot(moving), other);
    expect(await swapAll('b')).toEqual(all.map(() => ['a']));
    await cluster.moveSlot(keySlot(moving), owner);
  });

  test('keys of two slots are refused', async () => {
    const [first, second] = targets(2);
    const keys = { first: first!, second: second!, moreKeys: [] };
    await expect(echo.run(connect(major), keys, { third: 1, fourth: 2, moreArgs: [] })).rejects.toThrow(
      /CROSSSLOT|same slot/,
    );
  });

  test('a coalescer whose group is the entity sends each script to one slot', async () => {
    const redis = connect(major);
    const swaps = new Coalescer<string, string, string | null>(
      async (target, fields) =>
        (await swap.run(redis, { target }, { value: 'v', fields })) as (string | null)[],
      { maxBatch: 100 },
    );
    const all = targets(20);
    const submit = (): Promise<(string | null)[]> =>
      Promise.all(all.flatMap((target) => ['f', 'g'].map((field) => swaps.submit(target, field))));
    expect(await submit()).toEqual(all.flatMap(() => [null, null]));
    expect(await submit()).toEqual(all.flatMap(() => ['v', 'v']));
  });
});

describe.each(MAJORS)('readMany, ioredis %s', (major) => {
  const keys = Array.from({ length: 60 }, () => `{${randomUUID()}}:read`);
  const reads = keys.map((key): Read => ['get', key]);
  const values = keys.map((_, index) => String(index));

  beforeAll(async () => {
    const redis = connect(major);
    await Promise.all(keys.map((key, index) => redis.set(key, index)));
  });

  /** GETs that the masters counted while `action` ran. */
  async function countOf(action: () => Promise<unknown>): Promise<number[]> {
    await Promise.all(cluster.nodes.map((node) => node.command('CONFIG', 'RESETSTAT')));
    await action();
    const stats = await Promise.all(cluster.nodes.map((node) => node.command('INFO', 'commandstats')));
    return stats
      .map((text) => Number(/cmdstat_get:calls=(\d+)/.exec(String(text))?.[1] ?? 0))
      .filter((calls) => calls > 0);
  }

  test.each<[string, object]>([
    ['plain', {}],
    ['with automatic pipelining', { enableAutoPipelining: true }],
    ['with reads from replicas', { scaleReads: 'slave' }],
    ['not connected yet', { lazyConnect: true }],
  ])('finds the node of each key, in any order: %s', async (_, options) => {
    const redis = connect(major, options);
    expect(await readMany(redis, reads)).toEqual(values);
    expect(await readMany(redis, reads.toReversed())).toEqual(values.toReversed());
  });

  test('asks each master once, and no replica', async () => {
    const options: object = { scaleReads: 'slave' };
    const redis = connect(major, options);
    await redis.ping();
    const counts = await countOf(() => readMany(redis, reads));
    expect(counts).toHaveLength(3);
    expect(counts.reduce((sum, calls) => sum + calls, 0)).toBe(keys.length);
  });

  test('follows a slot that has moved, and repeats nothing else', async () => {
    const redis = connect(major);
    await readMany(redis, reads);
    const moving = keys[0]!;
    const owner = await cluster.ownerOf(moving);
    const other = await cluster.ownerOf(owner === (await cluster.ownerOf(0)) ? 16_383 : 0);
    await cluster.moveSlot(keySlot(moving), other);
    const counts = await countOf(async () => expect(await readMany(redis, reads)).toEqual(values));
    expect(counts.reduce((sum, calls) => sum + calls, 0)).toBe(keys.length);
    expect(await readMany(redis, reads)).toEqual(values);
    await cluster.moveSlot(keySlot(moving), owner);
    expect(await readMany(redis, reads)).toEqual(values);
  });

  test('a read without a key goes where the one before it goes', async () => {
    const redis = connect(major);
    const [value, time] = await readMany(redis, [['get', keys[3]!], ['time']]);
    expect(value).toBe('3');
    expect(time).toEqual([expect.any(String), expect.any(String)]);
    expect(await readMany(redis, [['time']])).toEqual([[expect.any(String), expect.any(String)]]);
  });

  test('rejects with a refusal of the server', async () => {
    const redis = connect(major);
    await expect(readMany(redis, [['llen', keys[0]!], ...reads])).rejects.toThrow(/^WRONGTYPE/);
  });
});

describe.each(MAJORS)('waiting, ioredis %s', (major) => {
  waitingCases({ connect: () => connect(major), servers: () => cluster.nodes });

  test('publishes with SPUBLISH, on one connection more for each master that has a channel', async () => {
    const name = randomUUID();
    const client = connect(major, { redisOptions: { connectionName: name } });
    expect(WaiterHub.of(client).publishCommand).toBe('SPUBLISH');
    const subscribers = async (): Promise<RedisServer[]> => {
      const connections = await connectionsOf(cluster.nodes, `${name}:mortise-subscriber`);
      return connections.map(({ server }) => server);
    };
    const [first] = await masters();
    await (await channelAt(client, first)).waiter('w');
    expect(await subscribers()).toEqual([first]);
    await spread(client, 50);
    expect(new Set(await subscribers())).toEqual(new Set(await masters()));
    expect(await subscribers()).toHaveLength(3);
  });

  test('closes a connection with the last channel of its master, whether that is left or has moved', async () => {
    const name = randomUUID();
    const client = connect(major, { redisOptions: { connectionName: name } });
    const [from, to] = await masters();
    const subscribers = async (): Promise<RedisServer[]> =>
      (await connectionsOf(cluster.nodes, `${name}:mortise-subscriber`)).map(({ server }) => server);
    const channel = await channelAt(client, from);
    const waiter = await channel.waiter('w');
    expect(await subscribers()).toEqual([from]);
    await cluster.moveSlot(keySlot(channel.name), to);
    expect(await wakesAfterBreak(channel, waiter, connect('6'))).toEqual(WHOLE_AGAIN);
    await until('the subscriber of the old master to go', async () => (await subscribers())[0] === to);
    expect(await subscribers()).toHaveLength(1);
    fakeTimers();
    waiter.close();
    await elapse(30_000, from);
    await until('the other one to go', async () => (await subscribers()).length === 0);
    jest.useRealTimers();
    await cluster.moveSlot(keySlot(channel.name), from);
  });

  test('a listener follows its slot: resync, then the messages after it', async () => {
    const client = connect(major);
    const [from, to] = await masters();
    const channel = await channelAt(client, from);
    const listener = new TestListener();
    await channel.listen(listener);
    await channel.publish('*:before');
    await cluster.moveSlot(keySlot(channel.name), to);
    await until('the resync', () => listener.calls.includes('<resync>'));
    await channel.publish('*:after');
    await until('the message after it', () => listener.calls.includes('after'));
    const isResync = (text: string): boolean => text === '<resync>';
    expect(
      listener.calls.filter((text, index) => !isResync(text) || !isResync(listener.calls[index - 1]!)),
    ).toEqual(['before', '<resync>', 'after']);
    await cluster.moveSlot(keySlot(channel.name), from);
  });

  test('works with lazyConnect, with automatic pipelining and with reads from replicas', async () => {
    const client = connect(major, { lazyConnect: true, enableAutoPipelining: true, scaleReads: 'slave' });
    for (const { channel, waiter } of await spread(client, 10)) {
      expect(await channel.publish('w:hello')).toBe(1);
      expect(await waiter.next()).toMatchObject({ body: Buffer.from('hello') });
    }
  });

  test('without the offline queue, waiting before the cluster is ready fails as any command does', async () => {
    const client = connect(major, { enableOfflineQueue: false });
    const channel = new TestChannel(client);
    await expect(channel.waiter('w')).rejects.toMatchObject({
      code: 'ERR_REDIS_UNREACHABLE',
      cause: { message: "Cluster isn't ready and enableOfflineQueue options is false" },
    });
    await until('the cluster client to be ready', () => client.status === 'ready');
    const waiter = await channel.waiter('w');
    expect(await channel.publish('w:ready')).toBe(1);
    expect(await waiter.next()).toMatchObject({ body: Buffer.from('ready') });
  });

  test('a refused subscription is not tried again, and harms no later one', async () => {
    const username = randomUUID();
    const everywhere = (...rules: string[]): Promise<unknown> =>
      Promise.all(cluster.nodes.map((node) => node.command('ACL', 'SETUSER', username, ...rules)));
    await everywhere('on', '>secret', '~*', '+@all', 'resetchannels');
    const channel = new TestChannel(connect(major, { redisOptions: { username, password: 'secret' } }));
    const owner = await cluster.ownerOf(channel.name);
    await owner.command('CONFIG', 'RESETSTAT');
    await expect(channel.waiter('w')).rejects.toThrow(/^NOPERM /);
    expect(String(await owner.command('INFO', 'commandstats'))).toMatch(
      /cmdstat_ssubscribe:.*rejected_calls=1,/,
    );
    await everywhere('&*');
    const waiter = await channel.waiter('w');
    expect(await channel.publish('w:allowed')).toBe(1);
    expect(await waiter.next()).toMatchObject({ body: Buffer.from('allowed') });
  });

  test('a killed subscription gives resync to its channels only, and messages flow again', async () => {
    const name = randomUUID();
    const client = connect(major, { redisOptions: { connectionName: name } });
    const all = await spread(client, 12);
    const [killed] = await connectionsOf(cluster.nodes, `${name}:mortise-subscriber`);
    await killed!.server.command('CLIENT', 'KILL', 'ID', killed!.id);
    const wakes = all.map(async ({ channel, waiter }) => {
      const isKilled = (await cluster.ownerOf(channel.name)) === killed!.server;
      return isKilled ? wakesAfterBreak(channel, waiter, connect('6')) : 'undisturbed';
    });
    const outcomes = await Promise.all(wakes);
    const undisturbed = all.filter((_, index) => outcomes[index] === 'undisturbed');
    expect(new Set(outcomes.map(String))).toEqual(new Set([WHOLE_AGAIN.join(','), 'undisturbed']));
    const nothing = await Promise.all(undisturbed.map(({ waiter }) => waiter.next({ deadlineAt: 0 })));
    expect(nothing.filter(({ type }) => type !== 'timeout')).toEqual([]);
  });

  test('a slot that moves takes its channel along; the others of its old and new master go on', async () => {
    const client = connect(major);
    const [from, to] = await masters();
    const moving = await channelAt(client, from);
    const others = await Promise.all([channelAt(client, from), channelAt(client, to)]);
    const waiter = await moving.waiter('w');
    const waiters = await Promise.all(others.map((channel) => channel.waiter('w')));
    await moving.client.set(moving.keys.key('entity'), 'moves too');
    for (const node of [to, from]) {
      await cluster.moveSlot(keySlot(moving.name), node);
      expect(await wakesAfterBreak(moving, waiter, connect('6'))).toEqual(WHOLE_AGAIN);
      expect(await subscribersOf([node], moving.name)).toBe(1);
    }
    for (const [index, channel] of others.entries()) {
      await until('its subscription', async () => Number(await channel.publish('*:still here')) === 1);
      expect(await subscribersOf(cluster.nodes, channel.name)).toBe(1);
      await expect(
        until('the message', async () => (await waiters[index]!.next()).type === 'message'),
      ).resolves.toBe(true);
    }
    await moving.client.del(moving.keys.key('entity'));
  });

  test('an old slot map does not keep a first subscription from its owner', async () => {
    const client = connect(major);
    const [from, to] = await masters();
    const channel = await channelAt(client, from);
    await client.get(channel.name);
    await cluster.moveSlot(keySlot(channel.name), to);
    const waiter = await channel.waiter('w');
    expect(await channel.publish('w:found')).toBe(1);
    expect(await waiter.next()).toMatchObject({ type: 'message' });
    await cluster.moveSlot(keySlot(channel.name), from);
  });

  test('many slots that move one after the other: every waiter goes on', async () => {
    const client = connect(major);
    const [from, to] = await masters();
    const channels = await Promise.all(Array.from({ length: 10 }, () => channelAt(client, from)));
    const waiters = await Promise.all(channels.map((channel) => channel.waiter('w')));
    for (const channel of channels) await cluster.moveSlot(keySlot(channel.name), to);
    const wakes = channels.map((channel, index) => wakesAfterBreak(channel, waiters[index]!, connect('6')));
    expect(await Promise.all(wakes)).toEqual(channels.map(() => WHOLE_AGAIN));
    for (const channel of channels) await cluster.moveSlot(keySlot(channel.name), from);
  });
});

// Each of another node: within some seconds the masters vote once only for a replica of the same one.
describe('a failover', () => {
  test('by hand: every waiter goes on', async () => {
    const all = (await Promise.all(MAJORS.map((major) => spread(connect(major), 6)))).flat();
    const [old] = await masters();
    const successor = await cluster.failover(old);
    expect(await masters()).toContain(successor);
    const publisher = connect('6');
    for (const { channel, waiter } of all) {
      await until('its subscription at the owner', async () => {
        const owner = await cluster.ownerOf(channel.name);
        return (await subscribersOf([owner], channel.name)) === 1;
      });
      await channel.publish('w:go on', publisher);
      await until('the message', async () => (await waiter.next()).type === 'message');
      expect(await waiter.next({ deadlineAt: 0 })).toEqual({ type: 'timeout' });
    }
  });

  test('unknown to a client: a subscription at the old master moves as soon as the client learns of it', async () => {
    const [, old] = await masters();
    const channels = await Promise.all(MAJORS.map((major) => channelAt(connect(major), old)));
    const successor = await cluster.failover(old);
    const follow = async (channel: TestChannel): Promise<void> => {
      const waiter = await channel.waiter('w');
      // The first command is redirected to the new owner, and the client fetches the slots.
      await channel.publish('nobody:hello');
      await until('its subscription', async () => (await subscribersOf([successor], channel.name)) === 1);
      expect(await wakesAfterBreak(channel, waiter, connect('6'))).toEqual(WHOLE_AGAIN);
    };
    await expect(Promise.all(channels.map(follow))).resolves.toHaveLength(2);
  });

  test('after the death of a master: its channels get resync, and messages flow again', async () => {
    const [, , dead] = await masters();
    const channels = await Promise.all(MAJORS.map((major) => channelAt(connect(major), dead)));
    const waiters = await Promise.all(channels.map((channel) => channel.waiter('w')));
    await dead.kill();
    await cluster.failover(dead);
    const wakes = channels.map((channel, index) => wakesAfterBreak(channel, waiters[index]!, connect('6')));
    expect(await Promise.all(wakes)).toEqual(channels.map(() => WHOLE_AGAIN));
    await dead.restart();
  });

  test('from a master that has stopped answering: noticed within 15 s, and messages flow again', async () => {
    const [, stopped] = await masters();
    const channels = await Promise.all(MAJORS.map((major) => channelAt(connect(major), stopped)));
    fakeTimers();
    const waiters = await Promise.all(channels.map((channel) => channel.waiter('w')));
    stopped.pause();
    const successor = await cluster.failover(stopped);
    await jest.advanceTimersByTimeAsync(15_000);
    await until('their subscriptions at the successor', async () => {
      await jest.advanceTimersByTimeAsync(100);
      const counts = await Promise.all(channels.map(({ name }) => subscribersOf([successor], name)));
      return counts.every((subscribers) => subscribers === 1);
    });
    jest.useRealTimers();
    // node-redis would wait for the stopped node if it asked that one first.
    const answering = cluster.nodes.filter((node) => node !== stopped);
    const wakes = channels.map((channel, index) =>
      wakesAfterBreak(channel, waiters[index]!, connectCluster('6', answering)),
    );
    expect(await Promise.all(wakes)).toEqual(channels.map(() => WHOLE_AGAIN));
    stopped.resume();
  });
});

test('the calls of a tick to the slots of a Cluster leave in one write for each master', async () => {
  const client = connect('6');
  const names = Array.from({ length: 15 }, (_, index) => `{${index}}`);
  await Promise.all(names.map((name) => callRedis(client, 'get', [name])));
  const writes = watchedWrites(client.nodes('master'));
  await Promise.all(names.map((name) => callRedis(client, 'get', [name])));
  expect(writes).toHaveLength(3);
  expect(writes.reduce((sum, pieces) => sum + pieces, 0)).toBe(15);
});
