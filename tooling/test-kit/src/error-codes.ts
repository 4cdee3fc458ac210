import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ErrorCodes {
  /** The codes of the classes, or of the message tables of classes with several codes. */
  readonly declared: readonly string[];
  /** In the table of the document. */
  readonly listed: readonly string[];
}

/** The error codes that the code and the document of a package have; sorted, and twice what is there twice. */
export function errorCodes(
  root: string,
  { source = 'src/errors.ts', document = 'README.md' }: { source?: string; document?: string } = {},
): ErrorCodes {
  const codesIn = (file: string, pattern: RegExp): string[] => {
    const text = readFileSync(join(root, file), 'utf8');
    return Array.from(text.matchAll(pattern), ([, code]) => code!).toSorted();
  };
  return {
    declared: codesIn(source, /(?:(?<=readonly code\b[^;,]*)'|^ {2})(ERR_\w+)[':]/gm),
    listed: codesIn(document, /^\| \[?`(ERR_\w+)`/gm),
  };
}
