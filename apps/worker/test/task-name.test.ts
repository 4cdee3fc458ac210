import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';

import { taskName } from '../src/mail/task-name.js';

test('a UUID is its own name', () => {
  expect(taskName('01936d8a-6a3e-7c3b-9a55-0123456789ab')).toBe('01936d8a-6a3e-7c3b-9a55-0123456789ab');
});

test.each([
  ['../../etc/passwd', '%2E%2E%2F%2E%2E%2Fetc%2Fpasswd'],
  ['a@b>\r\nBcc: x', 'a%40b%3E%0D%0ABcc%3A%20x'],
  ['%2E', '%252E'],
  ['\0', '%00'],
  ['é', '%E9'],
  ['\u{1f600}', '%uD83D%uDE00'],
  ['\u0100', '%u0100'],
  ['x'.repeat(200), 'x'.repeat(200)],
])('%j is named %s', (id, name) => {
  expect(taskName(id)).toBe(name);
});

test('names are dot-atom text of at most 200 bytes, and distinct ids have distinct names', () => {
  const id = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }),
    fc.stringMatching(/^[%u0-9A-F.]{1,8}$/),
    fc.constantFrom('.', '..', '%', '%u', '\ud800', '\udfff', 'sha256='),
  );
  fc.assert(
    fc.property(id, id, (a, b) => {
      expect(taskName(a)).toMatch(/^(?:[A-Za-z0-9_%-]{1,200}|sha256=[0-9a-f]{64})$/);
      expect(taskName(a) === taskName(b)).toBe(a === b);
    }),
    { numRuns: 500 },
  );
});
