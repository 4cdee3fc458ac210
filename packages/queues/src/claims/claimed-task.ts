import { AttemptError } from '../errors.js';
import { decodeRecord } from '../task/record.js';
import { decodeTaskId } from '../task/task-id.js';
import type { FetchedTask } from '../work/fetch-and-ack.js';
import { writeLease } from './lease.js';

/** A task that belongs to its claimer until `leaseUntil`. */
export type ClaimedTask<Tasks = Record<string, unknown>> = {
  [Name in keyof Tasks & string]: {
    readonly id: string;
    readonly name: Name;
    readonly payload: Tasks[Name];
    readonly headers: Readonly<Record<string, string>>;
    readonly group?: string;
    /** Which attempt this is; 1 is the first. */
    readonly attempt: number;
    readonly attempts: number;
    /** The most that an attempt shall take, ms. Mortise doesn't end a longer one: stop its heartbeats. */
    readonly timeoutMs?: number;
    /** By the clock of the server, ms since the epoch. */
    readonly enqueuedAt: number;
    /** By the clock of the server, ms since the epoch. */
    readonly leaseUntil: number;
    /** An argument of every call about this task. Opaque; it is no secret. */
    readonly lease: string;
  };
}[keyof Tasks & string];

/** Throws for a record that this version cannot read, and ERR_TASK_EXPIRED. */
export function readClaimed(
  queue: string,
  shard: number,
  { storedId, token, attempt, record }: FetchedTask,
  nowMs: number,
  leaseMs: number,
): ClaimedTask {
  const id = decodeTaskId(storedId);
  const { name, payload, extras, group, attempts, enqueuedAt } = decodeRecord(record);
  const { headers = {}, timeoutMs, expiresInMs } = extras;
  if (attempt === 1 && expiresInMs !== undefined && enqueuedAt + expiresInMs <= nowMs) {
    throw new AttemptError('ERR_TASK_EXPIRED', queue, id, expiresInMs);
  }
  return {
    id,
    name,
    payload: JSON.parse(payload) as unknown,
    headers,
    ...(group !== undefined && { group }),
    attempt,
    attempts,
    ...(timeoutMs !== undefined && { timeoutMs }),
    enqueuedAt,
    leaseUntil: nowMs + leaseMs,
    lease: writeLease({ shard, token }),
  };
}
