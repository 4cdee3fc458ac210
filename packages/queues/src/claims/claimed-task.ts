import { readJson } from '@mortise/redis';
import { AttemptError } from '../errors.js';
import type { Shard } from '../shard/shard.js';
import { decodeRecord } from '../task/record.js';
import { decodeTaskId } from '../task/task-id.js';
import type { PayloadOf } from '../task-types.js';
import type { FetchedTask } from '../work/fetch-and-ack.js';
import { writeLease } from './lease.js';

/** A task that its claimer holds until `leaseUntil`. */
export type ClaimedTask<Tasks = Record<string, unknown>> = {
  [Name in keyof Tasks & string]: {
    readonly id: string;
    readonly name: Name;
    readonly payload: PayloadOf<Tasks, Name>;
    readonly headers: Readonly<Record<string, string>>;
    readonly group?: string;
    /** The number of this attempt, from 1. */
    readonly attempt: number;
    readonly attempts: number;
    /** The time limit of an attempt, ms. Mortise does not enforce it: stop the heartbeats of a longer attempt. */
    readonly timeoutMs?: number;
    /** When the task was enqueued, ms since the epoch by the server's clock. */
    readonly enqueuedAt: number;
    /** When the lease ends, ms since the epoch by the server's clock. */
    readonly leaseUntil: number;
    /** An argument of every call about this task. Opaque, but not a secret. */
    readonly lease: string;
  };
}[keyof Tasks & string];

/** Throws for a record that this version cannot read, and ERR_TASK_EXPIRED. */
export function readClaimed(
  { queue, index, codecs }: Shard,
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
    payload: readJson(payload, codecs),
    headers,
    ...(group !== undefined && { group }),
    attempt,
    attempts,
    ...(timeoutMs !== undefined && { timeoutMs }),
    enqueuedAt,
    leaseUntil: nowMs + leaseMs,
    lease: writeLease({ shard: index, token }),
  };
}
