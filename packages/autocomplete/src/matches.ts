/**
 * Which parts of a name are shown as matched. Names and typed words are compared in their normalized form; what is marked are
 * ranges of the name as it is displayed.
 */
import { wordsOf } from './book/forms.js';
import type { FoldedText, TextRange } from './folded-text.js';
import { foldText } from './folded-text.js';

export interface MatchesOptions {
  /** The name was found by a typing error: one of the words may differ by one edit. Default false. */
  readonly fuzzy?: boolean;
}

/** More typed words than this are not looked for. */
const MAX_TOKENS = 32;
const ASCII = /^[ -~]*$/;

/** A word of a name: where its units are in the form of the name. */
interface Word {
  readonly text: string;
  readonly units: readonly number[];
}

/** So many units of the text that begins with a word. */
interface Match {
  readonly word: number;
  readonly length: number;
}

/**
 * The ranges of a display form that the tokens match, which are the words of a typed text as `wordsOf` gives them. Each token takes a word of its
 * own that begins with it: `jo` marks one word of `Jo Jones`, `jo jo` both. A token that no word begins with marks nothing, as where the
 * entry was found by an alias. With `fuzzy`, and if not all tokens match, one of them may differ from the beginning of its word by one
 * edit: a code point too many, too few, another one, or two exchanged.
 *
 * The ranges are sorted and disjoint, and hold whole characters as a reader sees them: half a Hangul syllable marks the syllable. Pure,
 * never throws. O(length of the display form × tokens).
 */
export function matchesOf(
  display: string,
  tokens: readonly string[],
  { fuzzy = false }: MatchesOptions = {},
): TextRange[] {
  const [first = ''] = tokens;
  // Most calls end here: one word, and the name begins with it.
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

/** Whether a text of ASCII is the beginning of a name, whatever its case, and no mark of another kind follows that may belong to its last letter. */
function beginsInAscii(display: string, text: string): boolean {
  if (display.charCodeAt(text.length) > 0x7e) return false;
  const beginning = display.startsWith(text) ? text : display.slice(0, text.length);
  return ASCII.test(beginning) && (beginning === text || beginning.toLowerCase() === text);
}

/** The range of a display form whose normalized form begins with `form`, which is one; none for an empty form, or if it does not. */
export function prefixMatchOf(display: string, form: string): TextRange[] {
  if (form === '') return [];
  const folded = foldText(display);
  if (!folded.form.startsWith(form)) return [];
  return [folded.rangeOf(0, form.length - 1)];
}

/** The words in their order. They lack what is between words, and apostrophes, so their units are looked for one by one. */
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
 * Gives as many tokens as possible a word each. The longest choose first: all words that a longer token fits are among those of a
 * shorter one that it begins with, so none is taken that another needs more.
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

/** Gives each token a word, one of them with an edit, or returns undefined. */
function assignWithEdit(tokens: readonly string[], words: readonly Word[]): Match[] | undefined {
  for (const [index, token] of tokens.entries()) {
    const others = tokens.toSpliced(index, 1);
    for (let word = 0; word < words.length; word += 1) {
      // The space between two words may be what is missing.
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

/** How many units of the text a token spells with one edit at most, or undefined. */
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
  // Another last letter is one too many: what is before it matches.
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
