import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, describe, expect, it } from '@jest/globals';
import { disconnect } from './disconnect.js';
import { Cluster, Redis } from 'ioredis';
import { until } from '@mortise/server-process';

import { findRedisServer, startSingle, type SingleOptions } from '../src/index.js';
import { RedisServer } from '../src/server.js';
import { isGone } from './processes.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function start(options?: SingleOptions): Promise<RedisServer> {
  const server = await startSingle(options);
  cleanups.push(() => server.stop());
  return server;
}

async function ownDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'mortise-test-'));
  cleanups.push(() => rm(directory, { recursive: true }));
  return directory;
}

describe('startSingle', () => {
  it('starts a server for loopback only, with a directory of its own and without persistence', async () => {
    const server = await start();

    expect(server).toMatchObject({
      host: '127.0.0.1',
      isRunning: true,
      url: `redis://127.0.0.1:${server.port}`,
    });
    expect(await server.command('CONFIG', 'GET', 'dir')).toEqual(['dir', server.directory]);
    expect(await server.command('CONFIG', 'GET', 'bind')).toEqual(['bind', '127.0.0.1']);
    expect(await server.command('CONFIG', 'GET', 'appendonly')).toEqual(['appendonly', 'no']);
    expect(await server.command('CONFIG', 'GET', 'save')).toEqual(['save', '']);
    expect(await server.command('DEBUG', 'SLEEP', '0')).toBe('OK');
  });

  it('starts a server with a password, which clients need, also after a restart', async () => {
    const server = await start({ password: 'p@ss', appendFsync: 'always' });
    const client = new Redis(server.url);
    cleanups.push(() => disconnect(client));
    expect(await client.set('key', 'value')).toBe('OK');
    await server.kill();
    await server.restart();
    expect(await server.command('GET', 'key')).toBe('value');
    const stranger = new Redis(server.port, { lazyConnect: true });
    cleanups.push(() => disconnect(stranger));
    stranger.on('error', () => {});
    await expect(stranger.get('key')).rejects.toThrow('NOAUTH');
  });

  it('starts a cluster of one node, whose slot rules hold, for clients of clusters', async () => {
    const server = await start({ isCluster: true });
    const client = new Cluster([{ host: server.host, port: server.port }]);
    cleanups.push(() => disconnect(client));

    expect(await client.set('a', '1')).toBe('OK');
    expect(await server.command('CLUSTER', 'INFO')).toMatch(
      /^cluster_state:ok\r\ncluster_slots_assigned:16384\r/,
    );
    expect(await server.command('CLUSTER', 'NODES')).toMatch(/^\S+ \S+ myself,master .* 0-16383\n$/);
    await expect(server.command('MSET', 'a', '1', 'b', '2')).rejects.toThrow('CROSSSLOT');
  });

  it('takes a port, a limit of memory and further arguments', async () => {
    const { port } = await start().then(async (first) => first.stop().then(() => first));
    const server = await start({ port, maxMemoryBytes: 32 << 20, args: ['--notify-keyspace-events', 'KEA'] });

    expect(server.port).toBe(port);
    expect(await server.command('CONFIG', 'GET', 'maxmemory')).toEqual(['maxmemory', String(32 << 20)]);
    expect(await server.command('CONFIG', 'GET', 'notify-keyspace-events')).toEqual([
      'notify-keyspace-events',
      'AKE',
    ]);
  });

  it('gives each of many servers that start at once its own port', async () => {
    const servers = await Promise.all(Array.from({ length: 4 }, () => start({ isCluster: true })));

    expect(new Set(servers.map(({ port }) => port)).size).toBe(4);
    expect(servers.every(({ port }) => port + 10_000 < 65_535)).toBe(true);
  });

  it("fails with the server's words when it can't start", async () => {
    const other = createServer((socket) => socket.destroy());
    await once(other.listen(0, '127.0.0.1'), 'listening');
    cleanups.push(() => other.close());
    const { port } = other.address() as AddressInfo;

    await expect(startSingle({ port })).rejects.toMatchObject({
      code: 'ERR_START_FAILED',
      isPortTaken: true,
    });
    await expect(startSingle({ args: ['--no-such-option', '1'] })).rejects.toThrow('no-such-option');
  });

  it('keeps a directory that it is given, and refuses it while a server runs there', async () => {
    const directory = await ownDirectory();
    const server = await start({ directory, appendFsync: 'everysec' });
    await server.command('SET', 'a', '1');

    await expect(startSingle({ directory })).rejects.toThrow(
      `${directory} is in use by the server on port ${server.port}`,
    );
    await server.stop();
    const next = await start({ directory, appendFsync: 'everysec' });

    expect(await next.command('GET', 'a')).toBe('1');
    expect(await readFile(join(directory, 'redis.log'), 'utf8')).toContain('Ready to accept connections');
  });
});

describe('RedisServer', () => {
  describe('launch', () => {
    it('goes to another port when its port was taken before the server could listen', async () => {
      const thief = createServer((socket) => socket.destroy());
      cleanups.push(() => thief.close());
      const ports: number[] = [];
      const prepare = async ({ port }: { port: number }): Promise<string[]> => {
        ports.push(port);
        if (ports.length === 1) await once(thief.listen(port, '127.0.0.1'), 'listening');
        return [];
      };

      const server = await RedisServer.launch({ binary: await findRedisServer(), args: [], prepare });
      cleanups.push(() => server.stop());

      expect(ports).toEqual([expect.any(Number), server.port]);
      expect(await server.command('PING')).toBe('PONG');
    });
  });

  describe('command', () => {
    it('returns replies of every type, and throws error replies', async () => {
      const server = await start();

      expect(await server.command('SET', 'ключ', 'значение\r\n')).toBe('OK');
      expect(await server.command('GET', 'ключ')).toBe('значение\r\n');
      expect(await server.command('GET', 'none')).toBeNull();
      expect(await server.command('INCRBY', 'n', '-5')).toBe(-5);
      expect(await server.command('EVAL', "return {1, 'a', {false, {}}}", '0')).toEqual([1, 'a', [null, []]]);
      expect(await server.command('EVAL', "return string.rep('x', 1000000)", '0')).toHaveLength(1_000_000);
      await expect(server.command('INCR', 'ключ')).rejects.toMatchObject({
        code: 'ERR_REPLY',
        message: 'ERR value is not an integer or out of range',
      });
    });

    it('fails at once when the server is down', async () => {
      const server = await start();
      await server.kill();

      await expect(server.command('PING')).rejects.toThrow(
        `PING to 127.0.0.1:${server.port}: connect ECONNREFUSED`,
      );
    });
  });

  describe('stop', () => {
    it('ends the process and removes the temporary directory; again, it does nothing', async () => {
      const server = await start();

      await Promise.all([server.stop(), server.stop()]);
      await server.stop();

      expect(server.isRunning).toBe(false);
      expect(isGone(server.pid)).toBe(true);
      expect(existsSync(server.directory)).toBe(false);
    });

    it('works on a server that was killed, and on one that is paused', async () => {
      const [killed, paused] = await Promise.all([start(), start()]);
      await killed.kill();
      paused.pause();

      await Promise.all([killed.stop(), paused.stop()]);

      expect([existsSync(killed.directory), existsSync(paused.directory), isGone(paused.pid)]).toEqual([
        false,
        false,
        true,
      ]);
    });

    it('kills a server that is too busy to answer', async () => {
      const server = await start({ args: ['--busy-reply-threshold', '50'] });
      const busy = server.command('EVAL', 'while true do end', '0').catch((error: Error) => error.message);
      await until(
        () =>
          server.command('PING').then(
            () => false,
            () => true,
          ),
        { what: 'the script to run' },
      );

      await server.stop();

      expect(isGone(server.pid)).toBe(true);
      expect(await busy).toMatch(/closed|ECONNRESET/);
    });
  });

  describe.each([{ isCluster: false }, { isCluster: true }])(
    'kill and restart, isCluster: $isCluster',
    ({ isCluster }) => {
      it('keep port, directory and what the append-only file has', async () => {
        const server = await start({ isCluster, appendFsync: 'always' });
        const { port, pid, directory } = server;
        await server.command('SET', 'a', '1');

        await server.kill();
        expect([server.isRunning, isGone(pid)]).toEqual([false, true]);
        await server.restart();

        expect(server).toMatchObject({ port, directory, isRunning: true });
        expect(server.pid).not.toBe(pid);
        expect(await server.command('GET', 'a')).toBe('1');
        expect(await server.command('SET', 'a', '2')).toBe('OK');
      });
    },
  );

  describe('restart', () => {
    it('ends a server that runs first, and begins without data after a stop', async () => {
      const server = await start({ appendFsync: 'everysec' });
      await server.command('SET', 'a', '1');

      await server.restart();
      const afterRestart = await server.command('GET', 'a');
      await server.stop();
      await server.restart();

      expect(afterRestart).toBe('1');
      expect(await server.command('DBSIZE')).toBe(0);
      expect(existsSync(server.directory)).toBe(true);
    });
  });

  describe('pause and resume', () => {
    it('let what was sent meanwhile wait, and be answered', async () => {
      const server = await start();
      const client = new Redis(server.url);
      cleanups.push(() => disconnect(client));
      await client.set('n', '0');

      server.pause();
      let isAnswered = false;
      const reply = client.incr('n').finally(() => {
        isAnswered = true;
      });
      const probe = new Redis(server.url, {
        commandTimeout: 100,
        retryStrategy: null,
        enableReadyCheck: false,
      });
      probe.on('error', () => {});
      cleanups.push(() => disconnect(probe));
      await expect(probe.ping()).rejects.toThrow('Command timed out');
      expect([isAnswered, server.isRunning, server.isAnswering]).toEqual([false, true, false]);

      server.resume();

      expect(await reply).toBe(1);
      expect(server.isAnswering).toBe(true);
    });
  });
});
