// Where a Chromium comes from: PATH; our own unpacked copy; Debian's package, unpacked without root. Rejected: Playwright's download,
// since no installation may fetch a browser from elsewhere.

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

/** No usable Chromium was found, and none could be unpacked. The message says what to do. */
export class BrowserNotFoundError extends Error {
  override readonly name = 'BrowserNotFoundError';
  readonly code = 'ERR_BROWSER_NOT_FOUND';
}

/** A Chromium that runs on this machine. */
export interface Browser {
  readonly executablePath: string;
  /** Where it finds its libraries and fonts, if it was unpacked. To be added to the environment of its process. */
  readonly env: Readonly<Record<string, string>>;
  /** Such as `150.0.7871.100`. */
  readonly version: string;
}

export interface FindOptions {
  /** Where an unpacked Chromium is kept. @defaultValue `.cache/chromium` in the root of the repository */
  readonly cacheDirectory?: string;
  /** Read for PATH. @defaultValue process.env */
  readonly env?: Environment;
  /** Gets a line for each step that takes time or fails. */
  readonly onProgress?: (message: string) => void;
}

const OLDEST_MAJOR = 123;
const CACHE_DIRECTORY = fileURLToPath(new URL('../../../.cache/chromium', import.meta.url));
const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
/** In the directory of the unpacked packages. The program on PATH is a script with absolute paths. */
const UNPACKED = 'usr/lib/chromium/chromium';
/** Libraries of a library, which it finds by an absolute path. */
const PRIVATE = 'pulseaudio';
const FONTS = 'fonts-dejavu-core';

/**
 * Finds a Chromium: on PATH, or one that was unpacked before; else unpacks Debian's package without root (100 MB, some 15 s). A
 * candidate that is too old or doesn't run is reported and passed over. Refusal: {@link BrowserNotFoundError}.
 */
export async function findChromium(options: FindOptions = {}): Promise<Browser> {
  const { cacheDirectory = CACHE_DIRECTORY, env = process.env, onProgress = () => {} } = options;
  const rejected: string[] = [];
  const unpacked = (): Promise<Browser | undefined> => inDirectory(cacheDirectory, env);
  const candidates = [
    ...NAMES.map((name) => async () => {
      const executablePath = await findOnPath(name, env);
      return executablePath === undefined ? undefined : probe(executablePath, env);
    }),
    unpacked,
    async () => {
      const isUnpacked = await aptUnpack({
        what: 'chromium',
        packages: () => ['chromium', 'chromium-common', FONTS, 'fontconfig-config'],
        isNeeded: (name) => name.startsWith('lib'),
        check: async (directory) => {
          if ((await inDirectory(directory, env)) === undefined)
            throw new Error('the chromium package of this system has no browser');
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
      const found = await candidate();
      if (found !== undefined) return found;
    } catch (error) {
      rejected.push(messageOf(error));
      onProgress(messageOf(error));
    }
  }
  throw new BrowserNotFoundError(notFound(rejected));
}

async function inDirectory(directory: string, env: Environment): Promise<Browser | undefined> {
  const executablePath = join(directory, UNPACKED);
  if (!(await isExecutable(executablePath))) return undefined;
  const { LD_LIBRARY_PATH: libraries = '' } = await unpackedEnvironment(directory);
  const places = libraries.split(':').flatMap((place) => [place, join(place, PRIVATE)]);
  const own = {
    LD_LIBRARY_PATH: places.join(':'),
    FONTCONFIG_PATH: join(directory, 'etc/fonts'),
    FONTCONFIG_SYSROOT: directory,
  };
  return probe(executablePath, env, own);
}

/** Runs `--version`; throws when the program doesn't run, isn't Chromium, or is too old. */
async function probe(
  executablePath: string,
  env: Environment,
  own: Readonly<Record<string, string>> = {},
): Promise<Browser> {
  const printed = await run(executablePath, ['--version'], { env: { ...env, ...own } });
  const [, version, major] = /(?:Chromium|Chrome) ((\d+)\.\S+)/.exec(printed) ?? [];
  if (version === undefined)
    throw new Error(`${executablePath} isn't Chromium: it printed "${printed.trim()}"`);
  if (Number(major) < OLDEST_MAJOR)
    throw new Error(`${executablePath} is version ${version}, older than ${OLDEST_MAJOR}`);
  return { executablePath, env: own, version };
}

function notFound(rejected: readonly string[]): string {
  return [
    `no Chromium >= ${OLDEST_MAJOR} was found, and none could be unpacked. One of these helps:`,
    '  macOS                   brew install chromium',
    '  Debian, Ubuntu          apt-get install chromium',
    '  Fedora, RHEL            dnf install chromium',
    '  an installation         its directory on PATH',
    ...rejected.map((reason) => `tried: ${reason}`),
  ].join('\n');
}
