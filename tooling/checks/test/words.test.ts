/** Sources and documents use the words of the field; `words.mjs` has the table, and lists the places from the command line. */
import { expect, test } from '@jest/globals';
import { clausesIn, namesIn, refusedIn, refusedWords } from '../words.mjs';

test('no source and no document has a word that the glossary refuses', () => {
  expect(refusedWords()).toEqual([]);
});

test.each([
  ['a parked worker', ['"parked" → idle']],
  ['const isHungry = true;', ['"hungry" → has work']],
  ['local toldWaiters = {}', ['"told" → notifies, is notified, learns']],
  ['a name so long that it is refused', []],
  ['it waits so long as it can', ['"so long" → meanwhile, as long, the time itself']],
  ['it goes on behind the last one', ['"goes on behind" → after']],
  ['the clock is a second behind, and it leaves nothing behind', []],
  ['an idle worker that has work', []],
])('%s', (text, refused) => {
  expect(refusedIn(text)).toEqual(refused);
});

test.each([
  ['wait line', 1],
  ['sending queue', 1],
  ['note', 1],
  ['ask options', 1],
  ['log line', 0],
  ['promise settled result', 0],
  ['half open probe', 0],
])('the name "%s"', (words, refused) => {
  expect(namesIn(words)).toHaveLength(refused);
});

test.each([
  ['/** What is read is old. */', 1],
  [' * The reply. Whoever reads it waits.', 1],
  ['// Why? What is read?', 0],
  ['- **What it costs.** Nothing.', 1],
  ['| key | What it has |', 1],
  ['The rows that it reads.', 0],
  ["  test('what is read is old', () => {", 1],
  ["  ])(\n    'whoever reads it waits: %s',", 1],
  ["  test('an old row is read', () => {", 0],
])('the beginning of %j', (text, refused) => {
  expect(clausesIn('a.ts', text)).toHaveLength(refused);
});
