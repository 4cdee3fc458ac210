/**
 * The form in which names are compared. Names are normalized when they are stored, typed texts when they are completed.
 *
 * NFKD is not composed again: a Hangul syllable then consists of its letters, so an unfinished syllable (조, or only ㅈ)
 * finds 존. No composed form allows that. Only the accents U+0300 to U+036F are removed. Removing every mark (`\p{M}`) would
 * turn ガ into カ and कि into क, and remove the vowels of Thai.
 */

/** The version of the rules of `normalize`. Forms of another version must be stored again. */
export const NORMALIZATION_VERSION = 1;

/** The common case, 30 times as fast: visible ASCII, where only the case changes. */
const VISIBLE_ASCII = /^[!-~]*$/;
/** Accents, characters without a shape (joiners, variation selectors, soft hyphens), and halves of surrogate pairs. */
const IGNORED = /[\u0300-\u036f\p{Default_Ignorable_Code_Point}\p{Surrogate}]/gu;
const SPACES = /[\s\p{Control}]+/gu;
/** Letters that Unicode does not decompose, and the final sigma. */
const LETTERS = new Map(
  Object.entries({ ς: 'σ', ł: 'l', ø: 'o', đ: 'd', ð: 'd', þ: 'th', æ: 'ae', œ: 'oe', ħ: 'h', ŧ: 't' }),
);
const LETTER = /[ςłøđðþæœħŧ]/g;

/**
 * Removes differences of case, accents and compatibility forms: `Łukasz`, `lukasz` and `ＬＵＫＡＳＺ` become equal. Pure, idempotent,
 * independent of the locale, never throws. A prefix of a text becomes a prefix of its form. Half of a surrogate pair is
 * removed. The form has no control characters and no leading space. Each run of white space becomes one space. O(length): 0.02
 * µs for a short ASCII name, 0.5 to 0.9 µs for others.
 */
export function normalize(text: string): string {
  if (VISIBLE_ASCII.test(text)) return text.toLowerCase();
  return foldPiece(text).trimStart();
}

/**
 * The form of a piece of a text: a leading space stays. The forms of all pieces make the form of the text if no piece begins
 * with a mark of the piece before. Several spaces that meet become one, and leading ones none.
 */
export function foldPiece(piece: string): string {
  // Ignored characters are removed before and after NFKD, which sorts marks, but not across ignored characters.
  const bare = piece.replace(IGNORED, '').normalize('NFKD').replace(IGNORED, '').replace(SPACES, ' ');
  // Lower case first, since ẞ has no upper case; then ß → SS → ss and ı → I → i.
  const folded = bare.toLowerCase().toUpperCase().toLowerCase();
  return folded.replace(LETTER, (letter) => LETTERS.get(letter) ?? letter);
}
