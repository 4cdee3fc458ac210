/** Sources and documents use the words of the field; `words.mjs` has the table, and lists the places from the command line. */
import { expect, test } from '@jest/globals';
import { refusedIn, refusedWords } from '../words.mjs';

test('no source and no document has a word that the glossary refuses', () => {
  expect(refusedWords()).toEqual([]);
});

test.each([
  ['a parked worker', ['"parked" → idle']],
  ['const isHungry = true;', ['"hungry" → has work']],
  ['an idle worker that has work', []],
])('%s', (text, refused) => {
  expect(refusedIn(text)).toEqual(refused);
});
