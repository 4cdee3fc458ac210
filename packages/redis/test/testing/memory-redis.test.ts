import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import timers, { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { findRedisServer } from '@mortise/redis-server';
import { Redis } from 'ioredis';
import { callAfter, callRedis, ClientClosedError, readMany, WaiterHub } from '../../src/index.js';
import { createTestRedis, MemoryRedis, TestServerError } from '../../src/testing/index.js';
import { echo, swap } from '../fixture/scripts.js';

let memory: MemoryRedis | undefined;

function opened(startAt?: number): MemoryRedis {
  memory = new MemoryRedis({ startAt });
  return memory;
}

afterEach(async () => {
  await memory?.close();
});

describe('the client', () => {
  test('runs scripts, reads many, and gives text or bytes', async () => {
    const redis = opened();
    const bytes = Buffer.from([0, 255, 128]);
    expect(await swap.run(redis, { target: 'h' }, { value: 'é', fields: ['a', 'b'] })).toEqual([null, null]);
    expect(await redis.call('hgetall', 'h')).toEqual({ a: 'é', b: 'é' });
    await redis.call('set', 'bytes', bytes);
    expect(await redis.callBuffer('get', 'bytes')).toEqual(bytes);
    expect(
      await readMany(redis, [
        ['hget', 'h', 'a'],
        ['exists', 'h'],
        ['get', 'none'],
      ]),
    ).toEqual(['é', 1, null]);
    const reply = await echo.run(
      redis,
      { first: 'x', second: 'y', moreKeys: [] },
      { third: 1, fourth: 2, moreArgs: [] },
    );
    expect(reply).toEqual(expect.arrayContaining(['x', 'y']));
  });

  test('delivers messages to waiters', async () => {
    const redis = opened();
    const waiter = await WaiterHub.of(redis).waiter('channel', 'me');
    expect(await redis.duplicate().call('publish', 'channel', 'me:hello')).toBe(1);
    expect(await waiter.next()).toEqual({ type: 'message', body: Buffer.from('hello') });
    waiter.close();
  });

  test('rejects what it cannot do, and everything after its end', async () => {
    const redis = opened();
    await expect(redis.call('geoadd', 'k', '1', '1', 'a')).rejects.toMatchObject({
      name: 'ReplyError',
      message: "ERR 'geoadd' is not emulated by the in-memory Redis of Mortise",
    });
    redis.disconnect();
    await expect(callRedis(redis, 'ping', [])).rejects.toBeInstanceOf(ClientClosedError);
  });

  test('shares its keys with clients of other libraries', async () => {
    const redis = new MemoryRedis({ clock: 'system' });
    const other = new Redis(await redis.listen());
    await other.set('a', '1');
    expect(await other.multi().incr('a').get('a').exec()).toEqual([
      [null, 2],
      [null, '2'],
    ]);
    expect(await redis.call('get', 'a')).toBe('2');
    await other.quit();
    await redis.close();
  });

  test('a client that has quit listens to nothing, even before it closes its end', async () => {
    const redis = opened();
    const { port } = new URL(await redis.listen());
    const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
    socket.write('SUBSCRIBE news\r\nQUIT\r\n');
    await once(socket.resume(), 'end');
    expect(await redis.call('publish', 'news', 'x')).toBe(0);
    socket.destroy();
    await redis.close();
  });
});

describe('the clock', () => {
  test('moves keys, timers, dates and the time of the server together', async () => {
    const redis = opened(Date.UTC(2030, 0, 1));
    const { clock } = redis;
    const fired: string[] = [];
    setTimeout(() => fired.push('2 s'), 2_000);
    callAfter(1_000, () => fired.push('1 s'));
    void pause(1_500).then(() => fired.push('pause'));
    const every = setInterval(() => fired.push('every'), 900);
    await redis.call('set', 'k', 'v', 'PX', 2_000);
    await clock.advance('1s');
    expect(fired).toEqual(['every', '1 s']);
    expect(await redis.call('pttl', 'k')).toBe(1_000);
    await clock.advance(1_000);
    clearInterval(every);
    expect(fired.filter((each) => each !== 'pause')).toEqual(['every', '1 s', 'every', '2 s']);
    expect(new Date().toISOString()).toBe('2030-01-01T00:00:02.000Z');
    expect((await redis.call('time'))?.toString()).toMatch(/^1893456002,/);
    // Redis expires it after this ms, too.
    expect(await redis.call('exists', 'k')).toBe(1);
    await clock.advance(1);
    expect(await redis.call('exists', 'k')).toBe(0);
  });

  test('runs what a timer starts to its end before the next timer', async () => {
    const redis = opened();
    const seen: string[] = [];
    const step = async (name: string): Promise<void> => {
      for (let n = 0; n < 5; n += 1) await redis.call('incr', name);
      seen.push(`${name} at ${Date.now() - start}`);
    };
    const start = Date.now();
    setTimeout(() => void step('a'), 100);
    setTimeout(() => void step('b'), 101);
    await redis.clock.advance('1h 30m');
    expect(seen).toEqual(['a at 100', 'b at 101']);
    expect(Date.now() - start).toBe(5_400_000);
  });

  test.each(['', '5', '5 s', '1w', -1, Number.NaN, Infinity])('refuses the duration %p', async (duration) => {
    await expect(opened().clock.advance(duration)).rejects.toThrow(TypeError);
  });

  test('is one at a time, and puts the time of Node back', async () => {
    const { setTimeout: before } = globalThis;
    const redis = opened(0);
    expect(globalThis.setTimeout).not.toBe(before);
    expect(() => new MemoryRedis()).toThrow(/installed already/);
    await redis.close();
    expect(globalThis.setTimeout).toBe(before);
    expect(Date.now()).toBeGreaterThan(Date.UTC(2026, 0));
    expect(new MemoryRedis({ clock: 'system' })).toBeInstanceOf(MemoryRedis);
  });

  test('moves the promises of timers, by the default import also in ES modules that jest loads', async () => {
    const redis = opened();
    const seen: unknown[] = [];
    void timers.setTimeout(60_000, 'a').then((value) => seen.push(value));
    await redis.clock.advance('59s');
    expect(seen).toEqual([]);
    await redis.clock.advance('1s');
    expect(seen).toEqual(['a']);
  });

  test('tells a timer that sets itself again at once', async () => {
    const redis = opened();
    const again = (): void => void setTimeout(again, 0);
    again();
    await expect(redis.clock.settle()).rejects.toThrow(/sets itself again/);
  });
});

describe('createTestRedis', () => {
  const refused = async (url: string): Promise<void> => {
    const redis = new Redis(url, { retryStrategy: () => null, lazyConnect: true });
    redis.on('error', () => undefined);
    await expect(redis.connect()).rejects.toThrow(/closed/);
  };
  /** A PATH with a Valkey alone, as it were. */
  let directory: string;
  let binary: string;

  beforeAll(async () => {
    const { path, env } = await findRedisServer();
    directory = await mkdtemp(join(tmpdir(), 'mortise-path-'));
    binary = join(directory, 'valkey-server');
    const variables = Object.entries(env).map(([name, value]) => `export ${name}='${value}'\n`);
    await writeFile(binary, `#!/bin/sh\n${variables.join('')}exec '${path}' "$@"\n`, { mode: 0o755 });
  });

  afterAll(() => rm(directory, { recursive: true }));

  test('finds a server in the PATH, which ends with the process', async () => {
    const program =
      "import { createTestRedis } from '@mortise/redis/testing';" +
      'const server = await createTestRedis(); console.log(server.url);';
    const cwd = join(import.meta.dirname, '../..');
    const argv = ['--input-type=module', '--eval', program];
    const { stdout } = await promisify(execFile)(process.execPath, argv, { cwd, env: { PATH: directory } });
    expect(stdout).toMatch(/^redis:\/\/127\.0\.0\.1:\d+\n$/);
    await refused(stdout.trim());
  });

  test('starts a server with arguments, which ends with `stop`', async () => {
    const server = await createTestRedis({ binary, args: ['--databases', '3'] });
    expect(server.url).toBe(`redis://127.0.0.1:${server.port}`);
    const redis = new Redis(server.url, { retryStrategy: () => null });
    redis.on('error', () => undefined);
    expect(await redis.set('a', '1')).toBe('OK');
    expect(await redis.config('GET', 'databases')).toEqual(['databases', '3']);
    const [, kept] = (await redis.config('GET', 'dir')) as [string, string];
    expect(existsSync(kept)).toBe(true);
    const ended = once(redis, 'end');
    await Promise.all([server.stop(), server.stop()]);
    await ended;
    expect(existsSync(kept)).toBe(false);
    await refused(server.url);
  });

  test('starts several, which share nothing, and works under a virtual clock', async () => {
    opened();
    await using one = await createTestRedis({ binary });
    await using other = await createTestRedis({ binary });
    expect(one.port).not.toBe(other.port);
    const [first, second] = [one, other].map(({ url }) => new Redis(url));
    await first!.set('a', '1');
    expect(await second!.get('a')).toBeNull();
    first!.disconnect();
    second!.disconnect();
  });

  test('tells the last lines of a server that ends at once', async () => {
    await expect(createTestRedis({ binary, args: ['--no-such-option', 'x'] })).rejects.toMatchObject({
      code: 'ERR_TEST_SERVER',
      message: expect.stringMatching(/ended with 1\. Its last lines: .*no-such-option/s),
    });
  });

  test('tells which programs it looked for', async () => {
    const started = createTestRedis({ binary: '/nowhere/redis-server' });
    await expect(started).rejects.toBeInstanceOf(TestServerError);
    await expect(started).rejects.toMatchObject({ code: 'ERR_TEST_SERVER' });
  });
});
