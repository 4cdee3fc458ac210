/** The right answers, found by a look at each name. */
import type { Named } from './data.js';
import { LIMIT } from './kind.js';

export interface Graded {
  /** In the order that the way promises. */
  readonly isRight: boolean;
  /** The best ones, the best first. */
  readonly isBest: boolean;
}

export class RightAnswers {
  readonly #data: readonly Named[];
  readonly #scores: ReadonlyMap<string, number>;

  /** @param data The most popular first. */
  constructor(data: readonly Named[]) {
    this.#data = data;
    this.#scores = new Map(data.map(({ name, score }) => [name, score]));
  }

  /** Grades an answer of names that begin with a text. */
  gradePrefix(text: string, answer: readonly string[], order: 'score' | 'alphabet'): Graded {
    const isFound = (name: string): boolean => name.startsWith(text);
    const isBest = this.#isBest(answer, isFound);
    if (order === 'score') return { isRight: isBest, isBest };
    const wanted = this.#data.map(({ name }) => name).filter(isFound);
    const first = wanted.toSorted().slice(0, LIMIT);
    return { isRight: first.join(' ') === answer.join(' '), isBest };
  }

  /** Grades an answer of names in which each typed word begins another word. */
  gradeWords(text: string, answer: readonly string[]): Graded {
    const tokens = text.split(' ');
    const isBest = this.#isBest(answer, (name) => isOfWords(tokens, name.toLowerCase().split(' ')));
    return { isRight: isBest, isBest };
  }

  /**
   * Of names that begin with a text, then those that begin with it but for one edit, then those that do but for its last letter.
   */
  gradeFuzzy(text: string, answer: readonly string[]): Graded {
    const isExact = (name: string): boolean => name.startsWith(text);
    const isEdited = (name: string): boolean => !isExact(name) && isWithinOneEdit(text, name);
    const isShorter = (name: string): boolean =>
      name.startsWith(text.slice(0, -1)) && !isExact(name) && !isWithinOneEdit(text, name);
    let isBest = true;
    let judged = 0;
    for (const isFound of [isExact, isEdited, isShorter]) {
      const most = LIMIT - judged;
      const part = answer.slice(judged, judged + this.#best(isFound, most).length);
      isBest = isBest && (most === 0 || this.#isBest(part, isFound, most));
      judged += part.length;
    }
    isBest = isBest && judged === answer.length;
    return { isRight: isBest, isBest };
  }

  #best(isFound: (name: string) => boolean, most = LIMIT): Named[] {
    const best: Named[] = [];
    for (const named of this.#data) {
      if (isFound(named.name)) best.push(named);
      if (best.length === most) break;
    }
    return best;
  }

  /** Names of the same score may stand in any order. */
  #isBest(answer: readonly string[], isFound: (name: string) => boolean, most = LIMIT): boolean {
    const best = this.#best(isFound, most);
    return (
      answer.length === best.length &&
      new Set(answer).size === answer.length &&
      answer.every((name, place) => isFound(name) && this.#scores.get(name) === best[place]!.score)
    );
  }
}

/** Each token takes a word of its own. */
function isOfWords(tokens: readonly string[], words: readonly string[]): boolean {
  const [token, ...others] = tokens;
  if (token === undefined) return true;
  return words.some((word, at) => word.startsWith(token) && isOfWords(others, words.toSpliced(at, 1)));
}

/** One letter too many, too few, another one or two exchanged make the text a beginning of the name. */
function isWithinOneEdit(text: string, name: string): boolean {
  let at = 0;
  while (at < text.length && text[at] === name[at]) at += 1;
  const rest = text.slice(at + 1);
  if (at === text.length || name.startsWith(text.slice(at), at + 1)) return true;
  if (rest === '') return false;
  return (
    name.startsWith(rest, at) ||
    name.startsWith(rest, at + 1) ||
    (rest[0] === name[at] && text[at] === name[at + 1] && name.startsWith(rest.slice(1), at + 2))
  );
}
