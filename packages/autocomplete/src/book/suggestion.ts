/** What a completion answers with. */
import type { TextRange } from '../folded-text.js';
import { matchesOf } from '../matches.js';
import { readEntry } from './entry.js';
import { scoreOf } from './score.js';

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

/** By what an entry was found: what was typed, one edit of it, or one of its last letter. They come in this order. */
export type Edit = 0 | 1 | 2;

/** A member by which an entry was found, as a script tells of it. */
export interface FoundMember {
  readonly member: string;
  readonly rank: string;
  /** Empty where the entry has none. */
  readonly card: string;
  readonly edit: Edit;
}

/** What all members that one reply tells of were found by. */
export interface Finding {
  readonly tokens: readonly string[];
  readonly halfLifeMs: number;
  /** How many the server's clock counted. */
  readonly halfLives: string;
}

export function suggestionOf<Payload>(
  { member, rank, card, edit }: FoundMember,
  { tokens, halfLifeMs, halfLives }: Finding,
): Suggestion<Payload> {
  const isFuzzy = edit !== 0;
  const { key, display, payload } = readEntry(member, card);
  const score = scoreOf(rank, halfLifeMs, halfLives);
  const matches = matchesOf(display, tokens, { fuzzy: isFuzzy });
  return { key, display, score, payload: payload as Payload | undefined, matches, isFuzzy };
}
