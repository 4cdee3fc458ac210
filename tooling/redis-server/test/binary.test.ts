import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findOnPath, run } from '@mortise/server-process';

import { findRedisServer } from '../src/index.js';

/** The body of a script that answers `--version`. */
function printsVersion(version: string, name = 'Redis'): string {
  return `echo "${name} server v=${version} sha=00000000:0 malloc=libc bits=64 build=0"`;
}

describe('findRedisServer', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'mortise-test-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  /** Writes a shell script into a directory for PATH, and returns its path. */
  const script = async (name: string, body: string): Promise<string> => {
    const path = join(directory, 'bin', name);
    await mkdir(join(directory, 'bin'), { recursive: true });
    await writeFile(path, `#!/bin/sh\nPATH=/usr/bin:/bin\n${body}\n`);
    await chmod(path, 0o755);
    return path;
  };
  const env = (more: Record<string, string> = {}): Record<string, string> => ({
    PATH: join(directory, 'bin'),
    ...more,
  });
  const cacheDirectory = (): string => join(directory, 'cache', 'redis');
  /** Programs that act like apt's, for a package whose server prints the given version. */
  const fakeApt = async (version: string): Promise<void> => {
    await script('apt-get', 'for a; do [ "$a" = download ] && touch redis-server_1.deb; done; exit 0');
    await script('apt-cache', 'echo redis-server; echo "  Depends: libc6"');
    const server = `#!/bin/sh\\n${printsVersion(version)}\\n`;
    await script(
      'dpkg-deb',
      `mkdir -p "$3/usr/bin"; printf '${server}' > "$3/usr/bin/redis-server"; chmod 755 "$3/usr/bin/redis-server"`,
    );
    await script('dpkg-query', 'echo "libc6 installed"');
  };

  it('finds a server that runs on this machine, and remembers it', async () => {
    const binary = await findRedisServer();

    expect(await run(binary.path, ['--version'], { env: binary.env })).toContain(`v=${binary.version} `);
    expect(await findRedisServer()).toBe(binary);
  });

  it('takes what REDIS_SERVER_BIN names before what is on PATH', async () => {
    await script('redis-server', printsVersion('7.2.0'));
    const path = await script('my-redis', printsVersion('8.0.1'));

    const binary = await findRedisServer({ env: env({ REDIS_SERVER_BIN: path }) });

    expect(binary).toEqual({ path, env: {}, version: '8.0.1', kind: 'redis' });
  });

  it.each([
    ['is too old', '6.2.14', /my-redis is version 6\.2\.14, older than 7\.0/],
    ['is another program', undefined, /isn't a redis-server: it printed "hello"/],
  ])('refuses a REDIS_SERVER_BIN that %s, even if another server is on PATH', async (_, version, message) => {
    await script('redis-server', printsVersion('7.2.0'));
    const path = await script('my-redis', version === undefined ? 'echo hello' : printsVersion(version));

    const search = findRedisServer({ env: env({ REDIS_SERVER_BIN: path }) });

    await expect(search).rejects.toMatchObject({
      code: 'ERR_REDIS_NOT_FOUND',
      message: expect.stringMatching(message),
    });
  });

  it('passes over a redis-server on PATH that is too old, says so, and takes the valkey-server beside it', async () => {
    await script('redis-server', printsVersion('6.0.16'));
    const path = await script('valkey-server', printsVersion('8.1.0', 'Valkey'));
    const progress: string[] = [];

    const binary = await findRedisServer({ env: env(), onProgress: (message) => progress.push(message) });

    expect(binary).toEqual({ path, env: {}, version: '8.1.0', kind: 'valkey' });
    expect(progress).toEqual([expect.stringContaining('redis-server is version 6.0.16, older than 7.0')]);
  });

  it('says what to do when there is no server and no way to get one', async () => {
    await script('redis-server', printsVersion('5.0.3'));

    const search = findRedisServer({ env: env(), cacheDirectory: cacheDirectory() });

    await expect(search).rejects.toMatchObject({ name: 'RedisNotFoundError', code: 'ERR_REDIS_NOT_FOUND' });
    for (const hint of [
      'brew install redis',
      'dnf install redis',
      'apk add redis',
      'REDIS_SERVER_BIN',
      'REDIS_URL',
      '5.0.3',
    ]) {
      await expect(search).rejects.toThrow(hint);
    }
  });

  it('installs with brew where brew is, and takes what is on PATH then', async () => {
    await script(
      'brew',
      `[ "$*" = "install redis" ] && mv "${join(directory, 'redis-server')}" "${join(directory, 'bin')}"`,
    );
    await script('redis-server', printsVersion('8.2.0'));
    await run('/bin/mv', [join(directory, 'bin', 'redis-server'), directory], { env: {} });
    const progress: string[] = [];

    const binary = await findRedisServer({
      env: env(),
      cacheDirectory: cacheDirectory(),
      onProgress: (message) => progress.push(message),
    });

    expect(binary).toMatchObject({ path: join(directory, 'bin', 'redis-server'), version: '8.2.0' });
    expect(progress).toEqual(['brew install redis']);
  });

  it("unpacks the system's package once, even when two processes begin at the same time", async () => {
    await fakeApt('7.0.15');
    const options = { env: env(), cacheDirectory: cacheDirectory() };

    const found = await Promise.all([findRedisServer(options), findRedisServer(options)]);

    const expected = { path: join(cacheDirectory(), 'usr/bin/redis-server'), version: '7.0.15' };
    expect(found).toEqual([expect.objectContaining(expected), expect.objectContaining(expected)]);
    expect(await readdir(join(directory, 'cache'))).toEqual(['redis']);
  });

  it('replaces an unpacked server that no longer runs', async () => {
    await fakeApt('7.0.15');
    await mkdir(join(cacheDirectory(), 'usr/bin'), { recursive: true });
    await writeFile(join(cacheDirectory(), 'usr/bin/redis-server'), 'of another system', { mode: 0o755 });

    const binary = await findRedisServer({ env: env(), cacheDirectory: cacheDirectory() });

    expect(binary.version).toBe('7.0.15');
    expect(await readdir(join(directory, 'cache'))).toEqual(['redis']);
  });

  it("leaves nothing behind when the system's package is too old", async () => {
    await fakeApt('6.0.16');

    const search = findRedisServer({ env: env(), cacheDirectory: cacheDirectory() });

    await expect(search).rejects.toThrow('version 6.0.16, older than 7.0');
    expect(await readdir(join(directory, 'cache'))).toEqual([]);
  });

  it('unpacks the real package of a system with apt, or, without network, nothing at all', async () => {
    for (const name of ['apt-get', 'apt-cache', 'dpkg-deb', 'dpkg-query']) {
      const path = await findOnPath(name, process.env);
      if (path !== undefined) await script(name, `exec ${path} "$@"`);
    }

    const outcome = await findRedisServer({ env: env(), cacheDirectory: cacheDirectory() }).then(
      ({ path }) => path,
      (error: Error) => error.name,
    );

    const left = await readdir(join(directory, 'cache')).catch(() => []);
    expect([
      [join(cacheDirectory(), 'usr/bin/redis-server'), 'redis'],
      ['RedisNotFoundError'],
    ]).toContainEqual([outcome, ...left]);
  });
});
