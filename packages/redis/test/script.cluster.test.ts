import { randomUUID } from 'node:crypto';
import { describe, expect, jest, test } from '@jest/globals';
import type { Cluster } from 'ioredis';
import { runCluster, until } from '@mortise/test-kit';
import { Coalescer, KeySpace, keySlot } from '../src/index.js';
import { MAJORS, connectCluster } from './fixture/clients.js';
import { count, echo, swap } from './fixture/scripts.js';

const { servers: cluster } = await runCluster();

const targets = (amount: number): string[] =>
  Array.from({ length: amount }, () => new KeySpace('test').entity(randomUUID()).key('target'));

describe.each(MAJORS)('Cluster, ioredis %s', (major) => {
  const connect = (options: object = {}): Cluster => connectCluster(major, cluster.nodes, options);

  test.each([
    ['plain', {}],
    ['with automatic pipelining', { enableAutoPipelining: true }],
    ['with reads from replicas', { scaleReads: 'slave' }],
    ['with all of it', { enableAutoPipelining: true, scaleReads: 'slave', lazyConnect: true }],
  ])('a script finds the node of its keys, and is made known to each: %s', async (_, options) => {
    const redis = connect(options);
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
    const redis = connect();
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
    await connect().rpush(`${target}:gate`, 'open');
    await opened;
    expect(await Promise.all(ofEntity)).toEqual([[null], ['a'], ['b']]);
  });

  test.each([
    ['plain', {}],
    ['with automatic pipelining', { enableAutoPipelining: true }],
  ])('a slot that moves between two calls is followed: %s', async (_, options) => {
    const redis = connect(options);
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
    await expect(echo.run(connect(), keys, { third: 1, fourth: 2, moreArgs: [] })).rejects.toThrow(
      /CROSSSLOT|same slot/,
    );
  });

  test('a coalescer whose group is the entity sends each script to one slot', async () => {
    const redis = connect();
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
