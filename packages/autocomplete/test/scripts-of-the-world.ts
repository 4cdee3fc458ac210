/** Names in the scripts that completion has to serve, for property tests. */
import { normalize } from '@mortise/autocomplete';
import * as fc from 'fast-check';

/** Letters and their marks, by script. */
const ALPHABETS: Readonly<Record<string, readonly string[]>> = {
  ASCII: ['a', 'b', 'J', 'o', 'S', 'm', 'i', 't', 'h', '7', "'", 'z'],
  'Latin with diacritics': ['é', 'e\u0301', 'Ł', 'ß', 'ẞ', 'ø', 'Æ', 'ñ', 'ﬁ', 'İ', 'ı', 'ǆ', 'a', 's'],
  Greek: ['Σ', 'ς', 'σ', 'ό', 'ο\u0301', 'Δ', 'ΐ', 'ᾳ', 'ω'],
  Cyrillic: ['Ж', 'ж', 'й', 'и\u0306', 'ё', 'Ї', 'и', 'о'],
  Arabic: ['م', 'ح', 'ﻼ', 'أ', 'ا\u0654', 'ّ', 'د', '\u200c'],
  Thai: ['ส', 'ม', 'ช', 'า', 'ย', 'ที่', 'กำ', 'น้ำ', 'เ'],
  Hindi: ['क', 'कि', 'क्ष', 'ज़', 'ज\u093c', 'र्', 'मा', '\u200d'],
  Hangul: ['존', '경', '조', 'ㅈ', '종', '\u110c\u1169\u11ab', '\u110c\u1169', 'ᆫ', 'ﾡ'],
  Han: ['中', '文', '王', '𠮷', '語', '㍿', '豈', '〇'],
  emoji: ['😀', '👨\u200d👩\u200d👧', '👍🏽', '🇩🇪', '❤️', '1️⃣', '🏴\u{e0067}\u{e0062}\u{e007f}'],
};

/** Any character but lone surrogates. The units of fast-check itself sort all of Unicode first, which takes seconds. */
export const codePoint = fc
  .oneof(
    fc.integer({ min: 0, max: 0x7f }),
    fc.integer({ min: 0x80, max: 0x24ff }),
    fc.integer({ min: 0x2500, max: 0xd7ff }),
    fc.integer({ min: 0xe000, max: 0x10ffff }),
  )
  .map((point) => String.fromCodePoint(point));

export const SCRIPTS = Object.keys(ALPHABETS);

/** A word of a script. */
export function wordIn(script: string): fc.Arbitrary<string> {
  return fc
    .array(fc.constantFrom(...ALPHABETS[script]!), { minLength: 1, maxLength: 6 })
    .map((letters) => letters.join(''))
    .filter((word) => normalize(word) !== '');
}

/** A name of one to four words, with separators as people write them. */
export function nameIn(script: string): fc.Arbitrary<string> {
  const between = fc.constantFrom(' ', '-', ', ', '  ', '.', '\u3000', ' \u00ad');
  return fc
    .array(fc.tuple(wordIn(script), between), { minLength: 1, maxLength: 4 })
    .map((words) => words.flat().slice(0, -1).join(''));
}
