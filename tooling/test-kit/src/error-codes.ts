import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ErrorCodes {
  /** Of the classes in `src/errors.ts`. */
  readonly declared: readonly string[];
  /** In the table of the README. */
  readonly listed: readonly string[];
}

/** The error codes that the code and the README of a package have; sorted, and twice what is there twice. */
export function errorCodes(root: string): ErrorCodes {
  const codesIn = (file: string, pattern: RegExp): string[] => {
    const text = readFileSync(join(root, file), 'utf8');
    return Array.from(text.matchAll(pattern), ([, code]) => code!).toSorted();
  };
  return {
    declared: codesIn('src/errors.ts', /readonly code = '(ERR_\w+)'/g),
    listed: codesIn('README.md', /^\| `(ERR_\w+)`/gm),
  };
}
