/** A README of a package is read to its end: it fits on a screen or two, in short lines and short sentences. */
import { describe, expect, test } from '@jest/globals';
import { PACKAGES, read } from '../src/repository.js';

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
    .replace(/^```[\s\S]*?^```/gm, '')
    .replace(/^\[[^\]]+\]: .*$/gm, '')
    .replace(/<!--[\s\S]*?-->/g, '');
}

/** The sentences of paragraphs, items and cells. Code in a line counts as one word. */
function sentencesOf(file: string): string[] {
  const blocks = proseOf(file)
    .replace(/`([^`]*)`/g, (_, code: string) => code.replace(/[.!?|]/g, '').replace(/\s+/g, '_'))
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

describe.each(readmes)('%s', (file) => {
  test(`has at most ${MAX_LINES} lines and ${MAX_BYTES} bytes`, () => {
    expect(read(file).split('\n').length - 1).toBeLessThanOrEqual(MAX_LINES);
    expect(Buffer.byteLength(read(file))).toBeLessThanOrEqual(MAX_BYTES);
  });

  test(`has no line above ${MAX_LINE} characters outside of tables and code`, () => {
    const long = proseOf(file)
      .split('\n')
      .filter((line) => !line.startsWith('|') && line.length > MAX_LINE);
    expect(long).toEqual([]);
  });

  test(`has no sentence above ${MAX_WORDS} words, and at most ${MAX_AVERAGE} on average`, () => {
    const sentences = sentencesOf(file);
    expect(sentences.filter((sentence) => wordsOf(sentence) > MAX_WORDS)).toEqual([]);
    const words = sentences.map(wordsOf).reduce((sum, count) => sum + count, 0);
    expect(words / sentences.length).toBeLessThanOrEqual(MAX_AVERAGE);
  });
});
