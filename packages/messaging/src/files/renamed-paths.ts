/**
 * Where a log is that was renamed: in the directory of its path, in that of the file which a link at its path leads to, or in a directory in one of
 * these, since rotated logs are kept beside the log or below it. No file system finds a file by its inode; to look farther would be to read all of it.
 */
import { readdir, realpath } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { identityOf } from './opened-path.js';
import type { Path } from './paths.js';
import { pathOf, pathText } from './paths.js';

/** The path that a file has now: the one that it had, one of `places`, or another one where rotated logs are. */
export async function findRenamed(
  path: Path,
  identity: string,
  places: readonly Path[] = [],
): Promise<Path | undefined> {
  for (const at of [path, ...places]) {
    if ((await identityAt(at)) === identity) return at;
  }
  const recorded = pathText(path);
  const target = await realpath(path, 'buffer').then(pathText, () => recorded);
  const directories = new Set([dirname(recorded), dirname(target)]);
  const below = new Set<string>();
  for (const directory of directories) {
    const entries = await entriesOf(directory);
    for (const { name, isDirectory } of entries) if (isDirectory) below.add(`${directory}/${name}`);
    const found = await findIn(directory, entries, basename(recorded), identity);
    if (found !== undefined) return found;
  }
  for (const directory of below) {
    const found = await findIn(directory, await entriesOf(directory), basename(recorded), identity);
    if (found !== undefined) return found;
  }
  return undefined;
}

export async function identityAt(path: Path): Promise<string | undefined> {
  return identityOf(path).catch(whereReadable(undefined));
}

/** What this process could not do at the moment says nothing of what is there. */
const OF_THE_MOMENT = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EIO', 'ESTALE', 'EAGAIN', 'EINTR']);

function whereReadable<Nothing>(nothing: Nothing): (error: NodeJS.ErrnoException) => Nothing {
  return (error) => {
    if (OF_THE_MOMENT.has(error.code ?? '')) throw error;
    return nothing;
  };
}

interface Entry {
  readonly name: string;
  readonly isDirectory: boolean;
}

/** Of a directory that may not be read there are none. */
async function entriesOf(directory: string): Promise<Entry[]> {
  const entries = await readdir(Buffer.from(directory, 'latin1'), {
    withFileTypes: true,
    encoding: 'buffer',
  }).catch(whereReadable([]));
  return entries.map((entry) => ({
    name: entry.name.toString('latin1'),
    isDirectory: entry.isDirectory(),
  }));
}

async function findIn(
  directory: string,
  entries: readonly Entry[],
  before: string,
  identity: string,
): Promise<Path | undefined> {
  // A rotated log has the name of the log at its beginning.
  const isLike = ({ name }: Entry): number => (name.startsWith(before) ? 0 : 1);
  for (const { name } of entries.toSorted((a, b) => isLike(a) - isLike(b))) {
    const at = pathOf(`${directory}/${name}`);
    if ((await identityAt(at)) === identity) return at;
  }
  return undefined;
}
