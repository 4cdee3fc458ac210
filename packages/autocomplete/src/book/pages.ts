/** What a typed text finds in a book, page by page. */
import type { RedisClient, Script, ScriptArgs, ScriptDefinition, ScriptKeys } from '@mortise/redis';
import { PageTooDeepError } from '../errors.js';
import type { TextRange } from '../folded-text.js';
import type { BookKeys } from '../keys.js';
import { matchesOf } from '../matches.js';
import type { CompleteBookOptions } from '../options.js';
import { resolveCompleteBookOptions } from '../options.js';
import { bookComplete, bookFuzzy, bookList } from '../scripts.gen.js';
import { requireTyped } from '../typed-text.js';
import type { Cursor } from './cursor.js';
import { readCursor, writeCursor } from './cursor.js';
import { readEntry } from './entry.js';
import { LEAST_FUZZY_POINTS, tokensOf } from './forms.js';
import { scoreOf } from './score.js';
import { whileSlotMoves } from './slot-moves.js';

/** Entries. A page in the order of scores looks at all prefixes that reach as far. */
const MAX_DEPTH = 10_000;

export interface Suggestion<Payload> {
  readonly key: string;
  readonly display: string;
  readonly score: number;
  readonly payload: Payload | undefined;
  /** The parts of `display` that match: sorted, disjoint. None where an alias was found. */
  readonly matches: readonly TextRange[];
  /** It was found by a typing error. */
  readonly isFuzzy: boolean;
}

export interface Page<Payload> {
  readonly suggestions: readonly Suggestion<Payload>[];
  /** Where the next page begins, for `after`; `null` if there is none. Safe in a URL. */
  readonly after: string | null;
}

/** A member that was found, and its entry. */
interface Found<Payload> {
  readonly member: string;
  readonly rank: string;
  readonly suggestion: Suggestion<Payload>;
}

/** One query. */
interface Query {
  readonly tokens: readonly string[];
  readonly limit: number;
  readonly cursor: Cursor | undefined;
}

/** The beginning that all scripts' replies share. */
type Reply = [members: string[], cards?: string[], halfLives?: string, ...rest: unknown[]];

interface Result<Payload> {
  readonly found: readonly Found<Payload>[];
  /** Behind the last one. */
  cursorOf(last: Found<Payload>): Cursor;
}

export class Pages<Payload> {
  readonly #redis: RedisClient;
  readonly #keys: BookKeys;
  readonly #halfLifeMs: number;

  constructor(redis: RedisClient, keys: BookKeys, halfLifeMs: number) {
    this.#redis = redis;
    this.#keys = keys;
    this.#halfLifeMs = halfLifeMs;
  }

  /** Without a cursor for what comes next. */
  async find(
    text: string,
    options: CompleteBookOptions,
  ): Promise<{ suggestions: Suggestion<Payload>[]; next: () => Cursor | null; scope: readonly unknown[] }> {
    const { limit, order, fuzzy } = resolveCompleteBookOptions(options);
    const tokens = tokensOf(requireTyped(text));
    const scope = [this.#keys.meta, this.#halfLifeMs, order, fuzzy, ...tokens];
    const { after } = options;
    const kind = order === 'score' ? 's' : 'a';
    const cursor = after === undefined ? undefined : readCursor(after, scope, kind);
    const query = { tokens, limit, cursor };
    const result = order === 'score' ? await this.#best(query, fuzzy) : await this.#listed(query);
    const last = result.found.at(-1);
    return {
      suggestions: result.found.map(({ suggestion }) => suggestion),
      next: () => (last && result.found.length === limit ? result.cursorOf(last) : null),
      scope,
    };
  }

  async page(text: string, options: CompleteBookOptions): Promise<Page<Payload>> {
    const { suggestions, next, scope } = await this.find(text, options);
    const cursor = next();
    return { suggestions, after: cursor && writeCursor(cursor, scope) };
  }

  /** In the order of scores: what fits exactly, then what fits with an edit. */
  async #best({ tokens, limit, cursor }: Query, fuzzy: boolean): Promise<Result<Payload>> {
    const [, rank, member, isFuzzy, depth] = cursor?.[0] === 's' ? cursor : (['s', '', '', 0, 0] as const);
    if (depth >= MAX_DEPTH) throw new PageTooDeepError(depth, MAX_DEPTH);
    const found = isFuzzy === 1 ? [] : await this.#exact({ tokens, limit, rank, member });
    const isEdited =
      fuzzy && found.length < limit && tokens.some((token) => pointsIn(token) >= LEAST_FUZZY_POINTS);
    const edited = isEdited
      ? await this.#edited(tokens, limit - found.length, isFuzzy === 1 ? { rank, member } : undefined)
      : [];
    const keys = new Set(found.map(({ suggestion }) => suggestion.key));
    return {
      found: [...found, ...edited.filter(({ suggestion }) => !keys.has(suggestion.key))],
      cursorOf: (last) => ['s', last.rank, last.member, last.suggestion.isFuzzy ? 1 : 0, depth + limit],
    };
  }

  async #exact(query: {
    tokens: readonly string[];
    limit: number;
    rank: string;
    member: string;
  }): Promise<Found<Payload>[]> {
    // Of two long ones, more letters are looked for together.
    const [prefix = '', ...others] = query.tokens.toSorted((a, b) => pointsIn(b) - pointsIn(a));
    let { rank: afterRank, member: afterMember } = query;
    let place = '';
    let found: Found<Payload>[] = [];
    for (;;) {
      const { limit } = query;
      const args = {
        halfLifeMs: this.#halfLifeMs,
        limit,
        afterRank,
        afterMember,
        place,
        prefix,
        others,
      };
      const reply = await this.#run(bookComplete, args);
      const part = this.#read(reply, query.tokens, false);
      found = found.length === 0 ? part : mergeBest(found, part, query.limit);
      const rest = (reply[3] ?? []) as string[];
      if (rest.length === 0) return found;
      if (rest.length === 1) [place = ''] = rest;
      else [afterRank = '', afterMember = ''] = rest;
    }
  }

  async #edited(
    tokens: readonly string[],
    limit: number,
    after: { rank: string; member: string } | undefined,
  ): Promise<Found<Payload>[]> {
    const args = { halfLifeMs: this.#halfLifeMs, limit, tokens };
    const { rank: afterRank = '', member: afterMember = '' } = after ?? {};
    return this.#read(await this.#run(bookFuzzy, { ...args, afterRank, afterMember }), tokens, true);
  }

  /** In the order of bytes. */
  async #listed({ tokens, limit, cursor }: Query): Promise<Result<Payload>> {
    const [prefix = '', ...others] = tokens;
    const found: Found<Payload>[] = [];
    let place = cursor?.[0] === 'a' ? cursor[1] : '';
    for (;;) {
      const args = { halfLifeMs: this.#halfLifeMs, limit: limit - found.length, place, prefix, others };
      const reply = await this.#run(bookList, args);
      found.push(...this.#read(reply, tokens, false));
      const [next] = (reply[3] ?? []) as string[];
      if (next === undefined) break;
      place = next;
    }
    return {
      found,
      cursorOf: ({ member }) => ['a', `${member}\0`],
    };
  }

  async #run<D extends ScriptDefinition>(script: Script<D>, args: ScriptArgs<D>): Promise<Reply> {
    const keys = this.#keys as unknown as ScriptKeys<D>;
    return (await whileSlotMoves(() => script.run(this.#redis, keys, args))) as Reply;
  }

  #read(reply: Reply, tokens: readonly string[], isFuzzy: boolean): Found<Payload>[] {
    const [members, cards = [], halfLives = '0'] = reply;
    const found: Found<Payload>[] = [];
    for (let index = 0; index < members.length; index += 2) {
      const member = members[index]!;
      const rank = members[index + 1]!;
      const { key, display, payload } = readEntry(member, cards[index / 2] ?? '');
      const score = scoreOf(rank, this.#halfLifeMs, halfLives);
      const matches = matchesOf(display, tokens, { fuzzy: isFuzzy });
      const suggestion = { key, display, score, payload: payload as Payload | undefined, matches, isFuzzy };
      found.push({ member, rank, suggestion });
    }
    return found;
  }
}

function pointsIn(token: string): number {
  return Array.from(token).length;
}

/** Of the parts that a query was answered in: each entry once, by its best member. */
function mergeBest<Payload>(
  a: readonly Found<Payload>[],
  b: readonly Found<Payload>[],
  limit: number,
): Found<Payload>[] {
  const sorted = [...a, ...b].toSorted(
    (one, other) =>
      Number(one.rank) - Number(other.rank) ||
      Buffer.compare(Buffer.from(one.member), Buffer.from(other.member)),
  );
  const keys = new Set<string>();
  const found = sorted.filter(({ suggestion: { key } }) => !keys.has(key) && keys.add(key));
  return found.slice(0, limit);
}
