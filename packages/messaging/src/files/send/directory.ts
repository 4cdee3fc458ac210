import { createHash } from 'node:crypto';
import { lstat, readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Path } from './path-source.js';

export interface FoundFile {
  readonly path: Path;
  /** Relative to the directory, with `/` between its components; bytes that are not UTF-8 are replaced. */
  readonly name: string;
  /** The name, followed by a hash of its bytes if some were replaced: two files never have the same id. */
  readonly id: string;
}

const SLASH = Buffer.from('/');
const HASH_CHARACTERS = 12;

/**
 * The files in a directory and its subdirectories, sorted by name. Names are read as bytes, since not all are UTF-8. The kind of each
 * entry is asked for: with names as bytes, Bun ignores `withFileTypes`.
 */
export async function filesIn(directory: string): Promise<FoundFile[]> {
  const root = Buffer.concat([Buffer.from(resolve(directory)), SLASH]);
  const found: FoundFile[] = [];
  const walk = async (inside: Buffer): Promise<void> => {
    for (const entry of await readdir(Buffer.concat([root, inside]), { encoding: 'buffer' })) {
      const name = Buffer.concat([inside, entry]);
      const stats = await lstat(Buffer.concat([root, name])).catch(unlessMissing);
      if (stats?.isDirectory()) await walk(Buffer.concat([name, SLASH]));
      else if (stats?.isFile()) found.push(fileOf(root, name));
    }
  };
  await walk(Buffer.alloc(0));
  return found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** A file may be removed after it was listed. */
function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

function fileOf(root: Buffer, bytes: Buffer): FoundFile {
  const path = Buffer.concat([root, bytes]);
  const text = path.toString();
  const name = bytes.toString();
  if (Buffer.from(text).equals(path)) return { path: text, name, id: name };
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, HASH_CHARACTERS);
  return { path, name, id: `${name}:${hash}` };
}
