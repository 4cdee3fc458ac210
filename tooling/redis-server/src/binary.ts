// Where a server comes from. A machine that has only Node must be able to run the tests, so after the places where a
// developer may have put one (an environment variable, PATH) come our own unpacked copy, then ways to get one.
// Rejected: an npm package with the binary. None ships one that starts on Debian 12 (they need a newer glibc).

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import {
  aptUnpack,
  findOnPath,
  isExecutable,
  messageOf,
  run,
  unpackedEnvironment,
  type Environment,
} from '@mortise/server-process';

import { RedisNotFoundError } from './errors.js';
import { installWithPackager } from './packagers.js';

/** A server program that runs on this machine, and what it needs in its environment. */
export interface RedisBinary {
  path: string;
  /** `LD_LIBRARY_PATH` when the server was unpacked, else empty. To be added to the environment of the process. */
  env: Record<string, string>;
  /** Such as `7.0.15`. */
  version: string;
  kind: 'redis' | 'valkey';
}

export interface FindOptions {
  /** Where an unpacked server is kept. @defaultValue `.cache/redis` in the root of the repository */
  cacheDirectory?: string;
  /** Read for PATH and REDIS_SERVER_BIN. @defaultValue process.env */
  env?: Environment;
  /** Gets a line for each step that takes time or fails. */
  onProgress?: (message: string) => void;
}

/** Where the server lies in the directory of the unpacked packages. */
const UNPACKED_SERVER = 'usr/bin/redis-server';
const OLDEST_MAJOR = 7;
const CACHE_DIRECTORY = fileURLToPath(new URL('../../../.cache/redis', import.meta.url));

let found: Promise<RedisBinary> | undefined;

/**
 * Finds a Redis >= 7.0 or a Valkey: REDIS_SERVER_BIN, `redis-server` or `valkey-server` on PATH, one that was unpacked before;
 * else gets one: Debian's package unpacked without root (about 2 s), brew, or as root dnf or apk. A candidate that is too old
 * or does not run is reported and skipped. REDIS_SERVER_BIN is never skipped: it is used, or an error is thrown.
 * The answer is remembered for the life of the process when no option but `onProgress` is given.
 * Refusal: {@link RedisNotFoundError}.
 */
export function findRedisServer(options: FindOptions = {}): Promise<RedisBinary> {
  if (options.cacheDirectory !== undefined || options.env !== undefined) return search(options);
  found ??= search(options).catch((error: unknown) => {
    found = undefined;
    throw error;
  });
  return found;
}

async function search(options: FindOptions): Promise<RedisBinary> {
  const { cacheDirectory = CACHE_DIRECTORY, env = process.env, onProgress = () => {} } = options;
  const rejected: string[] = [];

  const attempt = async (
    candidate: () => Promise<RedisBinary | undefined>,
  ): Promise<RedisBinary | undefined> => {
    try {
      return await candidate();
    } catch (error) {
      rejected.push(messageOf(error));
      onProgress(messageOf(error));
      return undefined;
    }
  };
  const onPath = (name: string) => async (): Promise<RedisBinary | undefined> => {
    const path = await findOnPath(name, env);
    return path === undefined ? undefined : probe(path, env);
  };
  const probeUnpacked = async (directory: string): Promise<RedisBinary> =>
    probe(join(directory, UNPACKED_SERVER), env, await unpackedEnvironment(directory));
  const unpacked = async (): Promise<RedisBinary | undefined> =>
    (await isExecutable(join(cacheDirectory, UNPACKED_SERVER))) ? probeUnpacked(cacheDirectory) : undefined;

  const named = env['REDIS_SERVER_BIN'];
  if (named !== undefined && named !== '') {
    try {
      return await probe(named, env);
    } catch (error) {
      throw new RedisNotFoundError(`REDIS_SERVER_BIN: ${messageOf(error)}`, { cause: error });
    }
  }
  const candidates = [
    onPath('redis-server'),
    onPath('valkey-server'),
    unpacked,
    async () => {
      const isUnpacked = await aptUnpack({
        what: 'redis-server',
        packages: () => ['redis-server', 'redis-tools'],
        isNeeded: (name) => /^(lib|lua)/.test(name),
        check: probeUnpacked,
        cacheDirectory,
        env,
        onProgress,
      });
      return isUnpacked ? unpacked() : undefined;
    },
    async () => {
      const path = await installWithPackager({ env, onProgress });
      return path === undefined ? undefined : probe(path, env);
    },
  ];
  for (const candidate of candidates) {
    const binary = await attempt(candidate);
    if (binary !== undefined) return binary;
  }
  throw new RedisNotFoundError(notFound(rejected));
}

/** Runs `--version`; throws when the program doesn't run, isn't a Redis, or is too old. */
async function probe(
  path: string,
  env: Environment,
  libraries: Record<string, string> = {},
): Promise<RedisBinary> {
  const printed = await run(path, ['--version'], { env: { ...env, ...libraries } });
  const [, name, version, major] = /^(?:(\w+) )?server v=((\d+)\.\S+)/i.exec(printed) ?? [];
  if (version === undefined) throw new Error(`${path} isn't a redis-server: it printed "${printed.trim()}"`);
  if (Number(major) < OLDEST_MAJOR)
    throw new Error(`${path} is version ${version}, older than ${OLDEST_MAJOR}.0`);
  return { path, env: libraries, version, kind: name?.toLowerCase() === 'valkey' ? 'valkey' : 'redis' };
}

function notFound(rejected: string[]): string {
  return [
    `no redis-server >= ${OLDEST_MAJOR}.0 was found, and none could be installed. One of these helps:`,
    '  macOS                   brew install redis',
    '  Debian, Ubuntu          apt-get install redis-server',
    '  Fedora, RHEL            dnf install redis',
    '  Alpine                  apk add redis',
    '  a server program        REDIS_SERVER_BIN=/path/to/redis-server',
    '  a server that runs      REDIS_URL=redis://host:port',
    ...rejected.map((reason) => `tried: ${reason}`),
  ].join('\n');
}
