/** A README of a package fits on a screen or two. It and each written page have short lines and short sentences. */
import { describe, expect, test } from '@jest/globals';
import { files, PACKAGES, read } from '../src/repository.js';

const MAX_LINES = 150;
const MAX_BYTES = 10_000;
const MAX_LINE = 160;
const MAX_WORDS = 30;
const MAX_AVERAGE = 18;

const readmes = PACKAGES.map((name) => `packages/${name}/README.md`);

/** Without code, comments, front matter and the targets of links. */
function proseOf(file: string): string {
  return read(file)
    .replace(/^---\n[\s\S]*?\n---\n/, '')
    .replace(/^(```|~~~)[\s\S]*?^\1/gm, '')
    .replace(/^\[[^\]]+\]: .*$/gm, '')
    .replace(/^<!--[\s\S]*?-->/gm, '');
}

/** The sentences of paragraphs, items and cells. Code in a line counts as one word. */
function sentencesOf(file: string): string[] {
  const blocks = proseOf(file)
    .replace(/(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)/gs, (_, __, code: string) =>
      code.replace(/[.!?|]/g, '').replace(/\s+/g, '_'),
    )
    .replace(/\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])?/g, '$1')
    .split(/\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.|#))/)
    .flatMap((block) => (block.trim().startsWith('|') ? block.split('|') : [block]));
  return blocks
    .flatMap((block) => block.replace(/\s+/g, ' ').split(/(?<=[.!?])\s/))
    .map((sentence) => sentence.replace(/^[\s#*-]+/, '').trim())
    .filter((sentence) => wordsOf(sentence) > 2);
}

function wordsOf(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

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

describe.each(['README.md', ...readmes])('%s', (file) => {
  test(`has at most ${MAX_LINES} lines and ${MAX_BYTES} bytes`, () => {
    expect(read(file).split('\n').length - 1).toBeLessThanOrEqual(MAX_LINES);
    expect(Buffer.byteLength(read(file))).toBeLessThanOrEqual(MAX_BYTES);
  });
});

test.each([...readmes, ...pages])('%s has short lines and sentences', (file) => {
  expect(longLines(file)).toEqual([]);
  expect(longSentences(file)).toEqual([]);
  expect(averageOf(file)).toBeLessThanOrEqual(MAX_AVERAGE);
});

test('most documents are such pages', () => {
  expect(pages.length).toBeGreaterThan(90);
});
