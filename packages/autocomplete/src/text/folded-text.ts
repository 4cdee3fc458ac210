/**
 * A text with its normalized form, and the origin of each unit of the form. One character may become several (ß, ﬁ, 존),
 * several may become one (e and its accent), and some disappear. So positions in the form differ from positions in the
 * text.
 *
 * The text is split into characters as a reader sees them (Unicode grapheme clusters). So a range never cuts a surrogate
 * pair, a letter from its accent, a Hangul syllable or a family of emoji.
 */
import { foldPiece } from './normalize.js';

/** A range of a text in UTF-16 code units, as for `slice`: from `start` up to, but not including, `end`. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

export interface FoldedText {
  /** The normalized form. */
  readonly form: string;
  /** The range of the text from which the units `first` to `last` of the form come. */
  rangeOf(first: number, last: number): TextRange;
}

/** ASCII whose form differs only in case: without leading or double spaces. */
const AS_IT_IS = /^[!-~]+(?: [!-~]+)*$/;

/** Each code point is a character: no code point joins its neighbours. */
const SIMPLE =
  /^[^\p{Mark}\p{Default_Ignorable_Code_Point}\p{Emoji_Modifier}\p{Regional_Indicator}\p{Control}\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u0e33\u0eb3\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff\uff9e\uff9f\u{110bd}\u{110cd}]*$/u;
const BEGINS_WITH_MARK = /^\p{Mark}/u;
const CHARACTERS = /* @__PURE__ */ new Intl.Segmenter('und', { granularity: 'grapheme' });

/** A cache of forms of characters, because folding one costs as much as a short text: 0.5 µs. Cleared when it is full. */
const MAX_KNOWN = 4_096;
const known = new Map<string, string>();

/** Pure, never throws. O(length). */
export function foldText(text: string): FoldedText {
  if (AS_IT_IS.test(text)) {
    return { form: text.toLowerCase(), rangeOf: (first, last) => ({ start: first, end: last + 1 }) };
  }
  let form = '';
  const starts: number[] = [];
  const ends: number[] = [];
  let start = 0;
  for (const character of charactersOf(text)) {
    const end = start + character.length;
    for (const unit of formOf(character)) {
      if (unit === ' ' && (form === '' || form.endsWith(' '))) continue;
      form += unit;
      for (let index = 0; index < unit.length; index += 1) {
        starts.push(start);
        ends.push(end);
      }
    }
    start = end;
  }
  return { form, rangeOf: (first, last) => ({ start: starts[first]!, end: ends[last]! }) };
}

function* charactersOf(text: string): Iterable<string> {
  if (SIMPLE.test(text)) yield* text;
  else yield* withTheirMarks(CHARACTERS.segment(text));
}

/**
 * Unicode ends a character at a soft hyphen or at half a surrogate pair, which the form omits. A mark after one of them
 * then belongs to the letter before it, and is sorted among the marks of that letter.
 */
function* withTheirMarks(segments: Iterable<Intl.SegmentData>): Iterable<string> {
  let character = '';
  let ignored = '';
  for (const { segment } of segments) {
    const form = formOf(segment);
    if (form === '') {
      ignored += segment;
    } else if (BEGINS_WITH_MARK.test(form)) {
      character += ignored + segment;
      ignored = '';
    } else {
      yield character;
      yield ignored;
      character = segment;
      ignored = '';
    }
  }
  yield character;
  yield ignored;
}

function formOf(character: string): string {
  const form = known.get(character);
  if (form !== undefined) return form;
  if (known.size === MAX_KNOWN) known.clear();
  const made = foldPiece(character);
  // Characters with hundreds of marks are not cached.
  if (character.length <= 16) known.set(character, made);
  return made;
}
