import type { RedisClient } from '@mortise/redis';
import { rowCacheStats } from '../scripts.gen.js';
import type { TableKeys } from './keys.js';

/** Counters of a schedule. */
export interface ScheduleStats {
  /** Rows in the schedule. */
  readonly scheduled: number;
  /** Scheduled rows that were loaded at least once: the progress of a first fill. */
  readonly loaded: number;
  /** Rows that are due and not being loaded. */
  readonly due: number;
  /** Rows whose last load failed. */
  readonly failing: number;
  /** Shards whose source is down: their cached rows are served, and half-open probes are sent. */
  readonly shardsDown: number;
  /** How long the first due row has waited, without failed rows, in ms. Near 0 when the refreshers keep up. */
  readonly lagMs: number;
}

/** The sums of all shards. One round trip for each, read-only. O(log n). */
export async function statsOf(redis: RedisClient, { shards }: TableKeys): Promise<ScheduleStats> {
  const replies = (await Promise.all(
    shards.map((shard) => rowCacheStats.run(redis, shard, {})),
  )) as number[][];
  const sumOf = (index: number): number => replies.reduce((sum, reply) => sum + reply[index]!, 0);
  const scheduled = sumOf(0);
  return {
    scheduled,
    loaded: scheduled - sumOf(3),
    due: sumOf(1),
    failing: sumOf(2),
    shardsDown: replies.filter((reply) => reply[5]! > 0).length,
    lagMs: Math.max(...replies.map((reply) => reply[4]!)),
  };
}
