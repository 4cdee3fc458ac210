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

/** A member by which an entry was found, as a script tells of it. */
export interface FoundMember {
  readonly member: string;
  readonly rank: string;
  /** Empty where the entry has none. */
  readonly card: string;
}

/** What all members that one reply tells of were found by. */
export interface Finding {
  readonly tokens: readonly string[];
  readonly isFuzzy: boolean;
  readonly halfLifeMs: number;
  /** How many the server's clock counted. */
  readonly halfLives: string;
}

export function suggestionOf<Payload>(
  { member, rank, card }: FoundMember,
  { tokens, isFuzzy, halfLifeMs, halfLives }: Finding,
): Suggestion<Payload> {
  const { key, display, payload } = readEntry(member, card);
  const score = scoreOf(rank, halfLifeMs, halfLives);
  const matches = matchesOf(display, tokens, { fuzzy: isFuzzy });
  return { key, display, score, payload: payload as Payload | undefined, matches, isFuzzy };
}
