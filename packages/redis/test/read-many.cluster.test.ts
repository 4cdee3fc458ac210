import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { runCluster } from '@mortise/test-kit';
import { keySlot, readMany } from '../src/index.js';
import type { Read } from '../src/index.js';
import { MAJORS, connectCluster } from './fixture/clients.js';

const { servers: cluster } = await runCluster();

describe.each(MAJORS)('readMany on Cluster, ioredis %s', (major) => {
  const keys = Array.from({ length: 60 }, () => `{${randomUUID()}}:read`);
  const reads = keys.map((key): Read => ['get', key]);
  const values = keys.map((_, index) => String(index));

  beforeAll(async () => {
    const redis = connectCluster(major, cluster.nodes);
    await Promise.all(keys.map((key, index) => redis.set(key, index)));
  });

  /** GETs that the masters counted while `action` ran. */
  async function countOf(action: () => Promise<unknown>): Promise<number[]> {
    await Promise.all(cluster.nodes.map((node) => node.command('CONFIG', 'RESETSTAT')));
    await action();
    const stats = await Promise.all(cluster.nodes.map((node) => node.command('INFO', 'commandstats')));
    return stats
      .map((text) => Number(/cmdstat_get:calls=(\d+)/.exec(String(text))?.[1] ?? 0))
      .filter((count) => count > 0);
  }

  test.each<[string, object]>([
    ['plain', {}],
    ['with automatic pipelining', { enableAutoPipelining: true }],
    ['with reads from replicas', { scaleReads: 'slave' }],
    ['not connected yet', { lazyConnect: true }],
  ])('finds the node of each key, in any order: %s', async (_, options) => {
    const redis = connectCluster(major, cluster.nodes, options);
    expect(await readMany(redis, reads)).toEqual(values);
    expect(await readMany(redis, reads.toReversed())).toEqual(values.toReversed());
  });

  test('asks each master once, and no replica', async () => {
    const options: object = { scaleReads: 'slave' };
    const redis = connectCluster(major, cluster.nodes, options);
    await redis.ping();
    const counts = await countOf(() => readMany(redis, reads));
    expect(counts).toHaveLength(3);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(keys.length);
  });

  test('follows a slot that has moved, and repeats nothing else', async () => {
    const redis = connectCluster(major, cluster.nodes);
    await readMany(redis, reads);
    const moving = keys[0]!;
    const owner = await cluster.ownerOf(moving);
    const other = await cluster.ownerOf(owner === (await cluster.ownerOf(0)) ? 16_383 : 0);
    await cluster.moveSlot(keySlot(moving), other);
    const counts = await countOf(async () => expect(await readMany(redis, reads)).toEqual(values));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(keys.length);
    expect(await readMany(redis, reads)).toEqual(values);
    await cluster.moveSlot(keySlot(moving), owner);
    expect(await readMany(redis, reads)).toEqual(values);
  });

  test('a read without a key goes where the one before it goes', async () => {
    const redis = connectCluster(major, cluster.nodes);
    const [value, time] = await readMany(redis, [['get', keys[3]!], ['time']]);
    expect(value).toBe('3');
    expect(time).toEqual([expect.any(String), expect.any(String)]);
    expect(await readMany(redis, [['time']])).toEqual([[expect.any(String), expect.any(String)]]);
  });

  test('rejects with a refusal of the server', async () => {
    const redis = connectCluster(major, cluster.nodes);
    await expect(readMany(redis, [['llen', keys[0]!], ...reads])).rejects.toThrow(/^WRONGTYPE/);
  });
});
