/**
 * Each program in a README or a page of docs either quotes a file of examples, which the tests of its package run, or
 * type-checks as a module against the sources of the packages.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { blocksOf } from '../src/blocks.js';
import { errorsIn } from '../src/compile.js';
import { documents } from '../src/documents.js';
import { root } from '../src/pages.js';

/** Where the imports of the fragments find the dependencies of this package. */
const modules = join(root, 'tooling/docs/.cache/fragments');

const pages = documents().map((document) => ({ ...document, ...blocksOf(document.text) }));
const quotes = pages.flatMap(({ file, quotes: ofFile }) => ofFile.map((quote) => ({ page: file, ...quote })));

/** A call and its imports may stand on several pages. */
const MAX_LINES_SHOWN_TWICE = 5;

beforeAll(() => rmSync(modules, { recursive: true, force: true }));
afterAll(() => rmSync(modules, { recursive: true, force: true }));

test('each quoted file is an example, and the page has it as it is', () => {
  expect(quotes.length).toBeGreaterThan(5);
  const different = quotes
    .filter(
      ({ file, text }) =>
        !/\/(examples|programs)\//.test(file) || text !== readFileSync(join(root, file), 'utf8'),
    )
    .map(({ page, line, file }) => `${page}:${line} differs from ${file}`);
  expect(different).toEqual([]);
});

test('no program stands in two documents', () => {
  // A reader comes from a README to a guide, and reads nothing twice.
  const programs = pages.flatMap(({ file, text }) =>
    [...text.matchAll(/^```(?:ts|js|tsx)\n([\s\S]*?)^```$/gm)]
      .map(([, code]) => ({ file, code: code! }))
      .filter(({ code }) => code.split('\n').length > MAX_LINES_SHOWN_TWICE),
  );
  expect(programs.length).toBeGreaterThan(50);
  const twice = programs.filter(({ code }, index) =>
    programs.some((other, before) => before < index && other.code === code),
  );
  expect(twice.map(({ file, code }) => `${file}: ${code.split('\n')[0]}`)).toEqual([]);
});

test('each other block compiles: TypeScript and TSX with `strict`, JavaScript by its values', async () => {
  const fragments = pages.flatMap(({ file, fragments: ofFile }) =>
    ofFile.map((fragment) => ({ file, ...fragment })),
  );
  expect(new Set(fragments.map(({ language }) => language))).toEqual(new Set(['ts', 'js', 'tsx']));
  expect(await errorsIn(modules, fragments)).toEqual([]);
});
