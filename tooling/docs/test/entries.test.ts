/** A reader finds each entry of a package on its page of calls. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { root } from '../src/pages.js';

const PACKAGES = ['locks', 'queues', 'messaging', 'autocomplete', 'cache', 'redis'];
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

test.each(PACKAGES)('the page of calls of %s names each entry', (name) => {
  const { exports } = JSON.parse(read(`packages/${name}/package.json`)) as { readonly exports: object };
  const page = read(`docs/${name}/reference/api.md`);
  const entries = Object.keys(exports).filter((entry) => !['.', './package.json'].includes(entry));
  expect(entries.length).toBeGreaterThan(3);
  const absent = entries.filter((entry) => !page.includes(`\`@mortise/${name}${entry.slice(1)}\``));
  expect(absent).toEqual([]);
});
