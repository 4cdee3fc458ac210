import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Path } from './paths.js';

export interface FoundFile {
  readonly path: Path;
  /** Below the directory, with `/` between its parts. */
  readonly name: string;
}

const SLASH = Buffer.from('/');

/** The files in a directory and below it, sorted by their names. Names are read as bytes, since not all are UTF-8. */
export async function filesIn(directory: string): Promise<FoundFile[]> {
  const root = Buffer.from(resolve(directory));
  const found: FoundFile[] = [];
  const walk = async (parts: readonly Buffer[]): Promise<void> => {
    const at = Buffer.concat([root, ...parts.flatMap((part) => [SLASH, part])]);
    for (const entry of await readdir(at, { withFileTypes: true, encoding: 'buffer' })) {
      const inside = [...parts, entry.name];
      if (entry.isDirectory()) await walk(inside);
      else if (entry.isFile()) found.push(fileOf(at, inside));
    }
  };
  await walk([]);
  return found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function fileOf(directory: Buffer, parts: readonly Buffer[]): FoundFile {
  const bytes = Buffer.concat([directory, SLASH, parts.at(-1)!]);
  const text = bytes.toString();
  const path = Buffer.from(text).equals(bytes) ? text : bytes;
  return { path, name: parts.map((part) => part.toString()).join('/') };
}
