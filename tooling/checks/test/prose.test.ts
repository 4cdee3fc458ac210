/** Each written page has short lines and short sentences. */
import { expect, test } from '@jest/globals';
import { proseOf, sentencesOf, wordsOf } from '../src/prose.js';
import { files, PACKAGES } from '../src/repository.js';

const MAX_LINE = 160;
const MAX_WORDS = 30;
const MAX_AVERAGE = 18;

const readmes = PACKAGES.map((name) => `packages/${name}/README.md`);

/** Figures are made, and the first page of the site is a list of links. */
const pages = files(
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'apps/*/README.md',
  'deploy/*.md',
  'tooling/*/README.md',
  'docs/*.md',
).filter((file) => !/\/benchmarks\/|BENCHMARKS|^docs\/index/.test(file));

function longLines(file: string): string[] {
  return proseOf(file)
    .split('\n')
    .filter((line) => !line.startsWith('|') && line.length > MAX_LINE);
}

function longSentences(file: string): string[] {
  return sentencesOf(file).filter((sentence) => wordsOf(sentence) > MAX_WORDS);
}

function averageOf(file: string): number {
  const counts = sentencesOf(file).map(wordsOf);
  return counts.reduce((sum, count) => sum + count, 0) / counts.length;
}

test.each([...readmes, ...pages])('%s has short lines and sentences', (file) => {
  expect(longLines(file)).toEqual([]);
  expect(longSentences(file)).toEqual([]);
  expect(averageOf(file)).toBeLessThanOrEqual(MAX_AVERAGE);
});

test('most documents are such pages', () => {
  expect(pages.length).toBeGreaterThan(90);
});
