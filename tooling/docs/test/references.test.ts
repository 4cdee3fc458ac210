/** `UPDATE_DOCS=1 npm test -- references` writes the parts of the reference pages that are made from the source. */
import { expect, test } from '@jest/globals';
import { errorClasses } from '../src/reference/errors.js';
import { regions } from '../src/reference/index.js';
import { PACKAGES } from '../src/reference/packages.js';
import { pageWith, update } from '../src/reference/region.js';

if (process.env['UPDATE_DOCS']) for (const region of regions) update(region);

test('there are references of each package', () => {
  expect(regions.length).toBeGreaterThan(9);
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
