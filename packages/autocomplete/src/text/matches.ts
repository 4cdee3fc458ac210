/**
 * The parts of a name that match, for highlighting: normalized forms are compared, but the results are ranges of the
 * display form.
 */
import type { FoldedText, TextRange } from './folded-text.js';
import { foldText } from './folded-text.js';
import { wordsOf } from './forms.js';
import { normalize } from './normalize.js';

export interface MatchesOptions {
  /** Whether one of the words may differ by one edit. Default false. */
  readonly fuzzy?: boolean | undefined;
}

/** Further typed words are ignored. */
const MAX_TOKENS = 32;
const ASCII = /^[ -~]*$/;

/** A word of a name, with the positions of its units in the form of the name. */
interface Word {
  readonly text: string;
  readonly units: readonly number[];
}

/** The first `length` units of the text that begins with a word. */
interface Match {
  readonly word: number;
  readonly length: number;
}

/**
 * The ranges of a display form that match the tokens of a typed text. Each token needs a different word that begins with
 * it: `jo` marks one word of `Jo Jones`, `jo jo` both. A token without such a word marks nothing, for example if an alias
 * matched. With `fuzzy`, if not all tokens match, one of them may differ from the beginning of its word by one edit: an
 * extra, missing or wrong code point, or two exchanged ones.
 *
 * The ranges are sorted and disjoint, and contain whole characters as a reader sees them: half a Hangul syllable marks the
 * syllable. Pure, never throws. O(length of the display form × tokens).
 */
export function matchesOf(
  display: string,
  tokens: readonly string[],
  { fuzzy = false }: MatchesOptions = {},
): TextRange[] {
  const [first = ''] = tokens;
  // The common case: one word, and the name begins with it.
  if (tokens.length === 1 && first !== '' && beginsInAscii(display, first)) {
    return [{ start: 0, end: first.length }];
  }
  const wanted = tokens.filter((token) => token !== '').slice(0, MAX_TOKENS);
  if (wanted.length === 0) return [];
  const folded = foldText(display);
  const words = wordsIn(folded.form, display);
  const exact = assign(wanted, words);
  const isWhole = exact.length === wanted.length;
  const found = fuzzy && !isWhole ? (assignWithEdit(wanted, words) ?? exact) : exact;
  return rangesOf(found, words, folded);
}

/** Whether a name begins with an ASCII text in any case, and no mark follows that could belong to the last letter. */
function beginsInAscii(display: string, text: string): boolean {
  if (display.charCodeAt(text.length) > 0x7e) return false;
  const beginning = display.startsWith(text) ? text : display.slice(0, text.length);
  return ASCII.test(beginning) && (beginning === text || beginning.toLowerCase() === text);
}

/**
 * Returns the range of a contact that a typed text matches. Contacts are found by their beginning, so the result is one range,
 * or none if the name doesn't begin with the text. Case, accents and width don't matter. Pure, never throws. O(length).
 */
export function prefixMatchOf(display: string, text: string): TextRange[] {
  const form = normalize(text);
  if (form === '') return [];
  const folded = foldText(display);
  if (!folded.form.startsWith(form)) return [];
  return [folded.rangeOf(0, form.length - 1)];
}

/** The words in their order. They lack separators and apostrophes, so the position of each unit is searched. */
function wordsIn(form: string, display: string): Word[] {
  let at = 0;
  return wordsOf(display).map((text) => {
    const units: number[] = [];
    for (const point of text) {
      at = form.indexOf(point, at);
      for (let index = 0; index < point.length; index += 1) units.push(at + index);
      at += point.length;
    }
    return { text, units };
  });
}

/**
 * Assigns a word to as many tokens as possible. The longest token chooses first: its words also match any token that is its
 * prefix, so it takes no word that a shorter one needs more.
 */
function assign(tokens: readonly string[], words: readonly Word[], except = -1): Match[] {
  const taken = new Set([except]);
  const found: Match[] = [];
  for (const token of tokens.toSorted((a, b) => b.length - a.length)) {
    const word = words.findIndex(({ text }, index) => !taken.has(index) && text.startsWith(token));
    if (word < 0) continue;
    taken.add(word);
    found.push({ word, length: token.length });
  }
  return found;
}

/** Assigns a word to each token, to one of them with an edit. Undefined if that is impossible. */
function assignWithEdit(tokens: readonly string[], words: readonly Word[]): Match[] | undefined {
  for (const [index, token] of tokens.entries()) {
    const others = tokens.toSpliced(index, 1);
    for (let word = 0; word < words.length; word += 1) {
      // The missing code point may be the space between two words.
      const text = words
        .slice(word)
        .map((one) => one.text)
        .join(' ');
      const length = editedLength(Array.from(token), text);
      if (length === undefined) continue;
      const found = assign(others, words, word);
      if (found.length === others.length) return [...found, { word, length }];
    }
  }
  return undefined;
}

/** The number of units at the start of the text that equal the token after at most one edit, or undefined. */
function editedLength(token: readonly string[], text: string): number | undefined {
  const points = Array.from(text.slice(0, 2 * token.length + 2));
  const same = points.findIndex((point, index) => point !== token[index]);
  const at = same < 0 ? points.length : same;
  const most = token.length;
  const fits = (from: number, points_: readonly string[]): boolean =>
    from + points_.length <= points.length && points_.every((point, index) => point === points[from + index]);
  const lengthOf = (count: number): number => points.slice(0, count).join('').length;
  if (at >= most) return lengthOf(most);
  const swapped = at + 1 < most && token[at] === points[at + 1] && token[at + 1] === points[at];
  if (swapped && fits(at + 2, token.slice(at + 2))) return lengthOf(most);
  if (fits(at + 1, token.slice(at))) return lengthOf(most + 1);
  // A wrong last letter counts as an extra one, since the letters before it match.
  if (at + 1 < most && fits(at + 1, token.slice(at + 1))) return lengthOf(most);
  if (most > 1 && fits(at, token.slice(at + 1))) return lengthOf(most - 1);
  return undefined;
}

function rangesOf(found: readonly Match[], words: readonly Word[], folded: FoldedText): TextRange[] {
  const ranges = found.map(({ word, length }) => {
    const units = words.slice(word).flatMap((one, index) => (index === 0 ? one.units : [-1, ...one.units]));
    const last = units[length - 1] === -1 ? units[length - 2]! : units[length - 1]!;
    return folded.rangeOf(units[0]!, last);
  });
  ranges.sort((a, b) => a.start - b.start || a.end - b.end);
  const merged: TextRange[] = [];
  for (const range of ranges) {
    const before = merged.at(-1);
    // Two words of one character, as in ℀.
    if (before && range.start < before.end) {
      merged[merged.length - 1] = { start: before.start, end: Math.max(before.end, range.end) };
    } else merged.push(range);
  }
  return merged;
}
