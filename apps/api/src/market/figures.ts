/** The market in numbers, for operators. */
import { callRedis } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';

import type { MarketKeys } from './keys.js';
import { readSale } from './records.js';

export interface MarketFigures {
  /** Items that are for sale. */
  readonly listings: number;
  /** Sales whose receipts are kept. */
  readonly sales: number;
  /** Sales whose mail is not enqueued yet. */
  readonly outbox: number;
  /** Sales per second: those of the last minute, or the newest 100 if these are younger. */
  readonly salesPerSecond: number;
}

const NEWEST = 100;
const WINDOW_MS = 60_000;
const SECOND_MS = 1_000;
const MICROSECONDS = 1_000;

/** Two round trips, O(1). */
export async function figuresOf(redis: RedisClient, keys: MarketKeys): Promise<MarketFigures> {
  const [listings, sales, outbox, newest, [seconds, micros]] = (await Promise.all([
    callRedis(redis, 'zcard', [keys.newest]),
    callRedis(redis, 'llen', [keys.saleOrder]),
    callRedis(redis, 'zcard', [keys.outbox]),
    callRedis(redis, 'lrange', [keys.saleOrder, -NEWEST, -1]),
    callRedis(redis, 'time', []),
  ])) as [number, number, number, string[], [string, string]];
  const records =
    newest.length === 0
      ? []
      : ((await callRedis(redis, 'hmget', [keys.sales, ...newest])) as (string | null)[]);
  const soldAt = records.flatMap((record, index) =>
    record === null ? [] : [readSale(newest[index]!, record).soldAt],
  );
  const now = Number(seconds) * SECOND_MS + Number(micros) / MICROSECONDS;
  return { listings, sales, outbox, salesPerSecond: rateOf(soldAt, now) };
}

/** @param soldAt Of the newest sales, ms, in their order. */
export function rateOf(soldAt: readonly number[], now: number): number {
  const recent = soldAt.filter((at) => at > now - WINDOW_MS);
  // With fewer there were no others within the window.
  const windowMs = recent.length < NEWEST ? WINDOW_MS : Math.max(1, now - recent[0]!);
  return (recent.length * SECOND_MS) / windowMs;
}
