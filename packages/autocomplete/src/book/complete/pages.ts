/** The answers to a typed text, page by page. */
import type { RedisClient, Script, ScriptArgs, ScriptDefinition, ScriptKeys } from '@mortise/redis';
import { PageTooDeepError } from '../../errors.js';
import type { BookKeys } from '../../keys.js';
import type { CompleteBookOptions } from '../../options.js';
import { resolveCompleteBookOptions } from '../../options.js';
import { bookComplete, bookFuzzy, bookList } from '../../scripts.gen.js';
import { requireTyped } from '../../text/typed-text.js';
import type { Cursor } from './cursor.js';
import { readCursor, writeCursor } from './cursor.js';
import { LEAST_FUZZY_POINTS, tokensOf } from '../../text/forms.js';
import { MAX_QUICK, QuickAnswers } from './quick-answers.js';
import { whileSlotMoves } from '../slot-moves.js';
import type { Edit, FoundMember, Suggestion } from '../suggestion.js';
import { suggestionOf } from '../suggestion.js';

/** Maximum of entries before a page in the order of scores. Such a page reads all prefixes of that depth. */
const MAX_DEPTH = 10_000;

/** Maximum of calls for matches after an edit. A call checks up to 500 members, many of which may match exactly. */
const MAX_FUZZY_CALLS = 8;

export interface Page<Payload> {
  /** Up to `limit` entries. A page before the last one may have fewer too; with `fuzzy` even none. */
  readonly suggestions: readonly Suggestion<Payload>[];
  /** The option `cursor` of the next page; `null` at the end. Safe in a URL. */
  readonly cursor: string | null;
}

/** A member that matched, and its entry. */
interface Found<Payload> {
  readonly found: FoundMember;
  readonly suggestion: Suggestion<Payload>;
}

/** A typed text with its options. */
interface Query {
  readonly tokens: readonly string[];
  readonly limit: number;
  readonly order: 'score' | 'alphabetical';
  readonly fuzzy: boolean;
  readonly cursor: Cursor | undefined;
}

/** The common start of the replies of all scripts. */
type Reply = [members: string[], cards?: string[], halfLives?: string, ...more: unknown[]];

/** A position in the order of scores. */
type Position = Pick<FoundMember, 'rank' | 'member' | 'edit'>;

/** The entries of a page, and the member of the last one. */
interface Result<Payload> {
  readonly suggestions: Suggestion<Payload>[];
  readonly last: FoundMember | undefined;
  /** Where the search continues, if it found too few and there may be more. */
  readonly next?: Position | undefined;
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

  async find(text: string, options: CompleteBookOptions): Promise<Suggestion<Payload>[]> {
    return (await this.#find(this.#queryOf('complete', text, options))).suggestions;
  }

  async page(text: string, options: CompleteBookOptions): Promise<Page<Payload>> {
    const query = this.#queryOf('page', text, options);
    const { suggestions, last, next } = await this.#find(query);
    const place = suggestions.length === query.limit ? last : next;
    if (!place) return { suggestions, cursor: null };
    const end = cursorAfter(query, place, suggestions.length);
    return { suggestions, cursor: writeCursor(end, this.#scopeOf(query)) };
  }

  #queryOf(call: string, text: string, options: CompleteBookOptions): Query {
    const { cursor, ...resolved } = resolveCompleteBookOptions(call, options);
    const query = { tokens: tokensOf(requireTyped(text)), ...resolved, cursor: undefined };
    if (cursor === undefined) return query;
    return {
      ...query,
      cursor: readCursor(cursor, this.#scopeOf(query), query.order === 'score' ? 's' : 'a'),
    };
  }

  /** The scope of a cursor. */
  #scopeOf({ order, fuzzy, tokens }: Query): readonly unknown[] {
    return [this.#keys.meta, this.#halfLifeMs, order, fuzzy, ...tokens];
  }

  async #find(query: Query): Promise<Result<Payload>> {
    const { tokens, limit, order, fuzzy, cursor } = query;
    if (order !== 'score') return resultOf(await this.#listed(query));
    if (tokens.length > 1 || cursor || limit > MAX_QUICK) return this.#best(query);
    const answer = await this.#quick.find(query);
    return answer && (!fuzzy || answer.suggestions.length === limit) ? answer : this.#best(query, answer);
  }

  /** In the order of scores: exact matches, which may be known already, then matches after an edit. */
  async #best(
    { tokens, limit, fuzzy, cursor }: Query,
    known: Result<Payload> | null = null,
  ): Promise<Result<Payload>> {
    const [, rank, member, edit, depth] = cursor?.[0] === 's' ? cursor : (['s', '', '', 0, 0] as const);
    if (depth >= MAX_DEPTH) throw new PageTooDeepError(depth, MAX_DEPTH);
    const none: Result<Payload> = { suggestions: [], last: undefined };
    const exact =
      edit > 0 ? none : (known ?? resultOf(await this.#exact({ tokens, limit, rank, member, depth })));
    const left = limit - exact.suggestions.length;
    const isEdited = fuzzy && left > 0 && tokens.some((token) => pointsIn(token) >= LEAST_FUZZY_POINTS);
    if (!isEdited) return exact;
    const keys = new Set(exact.suggestions.map(({ key }) => key));
    const after = edit > 0 ? { rank, member, edit } : { rank: '', member: '', edit };
    const edited = await this.#edited({ tokens, limit: left, after, keys });
    return {
      suggestions: [...exact.suggestions, ...edited.suggestions],
      last: edited.last ?? exact.last,
      next: edited.next,
    };
  }

  async #exact(query: {
    tokens: readonly string[];
    limit: number;
    rank: string;
    member: string;
    depth: number;
  }): Promise<Found<Payload>[]> {
    // The longest token is the prefix: a script searches for its letters and those of one other token together.
    const [prefix = '', ...others] = query.tokens.toSorted((a, b) => pointsIn(b) - pointsIn(a));
    let { rank: afterRank, member: afterMember } = query;
    let place = '';
    let found: Found<Payload>[] = [];
    for (;;) {
      const { limit, depth } = query;
      const args = {
        halfLifeMs: this.#halfLifeMs,
        limit,
        afterRank,
        afterMember,
        depth,
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

  /** @param query `keys`: the entries that are left out; those of the result are added. */
  async #edited({
    tokens,
    limit,
    after,
    keys,
  }: {
    tokens: readonly string[];
    limit: number;
    after: Position;
    keys: Set<string>;
  }): Promise<Result<Payload>> {
    let place: Position | undefined = after;
    const found: Found<Payload>[] = [];
    for (let calls = 0; place && found.length < limit && calls < MAX_FUZZY_CALLS; calls += 1) {
      const left = limit - found.length;
      const { rank: afterRank, member: afterMember } = place;
      const isOfLast = place.edit === 2 ? '1' : '0';
      const args = { halfLifeMs: this.#halfLifeMs, limit: left, afterRank, afterMember, isOfLast, tokens };
      const reply = await this.#run(bookFuzzy, args);
      const [edited, rest] = reply.slice(3) as [number, [isOfLast?: string, rank?: string, member?: string]];
      const part = this.#read(reply, tokens, (index) => (index < edited ? 1 : 2));
      for (const one of part) {
        // The score of an entry may have changed since the previous call: then it is in both.
        if (keys.has(one.suggestion.key)) continue;
        keys.add(one.suggestion.key);
        found.push(one);
      }
      const [isRestOfLast, rank = '', member = ''] = rest;
      if (isRestOfLast !== undefined) place = { rank, member, edit: isRestOfLast === '1' ? 2 : 1 };
      else place = part.length === left ? part.at(-1)!.found : undefined;
    }
    return { ...resultOf(found), next: place };
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

/** The cursor after a position, on a page with this number of entries. */
function cursorAfter({ order, cursor }: Query, { rank, member, edit }: Position, entries: number): Cursor {
  if (order !== 'score') return ['a', `${member}\0`];
  const depth = cursor?.[0] === 's' ? cursor[4] : 0;
  return ['s', rank, member, edit, depth + entries];
}

function pointsIn(token: string): number {
  return Array.from(token).length;
}

/** Merges the answers of several calls: each entry once, by its best member. */
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
