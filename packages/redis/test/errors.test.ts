import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { BatchReplyError, ClientClosedError, CodedError, LeaseLostError } from '../src/index.js';
import * as door from '../src/index.js';

test('the README lists the codes that are exported', () => {
  const readme = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8');
  const listed = [...readme.matchAll(/^\| `(ERR_\w+)` +\| `(\w+)` +\|/gm)].map(
    ([, code, name]) => `${code} ${name}`,
  );
  const errors = [new ClientClosedError(), new BatchReplyError(1, 0), new LeaseLostError('a lock')];
  expect(listed.toSorted()).toEqual(errors.map(({ code, name }) => `${code} ${name}`).toSorted());
});

test('every exported error is among them', () => {
  const classes = Object.values(door).filter(
    (value) => typeof value === 'function' && value.prototype instanceof CodedError,
  );
  expect(new Set(classes)).toEqual(new Set([ClientClosedError, BatchReplyError, LeaseLostError]));
});
