/** What a typed text finds in a book, page by page. */
import type { RedisClient, Script, ScriptArgs, ScriptDefinition, ScriptKeys } from '@mortise/redis';
import { PageTooDeepError } from '../errors.js';
import type { BookKeys } from '../keys.js';
import type { CompleteBookOptions } from '../options.js';
import { resolveCompleteBookOptions } from '../options.js';
import { bookComplete, bookFuzzy, bookList } from '../scripts.gen.js';
import { requireTyped } from '../typed-text.js';
import type { Cursor } from './cursor.js';
import { readCursor, writeCursor } from './cursor.js';
import { LEAST_FUZZY_POINTS, tokensOf } from './forms.js';
import { MOST_QUICK, QuickAnswers } from './quick-answers.js';
import { whileSlotMoves } from './slot-moves.js';
import type { Edit, FoundMember, Suggestion } from './suggestion.js';
import { suggestionOf } from './suggestion.js';

/** Entries. A page in the order of scores looks at all prefixes that reach as far. */
const MAX_DEPTH = 10_000;

/** Calls of a request for what fits with an edit. Each looks at 500 members at most, many of which may fit without one. */
const MOST_FUZZY_CALLS = 8;

export interface Page<Payload> {
  /** As many as asked for, or fewer, also where there is a next page: with `fuzzy` even none. */
  readonly suggestions: readonly Suggestion<Payload>[];
  /** Where the next page begins, for `after`; `null` if there is none. Safe in a URL. */
  readonly after: string | null;
}

/** A member that was found, and its entry. */
interface Found<Payload> {
  readonly found: FoundMember;
  readonly suggestion: Suggestion<Payload>;
}

/** One query. */
interface Query {
  readonly tokens: readonly string[];
  readonly limit: number;
  readonly order: 'score' | 'alphabetical';
  readonly fuzzy: boolean;
  readonly cursor: Cursor | undefined;
}

/** The beginning that all scripts' replies share. */
type Reply = [members: string[], cards?: string[], halfLives?: string, ...rest: unknown[]];

/** A place in the order of scores. */
type Place = Pick<FoundMember, 'rank' | 'member' | 'edit'>;

/** The entries of a page, and what the last one was found by. */
interface Result<Payload> {
  readonly suggestions: Suggestion<Payload>[];
  readonly last: FoundMember | undefined;
  /** Where to go on if they are fewer than wanted and there may be more. */
  readonly rest?: Place | undefined;
}

export class Pages<Payload> {
  readonly #redis: RedisClient;
  readonly #keys: BookKeys;
  readonly #halfLifeMs: number;
  readonly #quick: QuickAnswers<Payload>;

  constructor(redis: RedisClient, keys: BookKeys, halfLifeMs: number) {
    this.#redis = redis;
    this.#keys = keys;
    this.#halfLifeMs = halfLifeMs;
    this.#quick = new QuickAnswers(redis, keys, halfLifeMs);
  }

  /** Without a cursor for what comes next. */
  async find(text: string, options: CompleteBookOptions): Promise<Suggestion<Payload>[]> {
    return (await this.#find(this.#queryOf(text, options))).suggestions;
  }

  async page(text: string, options: CompleteBookOptions): Promise<Page<Payload>> {
    const query = this.#queryOf(text, options);
    const { suggestions, last, rest } = await this.#find(query);
    const place = suggestions.length === query.limit ? last : rest;
    if (!place) return { suggestions, after: null };
    const cursor = cursorBehind(query, place, suggestions.length);
    return { suggestions, after: writeCursor(cursor, this.#scopeOf(query)) };
  }

  #queryOf(text: string, options: CompleteBookOptions): Query {
    const { limit, order, fuzzy } = resolveCompleteBookOptions(options);
    const query = { tokens: tokensOf(requireTyped(text)), limit, order, fuzzy, cursor: undefined };
    const { after } = options;
    if (after === undefined) return query;
    return { ...query, cursor: readCursor(after, this.#scopeOf(query), order === 'score' ? 's' : 'a') };
  }

  /** What a cursor belongs to. */
  #scopeOf({ order, fuzzy, tokens }: Query): readonly unknown[] {
    return [this.#keys.meta, this.#halfLifeMs, order, fuzzy, ...tokens];
  }

  async #find(query: Query): Promise<Result<Payload>> {
    const { tokens, limit, order, fuzzy, cursor } = query;
    if (order !== 'score') return resultOf(await this.#listed(query));
    if (tokens.length > 1 || cursor || limit > MOST_QUICK) return this.#best(query);
    const answer = await this.#quick.find(query);
    return answer && (!fuzzy || answer.suggestions.length === limit) ? answer : this.#best(query, answer);
  }

  /** In the order of scores: what fits exactly, which may be known, then what fits with an edit. */
  async #best(
    { tokens, limit, fuzzy, cursor }: Query,
    known: Result<Payload> | null = null,
  ): Promise<Result<Payload>> {
    const [, rank, member, edit, depth] = cursor?.[0] === 's' ? cursor : (['s', '', '', 0, 0] as const);
    if (depth >= MAX_DEPTH) throw new PageTooDeepError(depth, MAX_DEPTH);
    const none: Result<Payload> = { suggestions: [], last: undefined };
    const exact = edit > 0 ? none : (known ?? resultOf(await this.#exact({ tokens, limit, rank, member })));
    const left = limit - exact.suggestions.length;
    const isEdited = fuzzy && left > 0 && tokens.some((token) => pointsIn(token) >= LEAST_FUZZY_POINTS);
    if (!isEdited) return exact;
    const keys = new Set(exact.suggestions.map(({ key }) => key));
    const after = edit > 0 ? { rank, member, edit } : { rank: '', member: '', edit };
    const edited = await this.#edited({ tokens, limit: left, after, keys });
    return {
      suggestions: [...exact.suggestions, ...edited.suggestions],
      last: edited.last ?? exact.last,
      rest: edited.rest,
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
      const part = this.#read(reply, query.tokens);
      found = found.length === 0 ? part : mergeBest(found, part, query.limit);
      const rest = (reply[3] ?? []) as string[];
      if (rest.length === 0) return found;
      if (rest.length === 1) [place = ''] = rest;
      else [afterRank = '', afterMember = ''] = rest;
    }
  }

  /** @param query `keys`: of entries that are not told of, and grows by those that are */
  async #edited({
    tokens,
    limit,
    after,
    keys,
  }: {
    tokens: readonly string[];
    limit: number;
    after: Place;
    keys: Set<string>;
  }): Promise<Result<Payload>> {
    let place: Place | undefined = after;
    const found: Found<Payload>[] = [];
    for (let calls = 0; place && found.length < limit && calls < MOST_FUZZY_CALLS; calls += 1) {
      const left = limit - found.length;
      const { rank: afterRank, member: afterMember } = place;
      const isOfLast = place.edit === 2 ? '1' : '0';
      const args = { halfLifeMs: this.#halfLifeMs, limit: left, afterRank, afterMember, isOfLast, tokens };
      const reply = await this.#run(bookFuzzy, args);
      const [edited, rest] = reply.slice(3) as [number, [isOfLast?: string, rank?: string, member?: string]];
      const part = this.#read(reply, tokens, (index) => (index < edited ? 1 : 2));
      for (const one of part) {
        // With another score since the call before, an entry may be in both.
        if (keys.has(one.suggestion.key)) continue;
        keys.add(one.suggestion.key);
        found.push(one);
      }
      const [isRestOfLast, rank = '', member = ''] = rest;
      if (isRestOfLast !== undefined) place = { rank, member, edit: isRestOfLast === '1' ? 2 : 1 };
      else place = part.length === left ? part.at(-1)!.found : undefined;
    }
    return { ...resultOf(found), rest: place };
  }

  /** In the order of bytes. */
  async #listed({ tokens, limit, cursor }: Query): Promise<Found<Payload>[]> {
    const [prefix = '', ...others] = tokens;
    const found: Found<Payload>[] = [];
    let place = cursor?.[0] === 'a' ? cursor[1] : '';
    for (;;) {
      const args = { halfLifeMs: this.#halfLifeMs, limit: limit - found.length, place, prefix, others };
      const reply = await this.#run(bookList, args);
      found.push(...this.#read(reply, tokens));
      const [next] = (reply[3] ?? []) as string[];
      if (next === undefined) return found;
      place = next;
    }
  }

  async #run<D extends ScriptDefinition>(script: Script<D>, args: ScriptArgs<D>): Promise<Reply> {
    const keys = this.#keys as unknown as ScriptKeys<D>;
    return (await whileSlotMoves(() => script.run(this.#redis, keys, args))) as Reply;
  }

  #read(
    reply: Reply,
    tokens: readonly string[],
    editOf: (index: number) => Edit = () => 0,
  ): Found<Payload>[] {
    const [members, cards = [], halfLives = '0'] = reply;
    const finding = { tokens, halfLifeMs: this.#halfLifeMs, halfLives };
    const all: Found<Payload>[] = [];
    for (let index = 0; index < members.length; index += 2) {
      const card = cards[index / 2] ?? '';
      const found = { member: members[index]!, rank: members[index + 1]!, card, edit: editOf(index / 2) };
      all.push({ found, suggestion: suggestionOf(found, finding) });
    }
    return all;
  }
}

function resultOf<Payload>(all: readonly Found<Payload>[]): Result<Payload> {
  return { suggestions: all.map(({ suggestion }) => suggestion), last: all.at(-1)?.found };
}

/** Where the page begins that comes behind a place, after one of so many entries. */
function cursorBehind({ order, cursor }: Query, { rank, member, edit }: Place, entries: number): Cursor {
  if (order !== 'score') return ['a', `${member}\0`];
  const depth = cursor?.[0] === 's' ? cursor[4] : 0;
  return ['s', rank, member, edit, depth + entries];
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
    ({ found: one }, { found: other }) =>
      Number(one.rank) - Number(other.rank) ||
      Buffer.compare(Buffer.from(one.member), Buffer.from(other.member)),
  );
  const keys = new Set<string>();
  const found = sorted.filter(({ suggestion: { key } }) => !keys.has(key) && keys.add(key));
  return found.slice(0, limit);
}
