import { describe, expect, test } from '@jest/globals';
import { freshPrefix, until } from '@mortise/test-kit';
import { connectNodeRedis, NODE_REDIS_MAJORS } from '@mortise/test-kit/node-redis';
import { Cache } from '../../src/index.js';
import { fromNodeRedis } from '../../src/node-redis/index.js';

describe.each(NODE_REDIS_MAJORS)('node-redis %s', (major) => {
  test('a value is loaded once for two clients, and their near tiers learn of a change', async () => {
    const prefix = freshPrefix();
    const clients = await Promise.all([connectNodeRedis(major), connectNodeRedis(major)]);
    const [one, other] = clients.map(
      (client) =>
        new Cache<string>(fromNodeRedis(client), 'pages', { prefix, ttlMs: 60_000, near: { entries: 10 } }),
    );
    let loads = 0;
    const load = async (): Promise<string> => `load ${(loads += 1)}`;
    expect(await Promise.all([one!.getOrLoad('a', load), other!.getOrLoad('a', load)])).toEqual([
      'load 1',
      'load 1',
    ]);
    await until('a read from the near tier', async () => {
      await other!.getOrLoad('a', load);
      return other!.stats().nearHits > 0;
    });
    await one!.set('a', 'changed');
    await until('the change', async () => (await other!.getOrLoad('a', load)) === 'changed');
    expect(loads).toBe(1);
    await Promise.all([one!.stop(), other!.stop()]);
  });
});
