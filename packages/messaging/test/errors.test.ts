import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { errorCodes } from '@mortise/test-kit';

test('the reference lists the codes that exist', () => {
  const root = join(import.meta.dirname, '..');
  const document = '../../docs/messaging/reference/errors.md';
  const sources = ['src/errors.ts', 'src/files/errors.ts', 'src/log-aggregation/errors.ts'];
  const codes = sources.map((source) => errorCodes(root, { source, document }));
  expect(codes.map(({ declared }) => declared.length)).toEqual([15, 15, 3]);
  expect(codes[0]!.listed).toEqual(codes.flatMap(({ declared }) => declared).toSorted());
});
