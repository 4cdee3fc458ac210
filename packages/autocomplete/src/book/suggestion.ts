import type { TextRange } from '../text/folded-text.js';
import { matchesOf } from '../text/matches.js';
import { readEntry } from './entry.js';
import { scoreOf } from './score.js';

export interface Suggestion<Payload> {
  readonly key: string;
  readonly display: string;
  readonly score: number;
  readonly payload: Payload | undefined;
  /** The matching parts of `display`: sorted, disjoint. Empty if an alias matched. */
  readonly matches: readonly TextRange[];
  /** Whether it matches only after an edit. */
  readonly isFuzzy: boolean;
}

/** How an entry matches: 0 exactly, 1 after an edit, 2 after an edit of the last letter. Answers have this order. */
export type Edit = 0 | 1 | 2;

/** A member that matched, in the reply of a script. */
export interface FoundMember {
  readonly member: string;
  readonly rank: string;
  /** Empty for an entry that is only a key. */
  readonly card: string;
  readonly edit: Edit;
}

/** The query of a reply, and the server's time. */
export interface Finding {
  readonly tokens: readonly string[];
  readonly halfLifeMs: number;
  /** The server's time in half-lives. */
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
