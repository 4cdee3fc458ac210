import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { errorCodes } from '@mortise/test-kit';

test('the README lists the codes that exist', () => {
  const { declared, listed } = errorCodes(join(import.meta.dirname, '..'));
  expect(declared).toHaveLength(7);
  expect(listed).toEqual(declared);
});
