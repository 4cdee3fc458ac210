import type { UnreadableOptions } from '../options.js';
import type { Places } from './resume-token.js';

/** Whom to follow, and how. */
export interface FollowingOptions {
  readonly member: string;
  /** Of a token. */
  readonly places: Places;
  readonly isMutedIncluded: boolean;
  readonly signal: AbortSignal | undefined;
  readonly unreadable: UnreadableOptions;
}
