/**
 * How many calls, bytes or mails may pass in a time, counted for all processes together.
 *
 * GCRA, the "leaky bucket as a meter" of ATM networks (ITU-T I.371), keeps one number for each limiter, where a fixed
 * window lets twice the limit pass around its edge and a log of all takes needs memory for each of them. What happens
 * when the server's clock is set stands at the head of `rate-limiter.take.lua`.
 */
import type { RedisClient } from '@mortise/redis';
import { requireInteger, requireName } from '@mortise/redis';
import { RateLimiterKeys } from '../keys.js';
import { resolveRateLimiterOptions } from '../options.js';
import type { RateLimiterOptions } from '../options.js';
import type { RateLimiterTerms } from './takes.js';
import { Takes } from './takes.js';

/** What became of a take. */
export interface TakeResult {
  /** Whether the permits were taken. If not, nothing was. */
  readonly isAllowed: boolean;
  /** How many permits could be taken now. */
  readonly remaining: number;
  /** When the same take would be allowed if nobody else took anything, in whole ms from now; 0 if it was allowed. */
  readonly retryAfterMs: number;
  /** When `remaining` would be `burst` again if nobody took anything, in whole ms from now. */
  readonly resetAfterMs: number;
}

/**
 * At most `limit` permits in each period, `burst` of them at once.
 *
 * An object is cheap, has no connection of its own and needs no closing; objects with the same name and prefix are the
 * same limiter. They should have the same options: a changed limit is in force from the next take on.
 */
export class RateLimiter {
  readonly name: string;
  readonly limit: number;
  readonly periodMs: number;
  readonly burst: number;
  readonly #takes: Takes;
  readonly #terms: RateLimiterTerms;

  /** Throws TypeError or RangeError for a client, name or option that cannot be used. Sends nothing. */
  constructor(redis: RedisClient, name: string, options: RateLimiterOptions) {
    const { limit, periodMs, burst } = resolveRateLimiterOptions(options);
    this.name = requireName('name', name);
    this.limit = limit;
    this.periodMs = periodMs;
    this.burst = burst;
    this.#takes = Takes.of(redis);
    this.#terms = { keys: new RateLimiterKeys(name, options.prefix), limit, periodMs, burst };
  }

  /**
   * Takes `cost` permits at once, or none. Never waits. In any time t, at most `burst` + `limit` · t / `periodMs` permits
   * are given; one that is due is never held back. Rejects with RangeError for a cost that is no whole number from 0
   * to `burst`, as more can never be allowed; 0 only looks. One round trip, O(1); takes of one tick from limiters of one
   * slot share it, in the order of the calls. Errors of ioredis pass through: the permits may have been taken then,
   * and a repetition takes further ones, never too many.
   */
  async take(cost = 1): Promise<TakeResult> {
    requireInteger('cost', cost, { min: 0, max: this.burst });
    const { isAllowed, remaining, waitUs, refillUs } = await this.#takes.submit(this.#terms, cost);
    return {
      isAllowed,
      remaining,
      retryAfterMs: Math.ceil(waitUs / 1_000),
      resetAfterMs: Math.ceil(refillUs / 1_000),
    };
  }

  /**
   * Gives the whole burst back, as if nothing had been taken. Travels with takes of the same tick, and in their order.
   * Repeating it is safe.
   */
  async reset(): Promise<void> {
    await this.#takes.submit(this.#terms, -1);
  }
}
