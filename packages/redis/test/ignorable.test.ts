import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { ignorable } from '../src/index.js';

test('a rejection reaches who awaits it, and is no unhandled one otherwise', async () => {
  const refusal = new Error('no');
  const promise = ignorable(Promise.reject(refusal));
  // The runner fails a test with an unhandled rejection.
  await turn();
  await turn();
  await expect(promise).rejects.toBe(refusal);
  expect(await ignorable(Promise.resolve(1))).toBe(1);
});
