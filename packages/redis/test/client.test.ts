import { describe, expect, test } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5';
import type { RedisClient } from '../src/index.js';
import { requireClient } from '../src/index.js';
import { MAJORS, connect } from './fixture/clients.js';

const LAZY = { lazyConnect: true };
const NODES = [{ host: '127.0.0.1', port: 1 }];

describe('requireClient', () => {
  test('accepts Redis and Cluster of both majors and sends nothing', () => {
    const clients: RedisClient[] = [
      new Redis(LAZY),
      new Redis5(LAZY),
      new Cluster(NODES, LAZY),
      new Cluster5(NODES, LAZY),
    ];
    for (const client of clients) {
      expect(requireClient(client)).toBe(client);
      expect(client.status).toBe('wait');
    }
  });

  test.each(MAJORS)('accepted clients of ioredis %s answer to call and callBuffer', async (major) => {
    const client = requireClient(connect(major));
    expect(await client.call('echo', ['\u20ac'])).toBe('\u20ac');
    expect(await client.callBuffer('echo', [Buffer.from([0, 255])])).toEqual(Buffer.from([0, 255]));
  });

  const NO_CLIENT =
    'redis must be a Redis or Cluster instance of ioredis 5.4 or later, or fromNodeRedis(client)';
  const KEY_PREFIX =
    'the ioredis option keyPrefix ("app:") is not supported: use the option prefix of this package';
  const RESP3 = "the ioredis option replyMapping: 'resp3' is not supported: use 'legacy'";
  const NUMBERS = 'the ioredis option stringNumbers is not supported: scripts reply with numbers';
  const keyPrefix = 'app:';
  const replyMapping = 'resp3';
  const stringNumbers = true;

  test.each<[string, unknown, string]>([
    ['null', null, NO_CLIENT],
    ['undefined', undefined, NO_CLIENT],
    ['a string', 'redis://127.0.0.1', NO_CLIENT],
    ['options', { host: '127.0.0.1', port: 6379 }, NO_CLIENT],
    ['a client without call, as of node-redis', { duplicate: () => {}, sendCommand: () => {} }, NO_CLIENT],
    ['keyPrefix of Redis', new Redis({ ...LAZY, keyPrefix }), KEY_PREFIX],
    ['keyPrefix of Redis 5', new Redis5({ ...LAZY, keyPrefix }), KEY_PREFIX],
    ['keyPrefix of Cluster', new Cluster(NODES, { ...LAZY, keyPrefix }), KEY_PREFIX],
    ['keyPrefix in redisOptions', new Cluster(NODES, { ...LAZY, redisOptions: { keyPrefix } }), KEY_PREFIX],
    ['keyPrefix of Cluster 5', new Cluster5(NODES, { ...LAZY, redisOptions: { keyPrefix } }), KEY_PREFIX],
    ['replyMapping of Redis', new Redis({ ...LAZY, replyMapping }), RESP3],
    ['replyMapping of Cluster', new Cluster(NODES, { ...LAZY, redisOptions: { replyMapping } }), RESP3],
    ['stringNumbers of Redis', new Redis({ ...LAZY, stringNumbers }), NUMBERS],
    [
      'stringNumbers of Cluster 5',
      new Cluster5(NODES, { ...LAZY, redisOptions: { stringNumbers } }),
      NUMBERS,
    ],
  ])('refuses %s', (_, client, message) => {
    expect(() => requireClient(client as RedisClient)).toThrow(new TypeError(message));
  });
});
