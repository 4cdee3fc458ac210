/** The reply of the two scripts that lease rows. */
import { decodeName } from '@mortise/redis';
import { unpack } from './pack.js';
import type { LeasedPack } from './pack.js';
import { parseState } from './schedule-state.js';
import type { ScheduleState } from './schedule-state.js';

/** When rows of the shard are due, in ms from now; Infinity: none is. */
export interface NextDue {
  /** Rows whose last load succeeded, or the end of the pause of a source that is down. */
  readonly nextInMs: number;
  /** Failed rows. */
  readonly failedInMs: number;
}

/** Rows under one lease. */
export interface LeasedRows extends NextDue {
  readonly lease: string;
  /** When the lease began, in ms of the server's clock, as text. */
  readonly leasedAt: string;
  /** When the reply arrived, an instant of `performance.now()`. */
  readonly repliedAt: number;
  /** When the median row was due, on the server's clock. */
  readonly medianDueAt: number;
  /** How long the first row had been due, in ms. */
  readonly lateMs: number;
  /** First the single rows, then those of each pack. */
  readonly ids: readonly string[];
  readonly packs: readonly LeasedPack[];
  /** The states of the rows, in the order of `ids`; null for a row whose state was evicted. */
  readonly states: readonly (ScheduleState | null)[];
  /** Whether the source was down: then these rows are a half-open probe. */
  readonly isProbe: boolean;
  /** The failed loads in a row of each of these rows; 0: their last load succeeded. */
  readonly failures: number;
}

type LeaseReply = [
  string,
  string,
  string,
  number,
  number,
  number,
  number,
  number,
  string[],
  (string | null)[],
  string[],
];

export function toInMs(reply: number): number {
  return reply < 0 ? Infinity : reply;
}

/** Parses the reply of `refresher.lease.lua` and of `refresher.lease-failed.lua`. */
export function toLeasedRows(reply: unknown): LeasedRows {
  const repliedAt = performance.now();
  const [lease, leasedAt, medianDueAt, lateMs, nextInMs, failedInMs, isProbe, failures, ...found] =
    reply as LeaseReply;
  const [rowIds, rowStates, packParts] = found;
  const ids = rowIds.map((id) => decodeName(id));
  const states = rowStates.map((state) => (state ? parseState(state) : null));
  const packs = unpack(packParts, ids, states);
  return {
    ids,
    states,
    packs,
    lease,
    leasedAt,
    repliedAt,
    medianDueAt: Number(medianDueAt),
    lateMs,
    nextInMs: toInMs(nextInMs),
    failedInMs: toInMs(failedInMs),
    isProbe: isProbe === 1,
    failures,
  };
}
