import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import dockerignore from '@balena/dockerignore';

import { read, root } from './repository.js';

/** The files that docker would send: those that `.dockerignore` leaves. */
export function contextFiles(): string[] {
  // Its types are those of an ES module, which it isn't.
  const make = dockerignore as unknown as typeof dockerignore.default;
  const ignore = make().add(read('.dockerignore').split('\n'));
  const files = (folder: string): string[] =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name);
      if (ignore.ignores(path)) return [];
      return entry.isDirectory() ? files(path) : [path];
    });
  return files('');
}
