import { awaitData } from '../task/awaited-event.js';
import { handedBackData } from '../task/handed-back.js';
import { storeError } from '../task/stored-error.js';

/** The end of an attempt. */
export interface Completion {
  /** Succeeded, retry, dead, back at once, later, at an instant or when an event comes; B, L and E do not count as attempts. */
  readonly verdict: 'S' | 'R' | 'D' | 'B' | 'L' | 'E';
  /** Of an E the instant, ms since the epoch, by the server's clock. */
  readonly delayMs: number;
  /** The result as JSON, or the error as `storeError` returns it. */
  readonly data: string;
  /** The worker should not be the timekeeper for this task, which it would fetch again. */
  readonly leavesTime?: boolean;
  /** The task may be removed as it succeeds: see `FetchReply.areRemoved`. */
  readonly keepsNone?: boolean;
}

/** Why a task is suspended. */
export interface Suspension {
  /** The event for which it waits; undefined for a task that sleeps. */
  readonly event: string | undefined;
  /** The instant at which it goes on at the latest, ms since the epoch, by the server's clock. */
  readonly until: number;
}

export const SUCCEEDED: Completion = { verdict: 'S', delayMs: 0, data: '' };
export const GIVEN_BACK: Completion = { verdict: 'B', delayMs: 0, data: '' };

/** The task dies, with the thrown value as the reason. */
export function died(error: unknown): Completion {
  return { verdict: 'D', delayMs: 0, data: storeError(error) };
}

/** The task goes back to workers that have a handler for it. `since`: see `handedBackData`. */
export function handedBack(since: number, delayMs: number, error: unknown): Completion {
  return { verdict: 'L', delayMs, data: handedBackData(since, storeError(error)), leavesTime: true };
}

/** The task runs again when the event comes, and at this instant at the latest. */
export function suspended({ event, until }: Suspension): Completion {
  return { verdict: 'E', delayMs: until, data: event === undefined ? '' : awaitData(event) };
}

/** The task runs again after the delay. */
export function retried(delayMs: number, error: unknown): Completion {
  return { verdict: 'R', delayMs, data: storeError(error) };
}

const HEAD_BYTES = 15;

/**
 * The format of fetcher.fetch-and-ack.lua: 1 character verdict · u32 token · u16 attempt · f64 delay · data.
 */
export function encodeAck(
  { token, attempt = 0 }: { readonly token: number; readonly attempt?: number | undefined },
  { verdict, delayMs, data }: Completion,
): Buffer {
  const bytes = Buffer.allocUnsafe(data === '' ? HEAD_BYTES : HEAD_BYTES + Buffer.byteLength(data));
  bytes.write(verdict, 0, 'latin1');
  bytes.writeUInt32BE(token, 1);
  bytes.writeUInt16BE(attempt, 5);
  // NaN would make the script fail after its first writes.
  bytes.writeDoubleBE(Number.isFinite(delayMs) ? Math.max(0, Math.ceil(delayMs)) : 0, 7);
  bytes.write(data, HEAD_BYTES);
  return bytes;
}
