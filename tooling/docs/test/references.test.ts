/** `UPDATE_DOCS=1 npm test -- references` writes the reference pages, and the tables of guides that are made from the source. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { root } from '../src/pages.js';
import { errorClasses } from '../src/reference/errors.js';
import { referencePages, regions } from '../src/reference/index.js';
import { PACKAGES } from '../src/reference/packages.js';
import { madePage, presentPage, writePage, writtenFile } from '../src/reference/page.js';
import { pageWith, update } from '../src/reference/region.js';

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
