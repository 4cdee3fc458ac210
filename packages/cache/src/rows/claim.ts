/** What the claim scripts reply: rows under a lease, or none. */
import { decodeName } from '@mortise/redis';
import { unpack } from './pack.js';
import type { ClaimedPack } from './pack.js';
import { parseState } from './schedule-state.js';
import type { ScheduleState } from './schedule-state.js';

/** When the first row is due whose last load failed, in ms from now; Infinity: there is none. */
export interface FailingDue {
  readonly suspectInMs: number;
  /** Of those that are known to hang. */
  readonly hungInMs: number;
}

/** Rows under one lease. */
export interface Claim extends FailingDue {
  readonly lease: string;
  /** When the lease began, in ms of the server's clock, as text. */
  readonly claimedAt: string;
  /** When the reply was there, on the clock of `performance.now()`. The claim may have been long on its way before. */
  readonly repliedAt: number;
  /** When the row in the middle was due. */
  readonly middle: number;
  /** For how long the first row had been due, in ms. */
  readonly lateMs: number;
  /** First those without a pack, then those of each pack. */
  readonly ids: readonly string[];
  readonly packs: readonly ClaimedPack[];
  /** Of the rows, in the order of `ids`; null for what an evicted key leaves behind. */
  readonly states: readonly (ScheduleState | null)[];
  /** When a further row of the shard is due whose last load did not fail, or the pause of its source is over, in ms from now; Infinity: never. */
  readonly nextInMs: number;
  /** The source was down: these rows tell whether it is back. */
  readonly isProbe: boolean;
  /** The last load of each of these rows failed. */
  readonly isRetry: boolean;
  /** So did it for this one, on its own, and that took long. */
  readonly isHung: boolean;
}

type States = (string | null)[];
type ClaimReply = [
  string,
  string,
  string,
  number,
  number,
  number,
  number,
  number,
  string[],
  States,
  string[],
];
type RetryReply = [string, string, string, number, number, number, number, number, string[], States];

export function toInMs(reply: number): number {
  return reply < 0 ? Infinity : reply;
}

/** Of `refresher.claim.lua`. */
export function toClaim(reply: unknown): Claim {
  const [lease, claimedAt, middle, lateMs, nextInMs, suspectInMs, hungInMs, isProbe, ids, states, parts] =
    reply as ClaimReply;
  return {
    ...toRows(ids, states, parts),
    lease,
    claimedAt,
    middle: Number(middle),
    lateMs,
    nextInMs: toInMs(nextInMs),
    suspectInMs: toInMs(suspectInMs),
    hungInMs: toInMs(hungInMs),
    isProbe: isProbe === 1,
    isRetry: false,
    isHung: false,
  };
}

/** Of `refresher.retry.lua`. */
export function toRetry(reply: unknown): Claim {
  const [lease, claimedAt, middle, lateMs, suspectInMs, hungInMs, isProbe, isHung, ids, states] =
    reply as RetryReply;
  return {
    ...toRows(ids, states, []),
    lease,
    claimedAt,
    middle: Number(middle),
    lateMs,
    nextInMs: Infinity,
    suspectInMs: toInMs(suspectInMs),
    hungInMs: toInMs(hungInMs),
    isProbe: isProbe === 1,
    isRetry: true,
    isHung: isHung === 1,
  };
}

function toRows(
  rowIds: readonly string[],
  rowStates: States,
  parts: readonly string[],
): Pick<Claim, 'repliedAt' | 'ids' | 'states' | 'packs'> {
  const repliedAt = performance.now();
  const ids = rowIds.map((id) => decodeName(id));
  const states = rowStates.map((state) => (state ? parseState(state) : null));
  const packs = unpack(parts, ids, states);
  return { repliedAt, ids, states, packs };
}
