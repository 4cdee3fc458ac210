// Debian's package without root and without its service: apt downloads into private directories, dpkg-deb unpacks, and the
// server runs where it lies with LD_LIBRARY_PATH. `apt-get install` was rejected: it needs root, takes 7 s instead of 2, and
// starts a server on port 6379. Everything happens in a directory beside the target, which a rename puts in place whole,
// so any number of processes may do this at once: the first rename wins, the others find its result.

import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import { findOnPath, run, type Environment } from './programs.js';

export interface UnpackOptions {
  cacheDirectory: string;
  env: Environment;
  onProgress: (message: string) => void;
  /** Throws when the unpacked server doesn't run or is too old; then nothing is put in place. */
  check: (path: string, libraries: Record<string, string>) => Promise<unknown>;
}

/** Where the server lies in the directory of the unpacked packages. */
export const UNPACKED_SERVER = 'usr/bin/redis-server';

const SERVER_PACKAGES = ['redis-server', 'redis-tools'];

/** What an unpacked server needs in its environment to find the libraries that were unpacked with it. */
export async function unpackedEnvironment(directory: string): Promise<Record<string, string>> {
  const libraries = join(directory, 'usr/lib');
  const entries = await readdir(libraries, { withFileTypes: true }).catch(() => []);
  // Debian keeps libraries by architecture: usr/lib/x86_64-linux-gnu.
  const architectures = entries.filter((entry) => entry.isDirectory() && entry.name.includes('-linux-'));
  const paths = [...architectures.map((entry) => join(libraries, entry.name)), libraries];
  return { LD_LIBRARY_PATH: paths.join(':') };
}

/** Unpacks a working server into `cacheDirectory`; returns false when this machine has no apt. Replaces what doesn't work there. */
export async function aptUnpack(options: UnpackOptions): Promise<boolean> {
  const { cacheDirectory, env, onProgress, check } = options;
  const aptGet = await findOnPath('apt-get', env);
  const aptCache = await findOnPath('apt-cache', env);
  const dpkgDeb = await findOnPath('dpkg-deb', env);
  if (aptGet === undefined || aptCache === undefined || dpkgDeb === undefined) return false;

  onProgress('unpacking the redis-server package of this system (no root needed)');
  const parent = dirname(cacheDirectory);
  await mkdir(parent, { recursive: true });
  const work = await mkdtemp(join(parent, `${basename(cacheDirectory)}-unpack-`));
  try {
    const root = join(work, 'root');
    const downloads = join(work, 'downloads');
    for (const name of ['lists/partial', 'cache/archives/partial', 'downloads', 'root']) {
      await mkdir(join(work, name), { recursive: true });
    }
    const settings = [
      ['Dir::State::lists', join(work, 'lists')],
      ['Dir::Cache', join(work, 'cache')],
      ['APT::Sandbox::User', ''], // the directories belong to us, user _apt could not write there
      ['Acquire::http::Timeout', '15'], // seconds, instead of 30 for each address
      ['Debug::NoLocking', '1'], // the system's lock files belong to root
    ].flatMap(([name, value]) => ['-o', `${name}=${value}`]);

    await run(aptGet, ['-qq', ...settings, 'update'], { env });
    const libraries = await missingLibraries((args) => run(aptCache, [...settings, ...args], { env }), env);
    await run(aptGet, ['-qq', ...settings, 'download', ...SERVER_PACKAGES, ...libraries], {
      env,
      cwd: downloads,
    });
    for (const name of await readdir(downloads)) {
      if (name.endsWith('.deb')) await run(dpkgDeb, ['-x', join(downloads, name), root], { env });
    }
    await check(join(root, UNPACKED_SERVER), await unpackedEnvironment(root));
    await putInPlace(root, cacheDirectory, work, check);
    return true;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The libraries that the server packages depend on, and that the system doesn't have installed. */
async function missingLibraries(
  aptCache: (args: string[]) => Promise<string>,
  env: Environment,
): Promise<string[]> {
  const printed = await aptCache(['depends', '--important', ...SERVER_PACKAGES]);
  const names = new Set<string>();
  let isAlternative = false;
  for (const line of printed.split('\n')) {
    const [, bar, name] = /^ ([ |])(?:Pre)?Depends: (\S+)$/.exec(line) ?? [];
    if (name === undefined) continue;
    // "a | b" is printed as "|Depends: a" and then "Depends: b": the first one is enough.
    if (!isAlternative && /^(lib|lua)/.test(name)) names.add(name);
    isAlternative = bar === '|';
  }
  const installed = await installedPackages(env);
  return [...names].filter((name) => !installed.has(name));
}

async function installedPackages(env: Environment): Promise<Set<string>> {
  const dpkgQuery = await findOnPath('dpkg-query', env);
  if (dpkgQuery === undefined) return new Set();
  const printed = await run(dpkgQuery, ['-W', '-f', '${Package} ${db:Status-Status}\\n'], { env });
  return new Set(
    printed.split('\n').flatMap((line) => (line.endsWith(' installed') ? [line.split(' ')[0] ?? ''] : [])),
  );
}

/** Renames `root` to `target`. Where something lies already, it stays if it works (another process was faster). */
async function putInPlace(
  root: string,
  target: string,
  work: string,
  check: UnpackOptions['check'],
): Promise<void> {
  try {
    await rename(root, target);
  } catch {
    try {
      await check(join(target, UNPACKED_SERVER), await unpackedEnvironment(target));
    } catch {
      await rename(target, join(work, 'broken'));
      await rename(root, target);
    }
  }
}
