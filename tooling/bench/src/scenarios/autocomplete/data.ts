/**
 * The names and the typed texts: the same in every process. Names come in the order of their popularity, which is independent
 * of their spelling; scores and typed texts follow Zipf's law.
 */
import { randomNumbers } from '../aggregation/random.js';

export interface Named {
  readonly name: string;
  /** A whole number. */
  readonly score: number;
}

/**
 * `handles`: one word of a to z. `unpopular`: the same, but nobody whose handle begins with `UNPOPULAR` is popular.
 * `people`: two words, and three in each tenth.
 */
export type DataKind = 'handles' | 'unpopular' | 'people';

/** The letter that most handles begin with. */
export const UNPOPULAR = 's';

const BEST_SCORE = 1_000_000;
const RANGE = 2 ** 32;

type Random = () => number;

/** Numbers from 0 up to 1. */
function fractions(seed: number): Random {
  const next = randomNumbers(seed);
  return () => next() / RANGE;
}

const ONSETS = [
  's',
  'm',
  'k',
  'r',
  'l',
  'd',
  'b',
  'j',
  't',
  'n',
  'c',
  'h',
  'p',
  'g',
  'f',
  'a',
  'v',
  'br',
  'e',
];
const RARE_ONSETS = ['st', 'ch', 'w', 'tr', 'o', 'z', 'sh', 'i', 'y', 'kr', 'u', 'q', 'x'];
const VOWELS = ['a', 'e', 'i', 'o', 'u', 'ia', 'y'];
const CODAS = ['n', 'r', 'l', 's', 't', 'm', 'ck', 'nd', 'x'];

/** The first ones more often: of twenty, the first one twelve times in a hundred. */
function early<Item>(items: readonly Item[], random: Random): Item {
  return items[Math.floor(items.length * random() ** 1.4)]!;
}

function syllable(random: Random): string {
  const onset = early(random() < 0.85 ? ONSETS : RARE_ONSETS, random);
  const vowel = early(VOWELS, random);
  return onset + vowel + (random() < 0.27 ? early(CODAS, random) : '');
}

const TABLE_BITS = 12;
/** Drawn from so often, and a table is quick. */
const SYLLABLES = tableOf(syllable);
const MASK = 2 ** TABLE_BITS - 1;

function tableOf<Item>(make: (random: Random) => Item): Item[] {
  const random = fractions(5);
  return Array.from({ length: 2 ** TABLE_BITS }, () => make(random));
}

/** So many different ones, in the order in which they were made. */
function different(count: number, make: () => string): string[] {
  const made = new Set<string>();
  while (made.size < count) made.add(make());
  return [...made];
}

function syllableOf(bits: number): string {
  return SYLLABLES[bits & MASK]!;
}

/** Words of so many syllables, or up to two more. */
function wordsOfLength(fewest: number, seed: number): () => string {
  const next = randomNumbers(seed);
  return () => {
    const bits = next();
    const more = (bits >>> (2 * TABLE_BITS)) & 7;
    let word = syllableOf(bits) + syllableOf(bits >>> TABLE_BITS);
    for (let count = 2; count < fewest; count += 1) word += syllableOf(next());
    if (more > 3) word += syllableOf(next());
    return more > 6 ? word + syllableOf(next()) : word;
  };
}

function handles(count: number): string[] {
  return different(count, wordsOfLength(4, 7));
}

const FIRST_NAMES = 2_000;
const LAST_NAMES = 40_000;

function people(count: number): string[] {
  const random = fractions(11);
  const first = different(FIRST_NAMES, wordsOfLength(2, 13)).map(capital);
  const last = different(LAST_NAMES, wordsOfLength(2, 17)).map(capital);
  /** The first ones more often. */
  const some = (names: readonly string[]): string => {
    const at = random();
    return names[Math.floor(names.length * at * at)]!;
  };
  return different(count, () => {
    const name = `${some(first)} ${some(last)}`;
    return random() < 0.1 ? `${some(first)} ${name}` : name;
  });
}

function capital(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1);
}

/** The most popular first. */
export function dataOf(kind: DataKind, count: number): Named[] {
  let names = kind === 'people' ? people(count) : handles(count);
  if (kind === 'unpopular') {
    const isLast = (name: string): boolean => name.startsWith(UNPOPULAR);
    names = [...names.filter((name) => !isLast(name)), ...names.filter(isLast)];
  }
  return names.map((name, rank) => ({ name, score: Math.ceil(BEST_SCORE / (rank + 1)) }));
}

/** Typed texts: each call returns the next. */
export type Typing = () => string;

/**
 * `prefix`: the beginning of a name, 1 to 6 letters. `letter`: one letter that handles begin with. `unpopular`: that one letter.
 * `words`: the beginnings of two words of a name, in any order. `typo`: the beginning of a name, with one mistake somewhere before
 * its last letter, the first one included.
 */
export type TypingKind = 'prefix' | 'letter' | 'unpopular' | 'words' | 'typo';

/** The share of each length, in percent. */
const LENGTHS = [20, 25, 25, 15, 10, 5];
const LENGTH_OF_EACH = LENGTHS.flatMap((share, index) => Array.from({ length: share }, () => index + 1));
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

export function typingOf(kind: TypingKind, data: readonly Named[], seed: number): Typing {
  const random = fractions(seed);
  const among = (count: number): number => Math.floor(count * random());
  /** Somebody as often as their rank lets expect: the n-th half as often as the one of half the rank. */
  const popular = (): string => data[Math.floor(data.length ** random()) - 1]!.name;
  switch (kind) {
    case 'prefix': {
      return () => popular().slice(0, LENGTH_OF_EACH[among(LENGTH_OF_EACH.length)]);
    }
    case 'letter': {
      return () => popular()[0]!;
    }
    case 'unpopular': {
      return () => UNPOPULAR;
    }
    case 'words': {
      return () => {
        const words = popular().toLowerCase().split(' ');
        const chosen = words.splice(among(words.length), 1).concat(words.splice(among(words.length), 1));
        return chosen.map((each) => each.slice(0, 2 + among(2))).join(' ');
      };
    }
    case 'typo': {
      return () => withMistake(popular().slice(0, 5 + among(3)), among);
    }
    default: {
      throw new Error(`nobody types ${JSON.stringify(kind satisfies never)}`);
    }
  }
}

function withMistake(text: string, among: (count: number) => number): string {
  const at = among(text.length - 2);
  const [before, letter, after] = [text.slice(0, at), text[at]!, text.slice(at + 1)];
  const other = LETTERS[among(LETTERS.length)]!;
  const kinds = [
    before + after,
    before + other + letter + after,
    before + other + after,
    before + after[0]! + letter + after.slice(1),
  ];
  return kinds[among(kinds.length)]!;
}

/** Somebody: each as likely as any other, or by popularity. */
export function namesOf(choice: 'any' | 'popular', data: readonly Named[], seed: number): () => string {
  const random = fractions(seed);
  return choice === 'any'
    ? () => data[Math.floor(data.length * random())]!.name
    : () => data[Math.floor(data.length ** random()) - 1]!.name;
}
