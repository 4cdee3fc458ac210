// Where a PostgreSQL comes from: PATH; where Debian, which puts no server on PATH, and Homebrew keep theirs; our own unpacked
// copy; Debian's package, unpacked without root. Rejected: an npm package with the binaries (60 MB for each of the
// platforms, fetched by an install script) and PGlite, which is one process with one connection: nothing could be locked.

import { cp, mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import {
  aptUnpack,
  directoryMade,
  findOnPath,
  isExecutable,
  messageOf,
  run,
  unpackedEnvironment,
  type Environment,
} from '@mortise/server-process';

import { PostgresNotFoundError } from './errors.js';
import { serverUser, type User } from './user.js';

/** A PostgreSQL that runs on this machine. */
export interface PostgresInstallation {
  /** The full paths of the two programs. */
  postgres: string;
  initdb: string;
  /** `LD_LIBRARY_PATH` when it was unpacked, else empty. To be added to the environment of its processes. */
  env: Record<string, string>;
  /** Whom it runs as, where this process is root. */
  user: User | undefined;
  /** Such as `15.18`. */
  version: string;
}

export interface FindOptions {
  /** Where an unpacked PostgreSQL is kept. @defaultValue `.cache/postgres` in the root of the repository */
  cacheDirectory?: string;
  /** Where `<version>/bin` is looked for. @defaultValue the places of Debian and Homebrew */
  versionDirectories?: string[];
  /** Read for PATH. @defaultValue process.env */
  env?: Environment;
  /** Gets a line for each step that takes time or fails. */
  onProgress?: (message: string) => void;
}

const OLDEST_MAJOR = 13;
const CACHE_DIRECTORY = fileURLToPath(new URL('../../../.cache/postgres', import.meta.url));
const VERSION_DIRECTORIES = ['/usr/lib/postgresql', '/opt/homebrew/opt', '/usr/local/opt'];
/** In the directory of the unpacked packages. */
const UNPACKED_VERSIONS = 'usr/lib/postgresql';

let found: Promise<PostgresInstallation> | undefined;

/**
 * Finds a PostgreSQL >= 13: `initdb` and `postgres` on PATH, the newest one in the usual directories, one that was unpacked before;
 * else unpacks Debian's package without root (about 5 s). A candidate that is too old or doesn't run is reported and
 * passed over. The answer is remembered for the life of the process when no option but `onProgress` is given.
 * Refusal: {@link PostgresNotFoundError}.
 */
export function findPostgres(options: FindOptions = {}): Promise<PostgresInstallation> {
  const { onProgress: _, ...others } = options;
  if (Object.keys(others).length > 0) return search(options);
  found ??= search(options).catch((error: unknown) => {
    found = undefined;
    throw error;
  });
  return found;
}

async function search(options: FindOptions): Promise<PostgresInstallation> {
  const { cacheDirectory = CACHE_DIRECTORY, versionDirectories = VERSION_DIRECTORIES } = options;
  const { env = process.env, onProgress = () => {} } = options;
  const user = await serverUser(env);
  const rejected: string[] = [];

  const unpacked = (): Promise<PostgresInstallation | undefined> => newestUnpacked(cacheDirectory, env, user);
  const candidates = [
    async () => {
      const initdb = await findOnPath('initdb', env);
      const postgres = await findOnPath('postgres', env);
      return initdb === undefined || postgres === undefined
        ? undefined
        : probe({ postgres, initdb, env, user });
    },
    ...versionDirectories.map((directory) => () => newest(directory, { env, user })),
    unpacked,
    async () => {
      const isUnpacked = await aptUnpack({
        what: 'postgresql',
        // The package postgresql is empty, and depends on the one of the version that this system has.
        packages: async (dependsOn) =>
          (await dependsOn('postgresql')).filter((name) => /^postgresql-\d+$/.test(name)),
        // libllvm is for the JIT compiler alone, which our servers don't use: 100 MB of 150.
        isNeeded: (name) => name.startsWith('lib') && !name.startsWith('libllvm'),
        check: async (directory) => {
          // As this user: whether others can enter the directory is looked at when the server is used.
          if ((await newestUnpacked(directory, env, undefined)) === undefined)
            throw new Error('the postgresql package of this system has no server');
        },
        cacheDirectory,
        env,
        onProgress,
      });
      return isUnpacked ? unpacked() : undefined;
    },
  ];
  for (const candidate of candidates) {
    try {
      const installation = await candidate();
      if (installation !== undefined) return installation;
    } catch (error) {
      rejected.push(messageOf(error));
      onProgress(messageOf(error));
    }
  }
  throw new PostgresNotFoundError(notFound(rejected));
}

/** The newest one of `<directory>/<version>/bin` or, as Homebrew has it, `<directory>/postgresql@<version>/bin`. */
async function newest(
  directory: string,
  {
    env,
    user,
    libraries = {},
  }: { env: Environment; user: User | undefined; libraries?: Record<string, string> },
): Promise<PostgresInstallation | undefined> {
  const entries = await readdir(directory).catch(() => []);
  const versions = entries
    .flatMap((entry) => {
      const [, version] = /^(?:postgresql@)?(\d+)$/.exec(entry) ?? [];
      return version === undefined ? [] : [{ bin: join(directory, entry, 'bin'), version: Number(version) }];
    })
    .toSorted((left, right) => right.version - left.version);
  for (const { bin } of versions) {
    const [postgres, initdb] = [join(bin, 'postgres'), join(bin, 'initdb')];
    if ((await isExecutable(postgres)) && (await isExecutable(initdb))) {
      return probe({ postgres, initdb, env, user, libraries });
    }
  }
  return undefined;
}

/** Where the server runs as somebody who cannot enter the directory (a home of root's), a copy in a temporary one is taken. */
async function newestUnpacked(
  directory: string,
  env: Environment,
  user: User | undefined,
): Promise<PostgresInstallation | undefined> {
  const from = async (place: string): Promise<PostgresInstallation | undefined> =>
    newest(join(place, UNPACKED_VERSIONS), { env, user, libraries: await unpackedEnvironment(place) });
  try {
    return await from(directory);
  } catch (error) {
    if (user === undefined || !messageOf(error).includes('EACCES')) throw error;
    return from(await copyForOthers(directory));
  }
}

/** Copies a directory to where all users can read it; it doesn't outlive this process. */
async function copyForOthers(directory: string): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'mortise-postgres-copy-'));
  directoryMade(copy);
  await cp(directory, copy, { recursive: true, verbatimSymlinks: true });
  await run('chmod', ['-R', 'a+rX', copy], { env: process.env });
  return copy;
}

/** Runs `--version`; throws when a program doesn't run, isn't PostgreSQL's, or is too old. */
async function probe(candidate: {
  postgres: string;
  initdb: string;
  env: Environment;
  user: User | undefined;
  libraries?: Record<string, string>;
}): Promise<PostgresInstallation> {
  const { postgres, initdb, env, user, libraries = {} } = candidate;
  const options = { env: { ...env, ...libraries }, cwd: '/', ...user };
  await run(initdb, ['--version'], options);
  const printed = await run(postgres, ['--version'], options);
  const [, version, major] = /^postgres \(PostgreSQL\) ((\d+)\S*)/.exec(printed) ?? [];
  if (version === undefined) throw new Error(`${postgres} isn't PostgreSQL: it printed "${printed.trim()}"`);
  if (Number(major) < OLDEST_MAJOR)
    throw new Error(`${postgres} is version ${version}, older than ${OLDEST_MAJOR}`);
  return { postgres, initdb, env: libraries, user, version };
}

function notFound(rejected: string[]): string {
  return [
    `no PostgreSQL >= ${OLDEST_MAJOR} was found, and none could be unpacked. One of these helps:`,
    '  macOS                   brew install postgresql@17',
    '  Debian, Ubuntu          apt-get install postgresql',
    '  Fedora, RHEL            dnf install postgresql-server',
    '  Alpine                  apk add postgresql',
    '  an installation         its directory of programs on PATH',
    ...rejected.map((reason) => `tried: ${reason}`),
  ].join('\n');
}
