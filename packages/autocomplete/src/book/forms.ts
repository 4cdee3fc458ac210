/**
 * The forms by which a name is found: its words, folded by `normalize` and one space apart, beginning with each word in turn.
 * `Smith, Joan` has `smith joan` and `joan smith`, so whatever word a prefix belongs to, it is a prefix of a form.
 */
import { normalize } from '../normalize.js';

/** A name with more words is not found by the ones behind them, unless others are typed with them. */
export const MAX_WORDS = 8;

/** Is no end of a word: `O'Neil` is one. */
const INSIDE_WORDS = /['\u02bc\u2019]/g;
const BETWEEN_WORDS = /[\s\p{P}]+/u;

/** The words of a name or of a typed text. What has nothing but punctuation is a word itself. */
export function wordsOf(text: string): string[] {
  const folded = normalize(text);
  const words = folded
    .replace(INSIDE_WORDS, '')
    .split(BETWEEN_WORDS)
    .filter((word) => word !== '');
  if (words.length > 0) return words;
  const bare = folded.trim();
  return bare === '' ? [] : [bare];
}

/** Throws nothing; a name without a word has no form. */
export function formsOf(text: string): string[] {
  const words = wordsOf(text);
  const count = Math.min(words.length, MAX_WORDS);
  const turned = (first: number): string => [...words.slice(first), ...words.slice(0, first)].join(' ');
  return [...new Set(Array.from({ length: count }, (_, first) => turned(first)))];
}
