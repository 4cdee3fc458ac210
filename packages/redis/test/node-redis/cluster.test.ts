import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { RedisServer } from '@mortise/redis-server';
import { runCluster, until } from '@mortise/test-kit';
import type { RedisClient } from '../../src/index.js';
import { keySlot, readMany } from '../../src/index.js';
import type { NodeRedisClusterClient } from '../../src/node-redis/cluster.js';
import { fromNodeRedis } from '../../src/node-redis/index.js';
import { NODE_REDIS, connectBothCluster, nodeCluster } from '../fixture/node-redis.js';
import type { NodeRedisMajor } from '../fixture/node-redis.js';
import { swap } from '../fixture/scripts.js';
import { waitingCases } from '../fixture/waiting-cases.js';

const { servers } = await runCluster();

async function connect(major: NodeRedisMajor, options?: object): Promise<RedisClient> {
  const cluster = nodeCluster(major, servers.nodes, options);
  const redis = fromNodeRedis(cluster);
  await cluster.connect();
  return redis;
}

const keysOf = (amount: number): string[] =>
  Array.from({ length: amount }, () => `test:{${randomUUID()}}:target`);

/** The owner of the key's slot, and another master. */
async function ownerAndOther(key: string): Promise<[RedisServer, RedisServer]> {
  const owner = await servers.ownerOf(key);
  return [owner, await servers.ownerOf(owner === (await servers.ownerOf(0)) ? 16_383 : 0)];
}

describe.each(NODE_REDIS)('node-redis %s', (major) => {
  waitingCases({ connect: () => connectBothCluster(major, servers.nodes), servers: () => servers.nodes });

  test('has the status and the events of ioredis', async () => {
    const cluster = nodeCluster(major, servers.nodes);
    const redis = fromNodeRedis(cluster);
    const events: string[] = [];
    for (const event of ['ready', 'close', 'end']) redis.on(event, () => events.push(event));
    await expect(redis.call('ping', [])).rejects.toThrow(/await its connect\(\) first$/);
    expect(redis.status).toBe('wait');
    const connecting = cluster.connect();
    expect(redis.status).toBe('connecting');
    const early = redis.call('exists', ['nothing']);
    await connecting;
    expect(redis.status).toBe('ready');
    expect(await early).toBe(0);
    cluster.destroy();
    expect(redis.status).toBe('end');
    expect(events).toEqual(['ready', 'close', 'end']);
    await expect(redis.call('get', ['nothing'])).rejects.toThrow(/^Connection is closed\.$/);
  });

  test('commands, scripts and reads of many keys find their nodes', async () => {
    const redis = await connect(major, { minimizeConnections: major.startsWith('6') });
    const keys = keysOf(40);
    await Promise.all(servers.nodes.map((node) => node.command('SCRIPT', 'FLUSH')));
    const swaps = (value: string) =>
      Promise.all(keys.map((target) => swap.run(redis, { target }, { value, fields: ['f'] })));
    expect(await swaps('a')).toEqual(keys.map(() => [null]));
    expect(await swaps('b')).toEqual(keys.map(() => ['a']));
    expect(
      await readMany(
        redis,
        keys.map((key) => ['hget', key, 'f'] as const),
      ),
    ).toEqual(keys.map(() => 'b'));
    expect(await redis.call('ping', [])).toBe('PONG');
    await expect(redis.call('mget', keys)).rejects.toThrow(/^CROSSSLOT/);
    await expect(redis.call('llen', [keys[0]!])).rejects.toThrow(/^WRONGTYPE/);
  });

  test('calls of a key keep their order', async () => {
    const redis = await connect(major);
    const [key] = keysOf(1);
    const counts = Array.from({ length: 100 }, () => redis.call('incr', [key!]));
    expect(await Promise.all(counts)).toEqual(counts.map((_, index) => index + 1));
  });

  test('a slot that has moved is followed, and its node is known at once', async () => {
    const redis = await connect(major);
    const [key] = keysOf(1);
    await redis.call('set', [key!, 'x']);
    const [owner, other] = await ownerAndOther(key!);
    await servers.moveSlot(keySlot(key!), other);
    expect(await redis.call('get', [key!])).toBe('x');
    const { slots } = redis as RedisClient & { slots: string[][] };
    expect(slots[keySlot(key!)]?.[0]).toBe(`${other.host}:${other.port}`);
    await servers.moveSlot(keySlot(key!), owner);
    expect(await redis.call('get', [key!])).toBe('x');
  });

  test('one that is closed while it fetches the slot map leaves no connection', async () => {
    const name = randomUUID();
    const cluster = nodeCluster(major, servers.nodes, { defaults: { name } });
    const redis = fromNodeRedis(cluster);
    await cluster.connect();
    (redis as NodeRedisClusterClient).refreshSlotsCache(() => undefined);
    cluster.destroy();
    // Of a node in the map that arrives now.
    await once(cluster, 'node-connect');
    await until('the end of its connections', async () => {
      const lists = await Promise.all(servers.nodes.map((node) => node.command('CLIENT', 'LIST')));
      return !lists.join('').includes(`name=${name}`);
    });
    for (const { client } of cluster.masters) expect(client?.isOpen).toBe(false);
  });

  test('a slot that is moving: keys that are there already, and those that are not', async () => {
    const redis = await connect(major);
    const [first] = keysOf(1);
    const second = `${first!}:more`;
    const [owner, other] = await ownerAndOther(first!);
    const slot = String(keySlot(first!));
    const idOf = async (node: RedisServer) => String(await node.command('CLUSTER', 'MYID'));
    await redis.call('set', [first!, 'x']);
    await other.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', await idOf(owner));
    await owner.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', await idOf(other));
    // ASK: the key is neither there nor here, so it is written there.
    await redis.call('set', [second, 'y']);
    expect(await redis.call('get', [second])).toBe('y');
    expect(await redis.call('get', [first!])).toBe('x');
    // TRYAGAIN: one of the keys is there and the other one here.
    const both = redis.call('mget', [first!, second]);
    await owner.command('MIGRATE', other.host, String(other.port), first!, '0', '5000');
    expect(await both).toEqual(['x', 'y']);
    const owners = await Promise.all(
      servers.nodes.map(async (node) => [node, await node.command('ROLE')] as const),
    );
    for (const [node, role] of owners) {
      if (String((role as unknown[])[0]) === 'master')
        await node.command('CLUSTER', 'SETSLOT', slot, 'NODE', await idOf(other));
    }
    await servers.moveSlot(Number(slot), owner);
  });
});

describe('the death of a master', () => {
  const clients: RedisClient[] = [];
  let keys: string[];

  beforeAll(async () => {
    const dead = await servers.ownerOf(0);
    const owned = await Promise.all(
      keysOf(30).map(async (key) => [key, await servers.ownerOf(key)] as const),
    );
    keys = owned.filter(([, owner]) => owner === dead).map(([key]) => key);
    for (const major of NODE_REDIS) {
      const redis = await connect(major, { defaults: { socket: { reconnectStrategy: () => 20 } } });
      clients.push(redis);
    }
    await dead.kill();
  });

  test('commands for its slots wait for its replica, or fail like those of ioredis, and the client recovers', async () => {
    for (const redis of clients) {
      const recovered = until(
        'the new master',
        () => redis.call('set', [keys[0]!, 'x']).catch(() => undefined),
        30_000,
      );
      expect(await recovered).toBe('OK');
      expect(redis.status).toBe('ready');
      expect(
        await readMany(
          redis,
          keys.map((key) => ['exists', key] as const),
        ),
      ).toHaveLength(keys.length);
    }
  });
});
