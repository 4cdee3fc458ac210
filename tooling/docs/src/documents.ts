/** The documents that readers get: READMEs, the pages of `docs/`, and those for contributors. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './pages.js';

export interface Document {
  /** Relative to the repository. */
  readonly file: string;
  readonly text: string;
}

export function documents(): Document[] {
  const patterns = ['*README.md', 'docs/*.md', 'CONTRIBUTING.md', 'SECURITY.md'];
  const listed = execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate', '--', ...patterns],
    { cwd: root, encoding: 'utf8' },
  );
  return listed
    .split('\n')
    .filter((file) => file !== '')
    .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));
}
