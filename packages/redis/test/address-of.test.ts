import { describe, expect, test } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5';
import type { RedisClient } from '../src/index.js';
import { RedisUnreachableError } from '../src/index.js';
import { addressOf } from '../src/address-of.js';

const LAZY = { lazyConnect: true } as const;

describe.each([
  ['6', Redis, Cluster],
  ['5', Redis5 as unknown as typeof Redis, Cluster5 as unknown as typeof Cluster],
])('ioredis %s', (_, Single, Nodes) => {
  test.each<[string, string, () => RedisClient]>([
    ['a client without options', 'localhost:6379', () => new Single(LAZY)],
    [
      'a URL, without user and password',
      'redis.example:7000',
      () => new Single('redis://jill:secret@redis.example:7000/2', LAZY),
    ],
    ['a socket', '/run/redis.sock', () => new Single('/run/redis.sock', LAZY)],
    [
      'Sentinel',
      's1:26379, s2:26380',
      () => new Single({ ...LAZY, name: 'main', sentinels: [{ host: 's1' }, { host: 's2', port: 26_380 }] }),
    ],
    [
      'a Cluster, without passwords',
      '10.0.0.1:7000, 10.0.0.2:7001, 127.0.0.1:7002 and 1 more',
      () =>
        new Nodes(
          ['redis://:se/c@ret@10.0.0.1:7000/0', '10.0.0.2:7001', 7002, { host: 'last', port: 7003 }],
          LAZY,
        ),
    ],
  ])('%s', (__, address, create) => {
    const client = create();
    expect(addressOf(client)).toBe(address);
    client.disconnect();
  });
});

test('a client that tells no address', () => {
  expect(addressOf({ status: 'connecting' } as RedisClient)).toBeUndefined();
  expect(
    addressOf({ options: { host: undefined, port: undefined } } as unknown as RedisClient),
  ).toBeUndefined();
});

test('ERR_REDIS_UNREACHABLE names the address, where it is known', () => {
  const client = new Redis('redis://redis.example:7000', LAZY);
  expect(RedisUnreachableError.of(client)).toMatchObject({
    address: 'redis.example:7000',
    message: expect.stringContaining(
      'Redis cannot be reached at redis.example:7000: the client is "wait". Check the address, and that the server runs',
    ),
  });
  client.disconnect();
  const error = RedisUnreachableError.of({
    status: 'connecting',
    on: () => undefined,
  } as unknown as RedisClient)!;
  expect(error.message).toMatch(/^Redis cannot be reached: /);
  expect(error).not.toHaveProperty('address');
});
