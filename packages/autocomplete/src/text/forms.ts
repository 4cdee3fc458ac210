/**
 * The forms by which a name is found: its words, folded by `normalize` and one space apart.
 *
 * A name has a turned form for each word, which begins with it: `Smith, Joan` has `smith joan` and `joan smith`. So a
 * prefix of any word is a prefix of a form. For several typed words, each pair of words of a name also has a form. It
 * begins with \\3 and the first three letters of both words, alternating: \\3`jsomai joan smith`. So `jo sm` is its prefix
 * `jsom`, which is found like any other prefix, however many names begin with `jo` and with `sm`. The lesser word comes
 * first; the other words follow in the order of bytes; \\4 stands for a letter after the end of a word.
 * `book.forms.part.lua` makes the same forms.
 */
import { normalize } from './normalize.js';

/** Maximum of words of a name or typed text. A name of n words has n (n + 1) / 2 forms: 21 at most. */
const MAX_WORDS = 6;
/** Maximum of code points of a word; further ones are ignored. */
const MAX_WORD_POINTS = 64;
/** Maximum of UTF-16 units of a typed text; further ones are ignored. */
const MAX_TEXT_UNITS = 1_024;
/** Minimum of code points of a token with an edit, as in `book.edits.section.lua`. */
export const LEAST_FUZZY_POINTS = 3;

/** The common case: one word, whose form differs only in case. */
const PLAIN_WORD = /^[A-Za-z0-9]{1,64}$/;

/** Begins the forms of two words. */
const PAIR = '\u0003';

const ENDED = '\u0004';

/** Characters that don't end a word: `O'Neil` is one word. */
const INSIDE_WORDS = /['\u02bc\u2019]/g;
const BETWEEN_WORDS = /[\s\p{P}]+/u;

/** The words of a name or a typed text. In a text of punctuation only, the punctuation is the words. */
export function wordsOf(text: string): string[] {
  const folded = normalize(text);
  const words = folded
    .replace(INSIDE_WORDS, '')
    .split(BETWEEN_WORDS)
    .filter((word) => word !== '');
  return words.length > 0 ? words : folded.split(' ').filter((word) => word !== '');
}

/** The words of a typed text, within the limits. None for an empty text, or one of spaces and marks only. */
export function tokensOf(text: string): string[] {
  if (PLAIN_WORD.test(text)) return [text.toLowerCase()];
  return wordsOf(text.slice(0, MAX_TEXT_UNITS)).slice(0, MAX_WORDS).map(cut);
}

/** The forms of a name. A name without a word has none. */
export function formsOf(text: string): string[] {
  const words = wordsOf(text).slice(0, MAX_WORDS).map(cut);
  const forms = new Set<string>();
  words.forEach((word, first) => {
    forms.add([...words.slice(first), ...words.slice(0, first)].join(' '));
    for (let second = first + 1; second < words.length; second += 1) {
      const pair = [word, words[second]!].toSorted(byBytes) as [string, string];
      const others = words.filter((_, index) => index !== first && index !== second).toSorted(byBytes);
      forms.add(`${PAIR}${inTurn(...pair)} ${[...pair, ...others].join(' ')}`);
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
