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

  test.each([
    ['null', null],
    ['undefined', undefined],
    ['a string', 'redis://127.0.0.1'],
    ['options', { host: '127.0.0.1', port: 6379 }],
    [
      'a client without call, such as one of node-redis',
      { duplicate: () => undefined, sendCommand: () => undefined },
    ],
  ])('refuses %s', (_, client) => {
    expect(() => requireClient(client as unknown as RedisClient)).toThrow(
      new TypeError('redis must be a Redis or Cluster instance of ioredis 5.4 or later'),
    );
  });

  test.each([
    ['Redis', new Redis({ ...LAZY, keyPrefix: 'app:' })],
    ['Redis of ioredis 5', new Redis5({ ...LAZY, keyPrefix: 'app:' })],
    ['Cluster', new Cluster(NODES, { ...LAZY, keyPrefix: 'app:' })],
    ['Cluster, in redisOptions', new Cluster(NODES, { ...LAZY, redisOptions: { keyPrefix: 'app:' } })],
    ['Cluster of ioredis 5', new Cluster5(NODES, { ...LAZY, redisOptions: { keyPrefix: 'app:' } })],
  ])('refuses keyPrefix of %s, naming its value and the option to use', (_, client) => {
    expect(() => requireClient(client)).toThrow(
      new TypeError(
        'the ioredis option keyPrefix ("app:") is not supported: use the option prefix of this package',
      ),
    );
  });

  test.each([
    ['Redis', new Redis({ ...LAZY, replyMapping: 'resp3' })],
    ['Cluster', new Cluster(NODES, { ...LAZY, redisOptions: { replyMapping: 'resp3' } })],
  ])("refuses replyMapping: 'resp3' of %s", (_, client) => {
    expect(() => requireClient(client as unknown as RedisClient)).toThrow(
      new TypeError("the ioredis option replyMapping: 'resp3' is not supported: use 'legacy'"),
    );
  });

  test.each([
    ['Redis', new Redis({ ...LAZY, stringNumbers: true })],
    ['Cluster of ioredis 5', new Cluster5(NODES, { ...LAZY, redisOptions: { stringNumbers: true } })],
  ])('refuses stringNumbers of %s', (_, client) => {
    expect(() => requireClient(client)).toThrow(
      new TypeError('the ioredis option stringNumbers is not supported: scripts reply with numbers'),
    );
  });
});
