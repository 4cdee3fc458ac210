/**
 * The forms by which a name is found: its words, folded by `normalize` and one space apart.
 *
 * A name is turned so that each word begins a form: `Smith, Joan` has `smith joan` and `joan smith`, and whatever word a prefix belongs
 * to, it is a prefix of a form. For several typed words, each two words of a name have a form that begins with the letters of
 * both in turn, behind \\3 and up to the third: \\3`jsomai joan smith`. So `jo sm` is the prefix `jsom` of it, found like any other
 * prefix, however many names begin with `jo` and with `sm`. The lesser word comes first, and the other words stand behind the
 * two in the order of bytes; a word that has ended is \\4. `book.forms.part.lua` makes the same ones.
 */
import { normalize } from '../normalize.js';

/** Of a name, no more words are looked for; of a typed text, no more are looked at. A name of n words has n (n + 1) / 2 forms: 21. */
export const MAX_WORDS = 6;
/** Code points. What is behind them in a word makes no difference. */
export const MAX_WORD_POINTS = 64;
/** Of a typed text, in UTF-16 units. What is behind them isn't looked at. */
const MAX_TEXT_UNITS = 1_024;
/** As the scripts have it. */
export const LEAST_FUZZY_POINTS = 3;

/** The common case: one word, which is its own form but for its case. */
const PLAIN_WORD = /^[A-Za-z0-9]{1,64}$/;

/** In front of the forms for two words. */
const PAIR = '\u0003';

const ENDED = '\u0004';

/** Is no end of a word: `O'Neil` is one. */
const INSIDE_WORDS = /['\u02bc\u2019]/g;
const BETWEEN_WORDS = /[\s\p{P}]+/u;

/** The words of a name or of a typed text. What has nothing but punctuation is words itself. */
export function wordsOf(text: string): string[] {
  const folded = normalize(text);
  const words = folded
    .replace(INSIDE_WORDS, '')
    .split(BETWEEN_WORDS)
    .filter((word) => word !== '');
  return words.length > 0 ? words : folded.split(' ').filter((word) => word !== '');
}

/** The words of a typed text that are looked for. None for an empty text, or one of spaces and marks only. */
export function tokensOf(text: string): string[] {
  if (PLAIN_WORD.test(text)) return [text.toLowerCase()];
  return wordsOf(text.slice(0, MAX_TEXT_UNITS)).slice(0, MAX_WORDS).map(cut);
}

/** Throws nothing; a name without a word has no form. */
export function formsOf(text: string): string[] {
  const words = wordsOf(text).slice(0, MAX_WORDS).map(cut);
  const forms = new Set<string>();
  words.forEach((word, first) => {
    forms.add([...words.slice(first), ...words.slice(0, first)].join(' '));
    for (let second = first + 1; second < words.length; second += 1) {
      const pair = [word, words[second]!].toSorted(byBytes) as [string, string];
      const rest = words.filter((_, index) => index !== first && index !== second).toSorted(byBytes);
      forms.add(`${PAIR}${inTurn(...pair)} ${[...pair, ...rest].join(' ')}`);
    }
  });
  return [...forms];
}

function cut(word: string): string {
  if (word.length <= MAX_WORD_POINTS) return word;
  return Array.from(word).slice(0, MAX_WORD_POINTS).join('');
}

function inTurn(a: string, b: string): string {
  const [ofA, ofB] = [Array.from(a), Array.from(b)];
  return [0, 1, 2].map((index) => (ofA[index] ?? ENDED) + (ofB[index] ?? ENDED)).join('');
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
