import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from '@jest/globals';

const src = join(import.meta.dirname, '../../src');

/** All modules that a module loads, itself included. */
function loadedBy(path: string, seen = new Set<string>()): Set<string> {
  if (seen.has(path) || !existsSync(path)) return seen;
  seen.add(path);
  const imports = readFileSync(path, 'utf8').matchAll(/^(?:import|export) (?!type )[^;]*from '(\.[^']+)'/gm);
  for (const [, target] of imports) {
    loadedBy(join(dirname(path), target!.replace(/\.js$/, '.ts')), seen);
  }
  return seen;
}

test('the entry of files loads nothing of chats, and the main entry only the metrics of files', () => {
  const loaded = (entry: string): string[] =>
    [...loadedBy(join(src, entry))].map((path) => relative(src, path)).toSorted();
  const shared = loaded('files/index.ts').filter((path) => !path.startsWith('files/'));
  expect(shared).toEqual(['persist.ts', 'scripts.gen.ts']);
  const ofFiles = loaded('index.ts').filter((path) => path.startsWith('files/'));
  expect(ofFiles.filter((path) => path !== 'files/metrics.ts')).toEqual([]);
});
