/**
 * The reference pages and the defaults in documents are those of the sources. `UPDATE_DOCS=1 npm test -- references` writes the
 * pages, and the tables of guides that are made from the source.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { documents } from '../src/documents.js';
import { root } from '../src/pages.js';
import { defaults, defaultsOf } from '../src/reference/defaults.js';
import { errorClasses } from '../src/reference/errors.js';
import { referencePages, regions } from '../src/reference/index.js';
import { PACKAGES } from '../src/reference/packages.js';
import { madePage, presentPage, writePage, writtenFile } from '../src/reference/page.js';
import { pageWith, update } from '../src/reference/region.js';
import { wrongStatements } from '../src/stated/compare.js';
import { statementsIn } from '../src/stated/documents.js';
import { FOREIGN, KEPT } from '../src/stated/elsewhere.js';
import { knownDefaults } from '../src/stated/known.js';

/** The tests of apps/api make these pages. */
const OF_THE_API = ['tooling/docs/reference/service/problems.md', 'tooling/docs/reference/service/routes.md'];

if (process.env['UPDATE_DOCS']) {
  for (const page of referencePages) writePage(page);
  for (const region of regions) update(region);
}

test('each page has a file of its written words, and each such file a page', () => {
  expect(referencePages.length).toBeGreaterThan(20);
  const folder = 'tooling/docs/reference';
  const written = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `${folder}/${file.replaceAll('\\', '/')}`);
  const used = [...referencePages.map(({ file }) => writtenFile(file)), ...OF_THE_API];
  expect(written.toSorted()).toEqual(used.toSorted());
});

test.each(referencePages)('docs/$file is made from the source, word for word', (page) => {
  expect(presentPage(page)).toBe(madePage(page));
});

test.each(regions)('docs/$file has the $name of the source', (region) => {
  const { present, wanted } = pageWith(region);
  expect(present).toBe(wanted);
});

test('messages end with a link, but those of a handler and those of misuse', () => {
  const classes = PACKAGES.flatMap(errorClasses);
  expect(classes.length).toBeGreaterThan(50);
  expect(classes.filter(({ isLinked }) => !isLinked).map(({ name }) => name)).toEqual([
    'Discard',
    'RetryLater',
    'ArgumentTypeError',
    'ArgumentRangeError',
  ]);
});

test('the default in the comment of an option is that of the code', () => {
  const found = defaults();
  expect(found.length).toBeGreaterThan(100);
  const different = found.filter(({ promised, values }) => !values.includes(promised));
  expect(different).toEqual([]);
});

test('numbers, sizes, products and words are read', () => {
  const text = `
    const DAY_MS = 1_000;
    const DEFAULTS = { keepMs: 3 * DAY_MS, bytes: 2_097_152, fair: true, order: 'score', other: {} } as const;
    interface Options {
      /** Kept. Default 3 s. */ keepMs?: number;
      /** Default 2 MiB. */ bytes?: number;
      /** Default \`true\`. */ fair?: boolean;
      /** Default: \`score\`. */ order?: string;
      /** Default: none. */ other?: object;
    }`;
  expect(defaultsOf('a', text)).toEqual([
    { option: 'a: keepMs', promised: 3_000, values: [3_000] },
    { option: 'a: bytes', promised: 2_097_152, values: [2_097_152] },
    { option: 'a: fair', promised: true, values: [true] },
    { option: 'a: order', promised: 'score', values: ['score'] },
  ]);
});

const known = knownDefaults();
// The references of options and of HTTP are made from the source.
const statements = documents()
  .filter(({ file }) => !/\/reference\/(?:options\.md|http\/)/.test(file))
  .flatMap(statementsIn);
const others = wrongStatements(statements, known);
const isSame = (
  statement: { place: string; text: string },
  { file, text }: { file: string; text: string },
): boolean => statement.place.startsWith(`${file}:`) && statement.text === text;

test('each default in a document is that of an option or a setting', () => {
  expect(statements.length).toBeGreaterThan(200);
  const listed = [...KEPT, ...FOREIGN];
  expect(others.filter((statement) => !listed.some((each) => isSame(statement, each)))).toEqual([]);
  expect(listed.filter((each) => !others.some((statement) => isSame(statement, each)))).toEqual([]);
});

test.each(KEPT)('$text in $file is in $source', ({ source, code }) => {
  expect(readFileSync(join(root, source), 'utf8')).toContain(code);
});

test('few defaults are those of other programs', () => {
  expect(FOREIGN.map(({ reason }) => reason)).toHaveLength(3);
});
