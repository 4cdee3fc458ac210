import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { errorCodes } from '@mortise/test-kit';

test('the documents list the codes that exist', () => {
  const { declared, listed } = errorCodes(join(import.meta.dirname, '..'));
  expect(declared).toHaveLength(15);
  expect(listed).toEqual(declared);
  const files = { source: 'src/files/errors.ts', document: 'docs/files.md' };
  const ofFiles = errorCodes(join(import.meta.dirname, '..'), files);
  expect(ofFiles.declared).toHaveLength(15);
  expect(ofFiles.listed).toEqual(ofFiles.declared);
  const logs = { source: 'src/log-aggregation/errors.ts', document: 'docs/log-aggregation.md' };
  const ofLogs = errorCodes(join(import.meta.dirname, '..'), logs);
  expect(ofLogs.declared).toHaveLength(3);
  expect(ofLogs.listed).toEqual(ofLogs.declared);
});
