/**
 * Common completions: one typed word, no cursor, up to 12 names. Those of a tick share a script call, so fifty callers cost
 * Redis and the process little more than a few. The answer to a query is one text: both sides handle it faster than twenty
 * short strings.
 */
import type { RedisClient } from '@mortise/redis';
import { Coalescer } from '@mortise/redis';
import type { BookKeys } from '../../keys.js';
import { bookQuick } from '../../scripts.gen.js';
import { whileSlotMoves } from '../slot-moves.js';
import type { FoundMember, Suggestion } from '../suggestion.js';
import { suggestionOf } from '../suggestion.js';

/** The minimum size of a top set of a prefix with enough names; see `book.tops.section.lua`. */
export const MAX_QUICK = 12;

/** Maximum of completions in one script call, which block the server for about 0.3 ms. */
const MAX_BATCH = 32;

const SEPARATOR = '\u0002';

interface Query {
  /** One, or none. */
  readonly tokens: readonly string[];
  readonly limit: number;
}

export interface QuickAnswer<Payload> {
  readonly suggestions: Suggestion<Payload>[];
  /** The member of the last one. */
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

  /**
   * Up to `MAX_QUICK` of the best entries with a word that begins with the token, or of all entries. `null` if the top set
   * is too small.
   */
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
