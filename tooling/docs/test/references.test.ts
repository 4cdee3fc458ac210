/** `UPDATE_DOCS=1 npm test -- references` writes the parts of the reference pages that are made from the source. */
import { expect, test } from '@jest/globals';
import { regions } from '../src/reference/index.js';
import { pageWith, update } from '../src/reference/region.js';

if (process.env['UPDATE_DOCS']) for (const region of regions) update(region);

test('there are references of each package', () => {
  expect(regions.length).toBeGreaterThan(9);
});

test.each(regions)('docs/$file has the $name of the source', (region) => {
  const { present, wanted } = pageWith(region);
  expect(present).toBe(wanted);
});
