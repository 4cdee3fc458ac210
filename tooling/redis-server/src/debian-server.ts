// Another version of the server than the one that this system has, from another suite of Debian. Such a program may need a newer C
// library than that of the system, so all its libraries are unpacked with it, also the C library, and the loader of that library
// starts it. A script does that, so that REDIS_SERVER_BIN can name it.

import { chmod, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { aptUnpack, isExecutable, run, type Environment } from '@mortise/server-process';

import { RedisNotFoundError } from './errors.js';

export interface DebianServerOptions {
  kind: 'redis' | 'valkey';
  /** The suite that has it, after those that this suite builds on: `['bookworm', 'bookworm-backports']`. */
  suites: readonly string[];
  /** Where it is kept. */
  cacheDirectory: string;
  /** @defaultValue process.env */
  env?: Environment;
  /** Gets a line for each step that takes time. */
  onProgress?: (message: string) => void;
}

/** Beside the unpacked packages. */
const LAUNCHER = 'server';

/**
 * The path of a program that starts this server; unpacked (about 5 s) unless the cache has it.
 * Refusal: {@link RedisNotFoundError} on a machine without apt. Errors of apt, such as a suite that the mirror lacks, are thrown as they are.
 */
export async function debianServer(options: DebianServerOptions): Promise<string> {
  const { kind, suites, cacheDirectory, env = process.env, onProgress = () => {} } = options;
  const launcher = join(cacheDirectory, LAUNCHER);
  if (await isExecutable(launcher)) return launcher;
  const isUnpacked = await aptUnpack({
    what: `${kind}-server`,
    packages: () => [`${kind}-server`, `${kind}-tools`],
    isNeeded: (name) => /^(lib|lua|zlib)/.test(name),
    suites,
    check: async (directory) => {
      await writeLauncher(directory, kind);
      await run(join(directory, LAUNCHER), ['--version'], { env });
    },
    cacheDirectory,
    env,
    onProgress,
  });
  if (!isUnpacked)
    throw new RedisNotFoundError('this machine has no apt that could unpack a server of Debian');
  return launcher;
}

async function writeLauncher(directory: string, kind: string): Promise<void> {
  const libraries = [
    ...(await architectures(join(directory, 'lib'))),
    ...(await architectures(join(directory, 'usr/lib'))),
  ];
  const loader = await findLoader([join(directory, 'lib64'), join(directory, 'usr/lib64'), ...libraries]);
  // Relative to the script, since the directory is renamed after this.
  const local = (path: string): string => path.replace(directory, '$here');
  const lines = [
    '#!/bin/sh',
    'here=${0%/*}',
    `exec "${local(loader)}" --library-path "${libraries.map(local).join(':')}" "$here/usr/bin/${kind}-server" "$@"`,
    '',
  ];
  await writeFile(join(directory, LAUNCHER), lines.join('\n'));
  await chmod(join(directory, LAUNCHER), 0o755);
}

/** Debian keeps libraries by architecture: `usr/lib/x86_64-linux-gnu`. */
async function architectures(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => []);
  return names.filter((name) => name.includes('-linux-')).map((name) => join(directory, name));
}

async function findLoader(directories: string[]): Promise<string> {
  for (const directory of directories) {
    const names = await readdir(directory).catch(() => []);
    const name = names.find((each) => /^ld-linux.*\.so\.\d+$/.test(each));
    if (name !== undefined) return join(directory, name);
  }
  throw new Error('the C library that was unpacked has no loader');
}
