/**
 * Where a log is that was renamed, when the file system changes meanwhile, or does not answer for some of it. Faults are put before the calls of the real one:
 * tests run as a user who may read everything, on a disk that works.
 */
import { renameSync } from 'node:fs';
import * as real from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { connect } from '@mortise/test-kit';

const faults = {
  /** Codes by the names of what is looked at, listed or read. */
  codes: new Map<string, string>(),
  afterList: (): void => undefined,
};

function check(path: unknown, syscall: string): void {
  const code = faults.codes.get(`${syscall} ${basename(String(path))}`);
  if (code !== undefined) throw Object.assign(new Error(`${code}: ${syscall}`), { code, syscall });
}

jest.unstable_mockModule('node:fs/promises', () => ({
  ...real,
  stat: async (...args: Parameters<typeof real.stat>) => {
    check(args[0], 'stat');
    return real.stat(...args);
  },
  readdir: async (...args: Parameters<typeof real.readdir>) => {
    check(args[0], 'scandir');
    const found = await real.readdir(...args);
    faults.afterList();
    return found;
  },
  open: async (...args: Parameters<typeof real.open>) => {
    const handle = await real.open(...args);
    return new Proxy(handle, {
      get: (target, name) => {
        if (name === 'read') check(args[0], 'read');
        const value = Reflect.get(target, name) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  },
}));

const { findRenamed, identityAt } = await import('../src/files/renamed-paths.js');
const { Channel, freshDirectory, readAll } = await import('./files-fixture.js');

const redis = connect();
const [root, removeRoot] = freshDirectory();
afterAll(removeRoot);

let directory: string;
let log: string;

beforeEach(async () => {
  directory = join(root, String(performance.now()));
  await real.mkdir(join(directory, 'below'), { recursive: true });
  log = join(directory, 'access.log');
  await real.writeFile(log, '1\n');
  faults.codes.clear();
  faults.afterList = () => undefined;
});

describe('findRenamed', () => {
  let identity: string;

  beforeEach(async () => {
    identity = (await identityAt(log))!;
    await real.rename(log, `${log}.1`);
    await real.writeFile(log, '2\n');
  });

  test('finds what is renamed again while it looks', async () => {
    faults.afterList = () => {
      faults.afterList = () => undefined;
      renameSync(`${log}.1`, `${log}.2`);
    };
    expect(await findRenamed(log, identity)).toBe(`${log}.2`);
  });

  test.each(['stat other', 'scandir other', 'stat access.log.0'])(
    'finds it behind what does not answer: %s',
    async (what) => {
      await real.mkdir(join(directory, 'other'));
      await real.writeFile(`${log}.0`, '');
      const moved = join(directory, 'below', 'access.log.1');
      await real.rename(`${log}.1`, moved);
      faults.codes.set(what, 'ESTALE');
      expect(await findRenamed(log, identity)).toBe(moved);
    },
  );

  test('says that it is gone, whatever does not answer where it cannot be', async () => {
    await real.unlink(`${log}.1`);
    await real.mkdir(join(directory, 'mounted'));
    await real.symlink('/nowhere', join(directory, 'link'));
    for (const what of ['stat mounted', 'scandir mounted', 'stat link']) faults.codes.set(what, 'ESTALE');
    faults.codes.set('scandir below', 'EACCES');
    expect(await findRenamed(log, identity)).toBeUndefined();
  });

  test.each([
    ['stat access.log', 'EACCES'],
    ['stat access.log.0', 'EIO'],
    ['scandir below', 'EMFILE'],
    ['scandir', 'EACCES'],
  ])('does not say so where it cannot tell: %s, %s', async (what, code) => {
    await real.unlink(`${log}.1`);
    await real.writeFile(`${log}.0`, '');
    faults.codes.set(what === 'scandir' ? `scandir ${basename(directory)}` : what, code);
    await expect(findRenamed(log, identity)).rejects.toMatchObject({ code });
  });
});

describe('a sender', () => {
  /** A sender of the same host is gone, or away for a moment. */
  async function leave(channel: InstanceType<typeof Channel>): Promise<void> {
    const stop = new AbortController();
    const left = channel.sender({ leaseMs: 100, lingerMs: 0 }).send(log, {
      follow: new AbortController().signal,
      signal: stop.signal,
      onProgress: () => stop.abort(),
    });
    await expect(left).rejects.toMatchObject({ name: 'AbortError' });
  }

  test.each([
    ['stat', 'EACCES'],
    ['stat', 'ESTALE'],
    ['read', 'EIO'],
  ])('sends its own path where a left one does not answer, and lets that be: %s, %s', async (call, code) => {
    const channel = new Channel(redis);
    await leave(channel);
    const name = call === 'read' ? 'access.log.1' : 'access.log';
    if (call === 'read') await real.rename(log, join(directory, name));
    const other = join(directory, 'other.log');
    await real.writeFile(other, 'other\n');
    faults.codes.set(`${call} ${name}`, code);
    const sender = channel.sender({ leaseMs: 100 });
    expect(await sender.send(other)).toMatchObject({ isDuplicate: false });
    faults.codes.clear();
    await channel.sender({ leaseMs: 100 }).send(join(directory, name), { name: 'access.log' });
    await sender.end();
    expect(await readAll(channel.receiver())).toEqual({ 'access.log': '1\n', 'other.log': 'other\n' });
  });
});
