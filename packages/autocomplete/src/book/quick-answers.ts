/**
 * The common completions: one typed word, no cursor, not many names wanted. Those of a tick travel together, so that fifty callers cost
 * Redis and the process little more than a few; their answers are text, since it takes either side longer to write and read
 * twenty short strings than one.
 */
import type { RedisClient } from '@mortise/redis';
import { Coalescer } from '@mortise/redis';
import type { BookKeys } from '../keys.js';
import { bookQuick } from '../scripts.gen.js';
import { whileSlotMoves } from './slot-moves.js';
import type { FoundMember, Suggestion } from './suggestion.js';
import { suggestionOf } from './suggestion.js';

/** Top sets have as many, unless their prefix has fewer; see `book.tops.part.lua`. */
export const MOST_QUICK = 12;

/** Completions in one script call: they hold the server for about 0.3 ms. */
const MAX_BATCH = 32;

const SEPARATOR = '\u0002';

interface Query {
  /** None or one. */
  readonly tokens: readonly string[];
  readonly limit: number;
}

export interface QuickAnswer<Payload> {
  readonly suggestions: Suggestion<Payload>[];
  /** What the last one was found by. */
  readonly last: FoundMember | undefined;
}

export class QuickAnswers<Payload> {
  readonly #halfLifeMs: number;
  readonly #queries: Coalescer<null, Query, QuickAnswer<Payload> | null>;

  constructor(redis: RedisClient, keys: BookKeys, halfLifeMs: number) {
    this.#halfLifeMs = halfLifeMs;
    this.#queries = new Coalescer(
      async (_, queries) => {
        const args: (string | number)[] = [];
        for (const { tokens, limit } of queries) args.push(limit - 1, tokens[0] ?? '');
        const reply = await whileSlotMoves(() => bookQuick.run(redis, keys, { halfLifeMs, queries: args }));
        const answers = reply as (string | null)[];
        const halfLives = answers.pop()!;
        return answers.map((answer, index) =>
          answer === null ? null : this.#read(answer, queries[index]!.tokens, halfLives),
        );
      },
      { maxBatch: MAX_BATCH },
    );
  }

  /** Up to `MOST_QUICK` of the best entries that have a word that a token begins, or of all; `null` if that is no quick question. */
  find(query: Query): Promise<QuickAnswer<Payload> | null> {
    return this.#queries.submit(null, query);
  }

  #read(answer: string, tokens: readonly string[], halfLives: string): QuickAnswer<Payload> {
    const suggestions: Suggestion<Payload>[] = [];
    if (answer === '') return { suggestions, last: undefined };
    const finding = { tokens, halfLifeMs: this.#halfLifeMs, halfLives };
    const fields = answer.split(SEPARATOR);
    const [from, step] = fields[0] === '' ? [1, 3] : [0, 2];
    let last: FoundMember | undefined;
    for (let index = from; index < fields.length; index += step) {
      const card = step === 3 ? fields[index + 2]! : '';
      last = { member: fields[index]!, rank: fields[index + 1]!, card, edit: 0 };
      suggestions.push(suggestionOf(last, finding));
    }
    return { suggestions, last };
  }
}
