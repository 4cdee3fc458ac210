import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const IMPORTED = /(?:from |import\()['"](\.[^'"]+)\.js['"]/g;

/**
 * Copies the declarations that the entries need, as the compiler wrote them. Each form has its own: TypeScript takes a
 * declaration for the form of the package.json above it.
 *
 * @param {string} compiled
 * @param {readonly string[]} entries
 * @param {readonly string[]} targets
 */
export function copyDeclarations(compiled, entries, targets) {
  const files = new Set(entries.map((entry) => join(compiled, `${entry}.d.ts`)));
  for (const file of files) {
    const text = readFileSync(file, 'utf8');
    for (const [, path = ''] of text.matchAll(IMPORTED)) files.add(`${resolve(dirname(file), path)}.d.ts`);
    for (const target of targets) {
      const copy = join(target, relative(compiled, file));
      mkdirSync(dirname(copy), { recursive: true });
      copyFileSync(file, copy);
    }
  }
}
