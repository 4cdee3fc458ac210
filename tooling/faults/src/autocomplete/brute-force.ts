/** The right answers of a book, found by a look at each of its entries. */
import { normalize } from '@mortise/autocomplete';

export interface Known {
  readonly key: string;
  readonly names: readonly string[];
  readonly score: number;
}

interface Indexed {
  readonly key: string;
  readonly score: number;
  /** The words of each of its names. */
  readonly words: readonly (readonly string[])[];
}

/** Shorter typed words are taken as they are. */
const LEAST_POINTS = 3;

/** Words of a name or of typed text that count; the README of the package states the limit. */
const MOST_WORDS = 6;

/** As names and typed texts are cut into words. */
export function wordsOf(text: string): string[] {
  const folded = normalize(text);
  const words = folded
    .replaceAll(/['\u02bc\u2019]/g, '')
    .split(/[\s\p{P}]+/u)
    .filter((word) => word !== '')
    .slice(0, MOST_WORDS);
  if (words.length > 0 || folded.trim() === '') return words;
  return [folded.trim()];
}

export class BruteForce {
  readonly #entries = new Map<string, Indexed>();

  get size(): number {
    return this.#entries.size;
  }

  set({ key, names, score }: Known): void {
    this.#entries.set(key, { key, score, words: names.map(wordsOf) });
  }

  boost(key: string, by: number): void {
    const entry = this.#entries.get(key)!;
    this.#entries.set(key, { ...entry, score: entry.score + by });
  }

  remove(key: string): void {
    this.#entries.delete(key);
  }

  /**
   * The fault of an answer, if any. A right answer has the best entries that match, the best first. After them come the best ones
   * that match with one mistake, then those with a mistake in the last letter of a single word. Entries of the same score may
   * have any order.
   */
  fault(text: string, limit: number, isFuzzy: boolean, answer: readonly string[]): string | undefined {
    const tokens = wordsOf(text);
    const exact = this.#best((words) => isMatch(tokens, words));
    const wanted = exact.slice(0, limit);
    if (isFuzzy && wanted.length < limit) {
      const known = new Set(exact);
      for (const fit of [isCloseMatch, isShorterMatch]) {
        const close = this.#best((words) => fit(tokens, words)).filter((entry) => !known.has(entry));
        for (const entry of close) known.add(entry);
        wanted.push(...close.slice(0, limit - wanted.length));
      }
    }
    const got = answer.map((key) => this.#entries.get(key));
    const fits = (entry: Indexed | undefined, place: number): boolean => {
      const other = wanted[place];
      if (!entry || !other || entry.score !== other.score) return false;
      return kindOf(tokens, entry) === kindOf(tokens, other);
    };
    const isRight = got.length === wanted.length && new Set(answer).size === answer.length && got.every(fits);
    if (isRight) return undefined;
    const asked = JSON.stringify({ text, tokens, limit, isFuzzy });
    return `${asked}: ${answer.join(' | ')} instead of ${wanted.map(({ key }) => key).join(' | ')}`;
  }

  #best(matches: (words: readonly string[]) => boolean): Indexed[] {
    const found = [...this.#entries.values()].filter(({ words }) => words.some(matches));
    return found.toSorted((a, b) => b.score - a.score);
  }
}

/** Each token begins a word of its own. */
function isMatch(tokens: readonly string[], words: readonly string[]): boolean {
  const [token, ...others] = tokens;
  if (token === undefined) return true;
  return words.some((word, at) => word.startsWith(token) && isMatch(others, words.toSpliced(at, 1)));
}

/** A single token without its last letter. */
function isShorterMatch([token, ...others]: readonly string[], words: readonly string[]): boolean {
  const points = Array.from(token ?? '');
  const shorter = points.slice(0, -1).join('');
  return (
    others.length === 0 && points.length >= LEAST_POINTS && words.some((word) => word.startsWith(shorter))
  );
}

/** How well an entry matches: the least is the best. */
function kindOf(tokens: readonly string[], { words }: Indexed): number {
  return [isMatch, isCloseMatch, isShorterMatch].findIndex((fit) => words.some((each) => fit(tokens, each)));
}

/** The same with one mistake in one of the tokens. A single one may have it in the space between two words. */
function isCloseMatch(tokens: readonly string[], words: readonly string[]): boolean {
  return tokens.some((token, index) => {
    if (Array.from(token).length < LEAST_POINTS) return false;
    const others = tokens.toSpliced(index, 1);
    return words.some((word, at) => {
      const text = others.length === 0 ? [...words.slice(at), ...words.slice(0, at)].join(' ') : word;
      return isEdited(token, text) && isMatch(others, words.toSpliced(at, 1));
    });
  });
}

/**
 * Whether a text begins with what one edit makes of the typed one, by code points. The last one stands: what
 * another one finds is what the text without it does, and comes last.
 */
function isEdited(typed: string, text: string): boolean {
  const from = Array.from(typed);
  const to = Array.from(text);
  const begins = (made: readonly string[]): boolean => made.every((point, index) => point === to[index]);
  const last = from.length - 1;
  /** All following letters are the same: leaving one out is leaving out the last one. */
  const isDoubled = (at: number): boolean => from.slice(at).every((point) => point === from[last]);
  return from.some((point, at) => {
    const isLess = at < last && begins(from.toSpliced(at, 1)) && !isDoubled(at);
    const isOther = at < last && to.length > at && begins(from.toSpliced(at, 1, to[at]!));
    const isMore = to.length > at && begins(from.toSpliced(at, 0, to[at]!));
    const isSwapped = at < last && begins(from.toSpliced(at, 2, from[at + 1]!, point));
    return isLess || isOther || isMore || isSwapped;
  });
}
