import { existsSync } from 'node:fs';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { disconnect } from './disconnect.js';
import { Redis } from 'ioredis';

import { startSentinel, type RedisSentinel } from '../src/index.js';

describe('RedisSentinel', () => {
  let sentinel: RedisSentinel;
  let client: Redis;
  beforeAll(async () => {
    sentinel = await startSentinel();
    const { name, sentinels } = sentinel;
    client = new Redis({ name, sentinels, sentinelRetryStrategy: () => 20, retryStrategy: () => 20 });
    client.on('error', () => {});
  });
  afterAll(async () => {
    disconnect(client);
    await sentinel.stop();
  });

  it('is complete when it has started: every sentinel sees the master, two replicas and two other sentinels', async () => {
    const seen = await Promise.all(
      sentinel.sentinelServers.map(async (server) => [
        await server.command('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', sentinel.name),
        [await server.command('SENTINEL', 'REPLICAS', sentinel.name)].flat().length,
        [await server.command('SENTINEL', 'SENTINELS', sentinel.name)].flat().length,
        await server.command('SENTINEL', 'CKQUORUM', sentinel.name),
      ]),
    );

    const address = ['127.0.0.1', String(sentinel.servers[0]!.port)];
    expect(seen).toEqual(
      Array.from({ length: 3 }, () => [address, 2, 2, expect.stringContaining('OK 3 usable Sentinels')]),
    );
    expect(await sentinel.master()).toBe(sentinel.servers[0]);
  });

  describe('failover', () => {
    it('makes a replica the master with all that was written, and its clients follow', async () => {
      const before = await sentinel.master();
      await client.set('kept', '1');

      await sentinel.failover();

      const after = await sentinel.master();
      expect(after).not.toBe(before);
      expect(await after.command('GET', 'kept')).toBe('1');
      expect(await client.set('kept', '2')).toBe('OK');
      expect(await before.command('INFO', 'replication')).toMatch(
        new RegExp(`role:slave\r\n[^]*master_port:${after.port}\r`),
      );
    });

    it('replaces a master that was killed', async () => {
      const before = await sentinel.master();
      await before.kill();

      await sentinel.failover();

      expect(await sentinel.master()).not.toBe(before);
      expect(await client.set('kept', '3')).toBe('OK');
    });
  });

  describe('stop', () => {
    it('ends all processes and removes their directories', async () => {
      disconnect(client); // without sentinels to ask, it would go on asking
      await sentinel.stop();
      await sentinel.stop();

      const all = [...sentinel.servers, ...sentinel.sentinelServers];
      expect(all.map((server) => [server.isRunning, existsSync(server.directory)])).toEqual(
        Array.from({ length: 6 }, () => [false, false]),
      );
    });
  });
});
