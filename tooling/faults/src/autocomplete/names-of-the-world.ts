/** Names in many scripts, and what somebody types to find one. */
import type { Random } from './random.js';

/** Code points. */
function points(text: string): string[] {
  return Array.from(text);
}

function range(from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => String.fromCodePoint(from + index));
}

/** Letters, with what is put on them; the first ones more often. */
const LETTERS = {
  ASCII: [...points('aeslnrJoSmith'), ...range(0x61, 0x7a), ...range(0x41, 0x5a), ...points('0189'), "'"],
  'Latin with diacritics': [
    ...points('éøßŁaeso'),
    'e\u0301',
    'a\u0308',
    ...range(0xc0, 0xd6),
    ...range(0xd8, 0xf6),
    ...range(0xf8, 0x17f),
    ...points('ẞǆﬁİı'),
  ],
  Greek: [
    ...points('σςαέο'),
    'ο\u0301',
    ...range(0x388, 0x38a),
    ...range(0x391, 0x3a1),
    ...range(0x3a3, 0x3ce),
  ],
  Cyrillic: [...points('аеийё'), 'и\u0306', ...range(0x410, 0x44f), ...points('ЇїІієЄ')],
  Arabic: [...points('محمدا'), 'ا\u0654', 'ﻻ', ...range(0x621, 0x63a), ...range(0x641, 0x652), '\u200c'],
  Thai: [
    ...points('สมชาย'),
    'กำ',
    'น้ำ',
    'ที่',
    ...range(0xe01, 0xe39),
    ...range(0xe40, 0xe44),
    ...range(0xe48, 0xe4b),
  ],
  Hindi: [...points('कमरज'), 'कि', 'क्ष', 'ज\u093c', ...range(0x905, 0x939), ...range(0x93e, 0x94d), '\u200d'],
  Hangul: [
    ...points('존경조종ㅈ'),
    '\u110c\u1169\u11ab',
    ...range(0xac00, 0xac40),
    ...range(0xc870, 0xc8c0),
    ...range(0x3131, 0x314e),
  ],
  Han: [
    ...points('王李中文'),
    '𠮷',
    ...range(0x4e00, 0x4e5f),
    ...range(0x20000, 0x2001f),
    ...range(0xf900, 0xf90f),
  ],
  emoji: [
    '😀',
    '👍🏽',
    '👨\u200d👩\u200d👧',
    '🇩🇪',
    '❤️',
    '1️⃣',
    ...range(0x1f600, 0x1f63f),
    ...range(0x1f400, 0x1f41f),
  ],
} satisfies Record<string, readonly string[]>;

export type Script = keyof typeof LETTERS;

export const SCRIPTS = Object.keys(LETTERS) as Script[];

const BETWEEN = [' ', ' ', ' ', '-', ', ', '  ', '.', '\u3000'];

export function wordIn(script: Script, random: Random): string {
  const length = 1 + random.below(6);
  return Array.from({ length }, () => random.early(LETTERS[script])).join('');
}

/** One to five words, each as `word` gives it. */
export function nameOf(word: () => string, random: Random): string {
  let name = word();
  for (let words = random.early([1, 2, 3, 4, 5]); words > 1; words -= 1) {
    name += random.of(BETWEEN) + word();
  }
  return name;
}

/** As it may be spelt as well. */
const SPELLINGS: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text.toUpperCase(),
  (text) => text.toLowerCase(),
  (text) => text.normalize('NFC'),
  (text) => text.normalize('NFD'),
  (text) => text.normalize('NFKC'),
];

/** The beginning of a text, cut anywhere: in the middle of a pair of surrogates, or before a mark. */
function cut(text: string, random: Random): string {
  return text.slice(0, 1 + random.below(text.length));
}

/** Text of a user who looks for one of the names: beginnings of its words, or of words of different names, in any order. */
export function typedFor(names: readonly string[], random: Random): string {
  if (random.isOneOf(100)) return random.of(['', ' ', '\u0301', '\u3000\u200d', '-']);
  const name = random.of(names);
  if (random.isOneOf(4)) return random.of(SPELLINGS)(cut(name, random));
  const words = name.split(/[ ,.\u3000-]+/u).filter((word) => word !== '');
  if (random.isOneOf(10)) words.push(random.of(names));
  const typed: string[] = [];
  for (let count = Math.min(words.length, random.early([1, 2, 3, 4, 5])); count > 0; count -= 1) {
    const [word] = words.splice(random.below(words.length), 1);
    typed.push(random.of(SPELLINGS)(random.isOneOf(3) ? word! : cut(word!, random)));
  }
  return typed.join(random.of(BETWEEN));
}

/** A text with one mistake: a code point too many, too few, another one, or two exchanged. */
export function mistyped(text: string, random: Random): string {
  const all = points(text);
  if (all.length < 2) return text;
  const at = random.below(all.length - 1);
  const other = random.of(all);
  switch (random.below(4)) {
    case 0: {
      return all.toSpliced(at, 1).join('');
    }
    case 1: {
      return all.toSpliced(at, 0, other).join('');
    }
    case 2: {
      return all.toSpliced(at, 1, other).join('');
    }
    default: {
      return all.toSpliced(at, 2, all[at + 1]!, all[at]!).join('');
    }
  }
}
