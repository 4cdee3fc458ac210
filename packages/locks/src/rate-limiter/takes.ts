/**
 * The script calls of the rate limiters of one client. Takes of one tick share a call; on Cluster, those from limiters of one slot
 * do.
 */
import { randomBytes } from 'node:crypto';
import type { RedisClient } from '@mortise/redis';
import { Coalescer, perClient } from '@mortise/redis';
import { MAX_BATCH } from '../acquire/gate.js';
import { SlotGroups } from '../acquire/slot-groups.js';
import type { RateLimiterKeys } from '../keys.js';
import { rateLimiterTake } from '../scripts.gen.js';

/** The fields of a limiter that the script needs. */
export interface RateLimiterTerms {
  readonly keys: RateLimiterKeys;
  readonly periodMs: number;
  readonly limit: number;
  readonly burst: number;
}

export interface TakeReply {
  readonly isAllowed: boolean;
  readonly remaining: number;
  /** µs until the take would be allowed; 0 if it is. */
  readonly waitUs: number;
  /** µs until the whole burst remains. */
  readonly refillUs: number;
}

interface TakeRequest {
  readonly terms: RateLimiterTerms;
  /** The script's operand: 0 takes nothing, -1 restores the whole burst. */
  readonly cost: number;
  /** The limiter, for the grouping of calls. */
  readonly lock: { readonly id: string; readonly slot: number };
}

/** All takes on one client. */
export class Takes {
  /** Always the same object for a client. */
  static readonly of = /* @__PURE__ */ perClient((client) => new Takes(client));
  readonly #redis: RedisClient;
  /** Unique among clients. */
  readonly #id = randomBytes(6).toString('base64url');
  #calls = 0;
  readonly #groups: SlotGroups;
  readonly #takes = new Coalescer<number, TakeRequest, TakeReply>(
    (_, requests) => this.#groups.send(requests, (group) => this.#send(group)),
    { maxBatch: MAX_BATCH },
  );

  private constructor(redis: RedisClient) {
    this.#redis = redis;
    this.#groups = SlotGroups.of(redis);
  }

  submit(terms: RateLimiterTerms, cost: number): Promise<TakeReply> {
    const { rate: id, slot } = terms.keys;
    return this.#takes.submit(this.#groups.groupOf(slot), { terms, cost, lock: { id, slot } });
  }

  async #send(requests: readonly TakeRequest[]): Promise<TakeReply[]> {
    const numbers = new Map<RateLimiterTerms, number>();
    for (const { terms } of requests) if (!numbers.has(terms)) numbers.set(terms, numbers.size + 1);
    const limiters = [...numbers.keys()];
    this.#calls += 1;
    const reply = (await rateLimiterTake.run(
      this.#redis,
      { limiters: limiters.map(({ keys }) => keys.rate) },
      {
        callId: this.#id + this.#calls.toString(36),
        operands: [
          ...limiters.flatMap(({ periodMs, limit, burst }) => [periodMs * 1_000, limit, burst]),
          ...requests.flatMap(({ terms, cost }) => [numbers.get(terms)!, cost]),
        ],
      },
    )) as number[];
    return requests.map((_, index) => {
      const [isAllowed, remaining, waitUs, refillUs] = reply.slice(4 * index, 4 * index + 4);
      return { isAllowed: isAllowed === 1, remaining: remaining!, waitUs: waitUs!, refillUs: refillUs! };
    });
  }
}
