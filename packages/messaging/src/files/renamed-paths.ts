/**
 * Where a log is that was renamed: in the directory of its path, in that of the file which a link at its path leads to, or in a directory in one of
 * these, since rotated logs are kept beside the log or below it. No file system finds a file by its inode; to look farther would be to read all of it.
 *
 * A name is read, and then looked at; who renames the file in between hides it. So what is not found is looked for once more.
 */
import { readdir, realpath } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { identityOf } from './opened-path.js';
import type { Path } from './paths.js';
import { pathOf, pathText } from './paths.js';

/** Only these say that nothing is there; others, that this process cannot tell: another user's may, or a server that is back. */
const NOTHING_THERE = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);
/** What says nothing of what is there, nor of its place. */
const OF_THIS_PROCESS = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EINTR']);

/**
 * The path that a file has now: the one that it had, one of `places`, or another one where rotated logs are. Rejects with the error of the file system when it
 * is not found, and something could not be looked at where it may be.
 */
export async function findRenamed(
  path: Path,
  identity: string,
  places: readonly Path[] = [],
): Promise<Path | undefined> {
  return (await new Search(identity).find(path, places)) ?? new Search(identity).findOrDoubt(path, places);
}

/** Undefined: nothing is there. Rejects with the error of the file system when that cannot be told. */
export async function identityAt(path: Path): Promise<string | undefined> {
  return identityOf(path).catch((error: NodeJS.ErrnoException) => {
    if (NOTHING_THERE.has(error.code ?? '')) return undefined;
    throw error;
  });
}

interface Entry {
  readonly name: string;
  readonly isDirectory: boolean;
  readonly isLink: boolean;
}

class Search {
  readonly #identity: string;
  /** Why it may have been missed. */
  #doubt: NodeJS.ErrnoException | undefined;

  constructor(identity: string) {
    this.#identity = identity;
  }

  async findOrDoubt(path: Path, places: readonly Path[]): Promise<Path | undefined> {
    const found = await this.find(path, places);
    if (found === undefined && this.#doubt) throw this.#doubt;
    return found;
  }

  async find(path: Path, places: readonly Path[]): Promise<Path | undefined> {
    for (const at of [path, ...places]) if (await this.#isAt(at)) return at;
    const recorded = pathText(path);
    const target = await realpath(path, 'buffer').then(pathText, () => recorded);
    const directories = new Set([dirname(recorded), dirname(target)]);
    const below = new Set<string>();
    for (const directory of directories) {
      const entries = await this.#entriesOf(directory);
      for (const { name, isDirectory } of entries) if (isDirectory) below.add(`${directory}/${name}`);
      const found = await this.#findIn(directory, entries, basename(recorded));
      if (found !== undefined) return found;
    }
    for (const directory of below) {
      const entries = await this.#entriesOf(directory, true);
      const found = await this.#findIn(directory, entries, basename(recorded), true);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** A directory below may be anything, a server that is gone or somebody's own: then no logs are rotated into it. */
  async #entriesOf(directory: string, isBelow = false): Promise<Entry[]> {
    const entries = await readdir(Buffer.from(directory, 'latin1'), {
      withFileTypes: true,
      encoding: 'buffer',
    }).catch((error: NodeJS.ErrnoException) => {
      this.#note(error, isBelow);
      return [];
    });
    return entries.map((entry) => ({
      name: entry.name.toString('latin1'),
      isDirectory: entry.isDirectory(),
      isLink: entry.isSymbolicLink(),
    }));
  }

  async #findIn(
    directory: string,
    entries: readonly Entry[],
    before: string,
    isBelow = false,
  ): Promise<Path | undefined> {
    // A rotated log has the name of the log at its beginning.
    const isLike = ({ name }: Entry): number => (name.startsWith(before) ? 0 : 1);
    for (const { name, isDirectory, isLink } of entries.toSorted((a, b) => isLike(a) - isLike(b))) {
      const at = pathOf(`${directory}/${name}`);
      // A link may lead anywhere, too.
      if (!isDirectory && (await this.#isAt(at, isBelow || isLink))) return at;
    }
    return undefined;
  }

  async #isAt(path: Path, isElsewhere = false): Promise<boolean> {
    try {
      return (await identityOf(path)) === this.#identity;
    } catch (error) {
      this.#note(error as NodeJS.ErrnoException, isElsewhere);
      return false;
    }
  }

  #note(error: NodeJS.ErrnoException, isElsewhere: boolean): void {
    const code = error.code ?? '';
    if (isElsewhere ? OF_THIS_PROCESS.has(code) : !NOTHING_THERE.has(code)) this.#doubt = error;
  }
}
