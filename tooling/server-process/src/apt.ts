// Debian's packages without root and without their services: apt downloads into private directories, dpkg-deb unpacks, and the
// server runs where it lies with LD_LIBRARY_PATH. `apt-get install` was rejected: it needs root, takes 7 s instead of 2, and
// starts a server on the usual port. Everything happens in a directory beside the target, which a rename puts in place whole,
// so any number of processes may do this at once: the first rename wins, the others find its result.

import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import { findOnPath, run, type Environment } from './programs.js';

export interface UnpackOptions {
  /** The name of the unpacked program, for `onProgress`. */
  what: string;
  cacheDirectory: string;
  env: Environment;
  onProgress: (message: string) => void;
  /** The packages to unpack, also where the system has them installed. `dependsOn` says what a package depends on. */
  packages: (dependsOn: (name: string) => Promise<string[]>) => string[] | Promise<string[]>;
  /** Which of their dependencies, and of the dependencies of these, are unpacked too where the system lacks them. */
  isNeeded: (name: string) => boolean;
  /**
   * The suites of Debian from which the packages come, such as `['bookworm', 'bookworm-backports']`, with all their libraries, from the
   * mirror of this system. @defaultValue what the system installs from, without the libraries that it has
   */
  suites?: readonly string[];
  /** Throws when the server that was unpacked into the directory doesn't run or is too old; then nothing is put in place. */
  check: (directory: string) => Promise<unknown>;
}

/** The environment in which an unpacked server finds the libraries that were unpacked with it. */
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
  const { what, cacheDirectory, env, onProgress, packages, isNeeded, suites, check } = options;
  const aptGet = await findOnPath('apt-get', env);
  const aptCache = await findOnPath('apt-cache', env);
  const dpkgDeb = await findOnPath('dpkg-deb', env);
  if (aptGet === undefined || aptCache === undefined || dpkgDeb === undefined) return false;

  const origin = suites === undefined ? 'this system' : `Debian ${suites.at(-1)}`;
  onProgress(`unpacking the ${what} package of ${origin} (no root needed)`);
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

    if (suites !== undefined) settings.push(...(await suiteSettings(aptGet, suites, work, env)));
    await run(aptGet, ['-qq', ...settings, 'update'], { env });
    const dependsOn = async (...names: string[]): Promise<string[]> =>
      dependenciesIn(await run(aptCache, [...settings, 'depends', '--important', ...names], { env }));
    const wanted = await packages(dependsOn);
    const present = suites === undefined ? await installedPackages(env) : [];
    const missing = await missingDependencies(wanted, { dependsOn, isNeeded, present });
    await run(aptGet, ['-qq', ...settings, 'download', ...wanted, ...missing], { env, cwd: downloads });
    for (const name of await readdir(downloads)) {
      if (name.endsWith('.deb')) await run(dpkgDeb, ['-x', join(downloads, name), root], { env });
    }
    await check(root);
    await putInPlace(root, cacheDirectory, work, check);
    return true;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The settings with which apt sees these suites of the system's mirror, signed by the keys that the system has, and nothing else. */
async function suiteSettings(
  aptGet: string,
  suites: readonly string[],
  work: string,
  env: Environment,
): Promise<string[]> {
  const format = ['--format', '$(ORIGIN) $(COMPONENT) $(REPO_URI)', 'Created-By: Packages'];
  const targets = await run(aptGet, ['indextargets', ...format], { env });
  const [, mirror] = /^Debian main (\S+\/debian\/?)$/m.exec(targets) ?? [];
  if (mirror === undefined) throw new Error('this system installs from no mirror of Debian');
  const file = join(work, 'sources.list');
  await writeFile(file, suites.map((suite) => `deb ${mirror} ${suite} main\n`).join(''));
  // An empty status file: nothing counts as installed.
  await writeFile(join(work, 'status'), '');
  return [
    ['Dir::Etc::sourcelist', file],
    ['Dir::Etc::sourceparts', '-'],
    ['Dir::State::status', join(work, 'status')],
  ].flatMap(([name, value]) => ['-o', `${name}=${value}`]);
}

/** The dependencies of `wanted`, direct or not, that aren't `present`. */
async function missingDependencies(
  wanted: string[],
  {
    dependsOn,
    isNeeded,
    present,
  }: Pick<UnpackOptions, 'isNeeded'> & {
    dependsOn: (...names: string[]) => Promise<string[]>;
    present: string[];
  },
): Promise<string[]> {
  const known = new Set([...wanted, ...present]);
  const missing: string[] = [];
  let next = wanted;
  while (next.length > 0) {
    const names = new Set(await dependsOn(...next));
    next = [...names].filter((name) => isNeeded(name) && !known.has(name));
    for (const name of next) known.add(name);
    missing.push(...next);
  }
  return missing;
}

/** The names in what `apt-cache depends` printed; "a | b" is printed as "|Depends: a", then "Depends: b": the first is enough. */
function dependenciesIn(printed: string): string[] {
  const names: string[] = [];
  let isAlternative = false;
  for (const line of printed.split('\n')) {
    const [, bar, name] = /^ ([ |])(?:Pre)?Depends: (\S+)$/.exec(line) ?? [];
    if (name === undefined) continue;
    if (!isAlternative) names.push(name);
    isAlternative = bar === '|';
  }
  return names;
}

async function installedPackages(env: Environment): Promise<string[]> {
  const dpkgQuery = await findOnPath('dpkg-query', env);
  if (dpkgQuery === undefined) return [];
  const printed = await run(dpkgQuery, ['-W', '-f', '${Package} ${db:Status-Status}\\n'], { env });
  return printed
    .split('\n')
    .flatMap((line) => (line.endsWith(' installed') ? [line.split(' ')[0] ?? ''] : []));
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
      await check(target);
    } catch {
      await rename(target, join(work, 'broken'));
      await rename(root, target);
    }
  }
}
