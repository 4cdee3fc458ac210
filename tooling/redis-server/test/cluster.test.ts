import { existsSync } from 'node:fs';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { disconnect } from './disconnect.js';
import { Cluster } from 'ioredis';
import { until } from '@mortise/server-process';

import { keySlot, startCluster, type RedisCluster } from '../src/index.js';

describe('RedisCluster', () => {
  let cluster: RedisCluster;
  let client: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
    client = new Cluster(cluster.startupNodes, { clusterRetryStrategy: () => 20 });
    client.on('error', () => {});
  });
  afterAll(async () => {
    disconnect(client);
    await cluster.stop();
  });

  it('is complete when it has started: all nodes ok, three masters with one linked replica each', async () => {
    const infos = await Promise.all(cluster.nodes.map((node) => node.command('CLUSTER', 'INFO')));
    const replications = await Promise.all(cluster.nodes.map((node) => node.command('INFO', 'replication')));

    expect(infos).toEqual(
      Array(6).fill(expect.stringMatching(/cluster_state:ok[^]*cluster_known_nodes:6\r[^]*cluster_size:3\r/)),
    );
    expect(replications.slice(0, 3)).toEqual(
      Array(3).fill(expect.stringMatching(/role:master\r\nconnected_slaves:1\r/)),
    );
    expect(replications.slice(3)).toEqual(
      Array(3).fill(expect.stringMatching(/role:slave[^]*master_link_status:up/)),
    );
    expect(cluster.startupNodes).toEqual(cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })));
    expect(
      await Promise.all(Array.from({ length: 50 }, (_, index) => client.set(`key:${index}`, 'x'))),
    ).toEqual(Array(50).fill('OK'));
  });

  it('with a password: replicates, fails over and moves slots as well', async () => {
    const password = 'p@ss';
    const servers = await startCluster({ password });
    const own = new Cluster(servers.startupNodes, { redisOptions: { password } });
    own.on('error', () => {});
    try {
      await own.set('{moved}:key', 'value');
      await servers.replicated();
      const from = await servers.ownerOf('{moved}');
      const promoted = await servers.failover(from);
      await servers.moveSlot(
        keySlot('{moved}'),
        servers.nodes.slice(0, 3).find((node) => node !== from)!,
      );
      expect(await servers.ownerOf('{moved}')).not.toBe(promoted);
      expect(await own.get('{moved}:key')).toBe('value');
    } finally {
      disconnect(own);
      await servers.stop();
    }
  });

  describe('ownerOf', () => {
    it('names the node that serves a slot, or a key', async () => {
      const owner = await cluster.ownerOf('foo');

      expect(await owner.command('SET', 'foo', '1')).toBe('OK');
      expect(await cluster.ownerOf(keySlot('foo'))).toBe(owner);
      expect(await cluster.ownerOf(0)).toBe(cluster.nodes[0]);
      expect(await cluster.ownerOf(16_383)).toBe(cluster.nodes[2]);
      await expect(cluster.ownerOf(16_384)).rejects.toThrow('slot 16384 has no owner');
    });
  });

  describe('moveSlot', () => {
    it('moves the keys of a slot while a client reads them', async () => {
      const keys = Array.from({ length: 1000 }, (_, index) => `{moved}:${index}`);
      await Promise.all(keys.map((key) => client.set(key, `value of ${key}`)));
      const slot = keySlot('{moved}');
      const from = await cluster.ownerOf(slot);
      const to = cluster.nodes.slice(0, 3).find((node) => node !== from)!;
      const move = new AbortController();
      let reads = 0;
      const wrong: unknown[] = [];
      const reader = (async () => {
        for (let index = 0; !move.signal.aborted; index += 1) {
          const key = keys[index % keys.length]!;
          const value = await client.get(key);
          if (value !== `value of ${key}`) wrong.push([key, value]);
          reads += 1;
        }
      })();

      await cluster.moveSlot(slot, to);
      move.abort();
      await reader;

      expect(wrong).toEqual([]);
      expect(reads).toBeGreaterThan(0);
      expect(await cluster.ownerOf(slot)).toBe(to);
      expect(await to.command('CLUSTER', 'COUNTKEYSINSLOT', String(slot))).toBe(keys.length);
      expect(await from.command('CLUSTER', 'COUNTKEYSINSLOT', String(slot))).toBe(0);
      await expect(from.command('GET', keys[0]!)).rejects.toThrow(`MOVED ${slot} 127.0.0.1:${to.port}`);
    });

    it('moves keys that are no text', async () => {
      const from = await cluster.ownerOf('{binary}');
      const to = cluster.nodes.slice(0, 3).find((node) => node !== from)!;
      const key = Buffer.from([...Buffer.from('{binary}'), 0x00, 0xff, 0xc3, 0x28, 0x0d, 0x0a]);
      await client.set(key, 'x');

      await cluster.moveSlot(keySlot('{binary}'), to);

      expect(await client.get(key)).toBe('x');
    });

    it('refuses a replica as the target', async () => {
      await expect(cluster.moveSlot(0, cluster.nodes[3]!)).rejects.toThrow('is a replica');
    });
  });

  describe('failover', () => {
    it('makes a replica the master, with its data, and the old master its replica', async () => {
      const before = await cluster.ownerOf('kept');
      await client.set('kept', '1');
      const [replica] = await cluster.replicasOf(before);

      const after = await cluster.failover(before);

      expect(after).toBe(replica);
      expect(await cluster.ownerOf('kept')).toBe(after);
      expect(await cluster.replicasOf(after)).toEqual([before]);
      expect(await client.get('kept')).toBe('1');
      expect(await before.command('INFO', 'replication')).toMatch(/role:slave[^]*master_link_status:up/);
    });

    it('replaces a master that was killed, and takes it back as a replica when it is restarted', async () => {
      const before = await cluster.ownerOf('kept');
      await before.kill();

      const after = await cluster.failover(before);
      expect(after).not.toBe(before);
      expect(await after.command('SET', 'kept', '2')).toBe('OK');
      await before.restart();

      const isLinked = async (): Promise<boolean> =>
        /role:slave[^]*master_link_status:up/.test(String(await before.command('INFO', 'replication')));
      await until(isLinked, { what: 'the old master to be linked' });
      expect(await cluster.replicasOf(after)).toEqual([before]);
    });

    it('refuses when nothing can take the place', async () => {
      const replica = (await cluster.replicasOf(await cluster.ownerOf(0)))[0]!;

      await expect(cluster.failover(replica)).rejects.toThrow('has no replica that could take its place');
    });
  });

  describe('stop', () => {
    it('ends all nodes and removes their directories', async () => {
      const small = await startCluster({ masters: 2, replicasPerMaster: 0, nodeTimeoutMs: 1000 });
      expect(await small.nodes[1]!.command('CONFIG', 'GET', 'cluster-node-timeout')).toEqual([
        'cluster-node-timeout',
        '1000',
      ]);
      small.nodes[1]!.pause();

      await small.stop();
      await small.stop();

      expect(small.nodes.map((node) => [node.isRunning, existsSync(node.directory)])).toEqual(
        Array.from({ length: 2 }, () => [false, false]),
      );
    });
  });
});
