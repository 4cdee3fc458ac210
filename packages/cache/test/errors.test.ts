import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

function codesIn(file: string, pattern: RegExp): string[] {
  const text = readFileSync(join(import.meta.dirname, '..', file), 'utf8');
  return [...text.matchAll(pattern)].map(([, code]) => code!).toSorted();
}

test('the README lists the codes that exist', () => {
  const codes = codesIn('src/errors.ts', /code = '(ERR_\w+)'/g);
  expect(codes).toHaveLength(3);
  expect(codesIn('README.md', /^\| `(ERR_\w+)`/gm)).toEqual(codes);
});
