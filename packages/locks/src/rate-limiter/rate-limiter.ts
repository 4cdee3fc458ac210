/**
 * A rate limit for calls, bytes or mails, counted for all processes together.
 *
 * GCRA, the "leaky bucket as a meter" of ATM networks (ITU-T I.371), keeps one number for each limiter. Rejected: a
 * fixed window, which lets twice the limit pass around its edge. Also rejected: a log of all takes, which needs
 * memory for each of them. `rate-limiter.take.lua` describes what happens when the server's clock is set.
 */
import type { RedisClient } from '@mortise/redis';
import { requireClient, requireInteger, requireName, SafeTelemetry } from '@mortise/redis';
import { RateLimiterKeys } from '../keys.js';
import { resolveRateLimiterOptions } from '../options.js';
import type { RateLimiterOptions } from '../options.js';
import { rateLimiterPeek } from '../scripts.gen.js';
import { KIND, OUTCOME, TAKES } from '../telemetry/metrics.js';
import type { RateLimiterTerms } from './takes.js';
import { Takes } from './takes.js';

/** The result of a take. */
export interface TakeResult {
  /** Whether the permits were taken. A refused call takes none. */
  readonly isAllowed: boolean;
  /** Permits that are available now. */
  readonly remaining: number;
  /** Whole ms until the same take would be allowed if nobody else took permits; 0 if it was allowed. */
  readonly retryAfterMs: number;
  /** Whole ms until `remaining` would be `burst` again if nobody took permits. */
  readonly resetAfterMs: number;
}

/** The permits of a limiter, from `peek`. */
export interface RateLimiterState {
  /** Permits that are available now. */
  readonly remaining: number;
  /** Whole ms until `remaining` would be `burst` again if nobody took permits. */
  readonly resetAfterMs: number;
}

/** A limiter that somebody uses, from `RateLimiter.inspect`. */
export interface RateLimiterInUse {
  /** The options of the last take that changed the limiter. Null if a version that stored no options made it. */
  readonly terms: Readonly<Record<'limit' | 'periodMs' | 'burst', number>> | null;
  /** Permits that are available now by these options. Null without options. */
  readonly remaining: number | null;
  readonly resetAfterMs: number;
}

/**
 * A limit of permits per period, for all processes. `limit` permits come back in each period, and `burst` of them may be taken
 * at once. So a period gives at most `limit` + `burst` permits.
 *
 * An object is cheap, has no connection of its own and needs no closing. Objects with the same name and prefix are the same
 * limiter. They should have the same options: a changed limit applies from the next take on.
 */
export class RateLimiter {
  readonly name: string;
  readonly limit: number;
  readonly periodMs: number;
  readonly burst: number;
  readonly #redis: RedisClient;
  readonly #takes: Takes;
  readonly #telemetry: SafeTelemetry | undefined;
  readonly #terms: RateLimiterTerms;

  /** Throws TypeError or RangeError for a wrong client, name or option. Sends nothing. */
  constructor(redis: RedisClient, name: string, options: RateLimiterOptions) {
    const { limit, periodMs, burst } = resolveRateLimiterOptions(options);
    this.name = requireName('name', name);
    this.limit = limit;
    this.periodMs = periodMs;
    this.burst = burst;
    this.#redis = requireClient(redis);
    this.#takes = Takes.of(redis);
    this.#telemetry = SafeTelemetry.of(options.telemetry, { [KIND]: 'rate-limiter' });
    this.#terms = { keys: new RateLimiterKeys(name, options.prefix), limit, periodMs, burst };
  }

  /**
   * Takes `cost` permits at once, or none. Never waits. In t ms the limiter gives at most `burst` + `limit` · t / `periodMs`
   * permits, and never fewer than are due. A cost of 0 takes nothing and returns the state. Rejects with RangeError unless the
   * cost is a whole number from 0 to `burst`. One round trip, O(1). Takes of one tick share it, in the order of the calls (on
   * Cluster, those of limiters in one slot). If the client resends the command, the permits are taken once. They are taken
   * twice if another process, or another tick of this client, took permits in between. Errors of ioredis pass through: the
   * permits may then have been taken. A repeated call takes more of them, but never exceeds the limit.
   */
  async take(cost = 1): Promise<TakeResult> {
    requireInteger('cost', cost, { min: 0, max: this.burst });
    const { isAllowed, remaining, waitUs, refillUs } = await this.#takes.submit(this.#terms, cost);
    if (cost > 0) this.#telemetry?.count(TAKES, 1, { [OUTCOME]: isAllowed ? 'allowed' : 'refused' });
    return {
      isAllowed,
      remaining,
      retryAfterMs: Math.ceil(waitUs / 1_000),
      resetAfterMs: Math.ceil(refillUs / 1_000),
    };
  }

  /**
   * Reads the permits that are available now, without a take: the call changes nothing, and counts no take. It is read-only, so
   * it also runs with a user that may not write. One round trip, O(1). Errors of ioredis pass through. Safe to repeat.
   */
  async peek(): Promise<RateLimiterState> {
    const { keys, periodMs, limit, burst } = this.#terms;
    const [, , , remaining, refillUs] = await peekAt(this.#redis, keys, [periodMs * 1_000, limit, burst]);
    return { remaining: remaining!, resetAfterMs: Math.ceil(refillUs! / 1_000) };
  }

  /**
   * Reads a limiter whose options the caller does not know, such as for a dashboard. The state has the options of the last take
   * that changed the limiter. Null if the whole burst is available, since Redis then has no state of the limiter. Read-only,
   * one round trip, O(1). Throws TypeError or RangeError for a wrong client, name or prefix. Errors of ioredis pass through.
   * Safe to repeat.
   */
  static async inspect(
    redis: RedisClient,
    name: string,
    { prefix }: Pick<RateLimiterOptions, 'prefix'> = {},
  ): Promise<RateLimiterInUse | null> {
    const keys = new RateLimiterKeys(requireName('name', name), prefix);
    const [limit, periodMs, burst, remaining, refillUs] = await peekAt(requireClient(redis), keys, [0, 0, 0]);
    if (refillUs === undefined) return null;
    const terms = limit === 0 ? null : { limit: limit!, periodMs: periodMs!, burst: burst! };
    return {
      terms,
      remaining: terms && remaining!,
      resetAfterMs: Math.ceil(refillUs / 1_000),
    };
  }

  /**
   * Restores the whole burst. The reset shares one script call with takes of the same tick, in the order of the calls. Safe to
   * repeat.
   */
  async reset(): Promise<void> {
    await this.#takes.submit(this.#terms, -1);
  }
}

/** The reply of the script. */
async function peekAt(
  redis: RedisClient,
  { rate }: RateLimiterKeys,
  [periodUs, limit, burst]: readonly [number, number, number],
): Promise<number[]> {
  return (await rateLimiterPeek.run(redis, { rate }, { periodUs, limit, burst })) as number[];
}
