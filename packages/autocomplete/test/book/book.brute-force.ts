/**
 * The right answers of a book, by looking at every entry. It shares nothing with the scripts but the members of an entry, which only
 * decide the order of equal scores.
 */
import { wordsOf } from '../../src/text/forms.js';

export interface Known {
  readonly names: readonly string[];
  readonly members: readonly string[];
  score: number;
}
export type Answer = [key: string, score: number];

export const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
const formOf = (member: string): string => member.split('\u0001')[0]!;
const isPair = (form: string): boolean => form.startsWith('\u0003');

type Takes = (word: string, token: string) => boolean;
const begins: Takes = (word, token) => word.startsWith(token);

/** Whether each token takes a word of its own; the first `placed` ones the word in their place. */
function assigns(
  words: readonly string[],
  tokens: readonly string[],
  takes: readonly Takes[],
  placed: number,
): boolean {
  if (tokens.length === 0) return true;
  const [token, ...others] = tokens;
  const [take, ...otherTakes] = takes;
  return words.some(
    (word, index) =>
      (placed === 0 || index === 0) &&
      take!(word, token!) &&
      assigns(words.toSpliced(index, 1), others, otherTakes, Math.max(0, placed - 1)),
  );
}

/** Whether a text begins with a token without its last code point. */
const takesShorter: Takes = (text, token) => {
  const t = Array.from(token);
  return t.length >= 3 && text.startsWith(t.slice(0, -1).join(''));
};

/** Whether a text begins with a token after one edit, and not with the token. Tries each edit at each place but the last one. */
export const takesEdited: Takes = (text, token) => {
  const [t, w] = [Array.from(token), Array.from(text)];
  if (t.length < 3 || text.startsWith(token)) return false;
  const shorter = t.slice(0, -1).join('');
  const tries = (edited: readonly (string | undefined)[]): boolean => {
    const filled = edited.map((point, index) => point ?? w[index]);
    if (filled.includes(undefined)) return false;
    return filled.join('') !== shorter && text.startsWith(filled.join(''));
  };
  return t.some((point, index) => {
    const before = t.slice(0, index);
    const after = t.slice(index + 1);
    const isLast = after.length === 0;
    return (
      tries([...before, undefined, point, ...after]) ||
      (!isLast && tries([...before, ...after])) ||
      (!isLast && tries([...before, undefined, ...after])) ||
      (!isLast && tries([...before, after[0]!, point, ...after.slice(1)]))
    );
  });
};

export class BruteForce {
  readonly entries = new Map<string, Known>();

  /** In the order of scores: the exact ones, then those with an edit, then those with another last letter. */
  best(tokens: readonly string[], fuzzy: boolean): Answer[] {
    const points = (token: string): number => Array.from(token).length;
    const order = tokens.toSorted((a, b) => points(b) - points(a));
    const exact = this.#ranked((form) =>
      tokens.length < 2 ? fitsTurned(form, tokens, begins) : fitsPair(form, order),
    );
    const found = new Set(exact.map(([key]) => key));
    if (!fuzzy) return exact;
    const edited = this.#ranked((form) =>
      tokens.some((token, index) => fitsTurned(form, [token, ...tokens.toSpliced(index, 1)], takesEdited)),
    );
    const close = [...exact, ...edited.filter(([key]) => !found.has(key))];
    if (tokens.length !== 1) return close;
    const known = new Set(close.map(([key]) => key));
    const last = this.#ranked((form) => fitsTurned(form, tokens, takesShorter));
    return [...close, ...last.filter(([key]) => !known.has(key))];
  }

  listed(tokens: readonly string[]): Answer[] {
    return this.#found((form) => fitsTurned(form, tokens, begins))
      .toSorted((a, b) => byBytes(a.first, b.first))
      .map(({ key, score }) => [key, score]);
  }

  /** Which entries have a name whose words the tokens take, in whatever order. */
  matching(tokens: readonly string[]): Set<string> {
    return new Set(
      [...this.entries]
        .filter(([, { names }]) =>
          names.some((name) =>
            assigns(
              wordsOf(name),
              tokens,
              tokens.map(() => begins),
              0,
            ),
          ),
        )
        .map(([key]) => key),
    );
  }

  #ranked(isFit: (form: string) => boolean): Answer[] {
    return this.#found(isFit)
      .toSorted((a, b) => b.score - a.score || byBytes(a.first, b.first))
      .map(({ key, score }) => [key, score]);
  }

  #found(isFit: (form: string) => boolean): { key: string; score: number; first: string }[] {
    return [...this.entries].flatMap(([key, { members, score }]) => {
      const first = members.filter((member) => isFit(formOf(member))).toSorted(byBytes)[0];
      return first === undefined ? [] : [{ key, score, first }];
    });
  }
}

/** The first token is at the beginning, alone it may go on into the next word. */
function fitsTurned(form: string, tokens: readonly string[], takes: Takes): boolean {
  if (isPair(form)) return false;
  const all = tokens.map((_, index) => (index === 0 ? takes : begins));
  return tokens.length < 2 ? takes(form, tokens[0] ?? '') : assigns(form.split(' '), tokens, all, 1);
}

/** The first two tokens take the two words that the form is of. */
function fitsPair(form: string, tokens: readonly string[]): boolean {
  if (!isPair(form)) return false;
  const [, a, b, ...rest] = form.split(' ');
  const all = tokens.map(() => begins);
  return assigns([a!, b!, ...rest], tokens, all, 2) || assigns([b!, a!, ...rest], tokens, all, 2);
}
