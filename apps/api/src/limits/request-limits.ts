/**
 * Limits the requests of each credential and of each tenant, in all processes together. Both limits are asked at once, before the body of
 * the request is read. A request that one of them refuses counts for the other one as well.
 */
import { RateLimiter } from '@mortise/locks';
import type { TakeResult } from '@mortise/locks';
import type { RedisClient } from '@mortise/redis';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';

import type { Principal } from '../callers/principal.js';
import { TenantStore } from '../callers/tenant-store.js';
import type { Config } from '../config.js';
import { Problem } from '../problems/problem.js';
import { CONFIG, REDIS } from '../tokens.js';
import { formatRate } from '../rate.js';
import type { Rate } from '../rate.js';
import { limitsPrefix } from './keys.js';

/** Limiters that are kept between requests. */
const MAX_KEPT = 10_000;

interface Taken {
  readonly policy: 'key' | 'tenant';
  readonly rate: Rate;
  readonly result: TakeResult;
}

@Injectable()
export class RequestLimits {
  readonly #redis: RedisClient;
  readonly #config: Config;
  readonly #limiters = new Map<string, RateLimiter>();

  constructor(
    @Inject(REDIS) redis: RedisClient,
    @Inject(CONFIG) config: Config,
    private readonly tenants: TenantStore,
  ) {
    this.#redis = redis;
    this.#config = config;
  }

  /**
   * Counts a request. Returns the headers of its answer, none without a limit, and the problem `rate-limited` if a limit refuses it. One
   * round trip if there is a limit. Throws errors of Redis.
   */
  async take(principal: Principal): Promise<{ headers: Record<string, string>; refusal?: Problem }> {
    const { KEY_LIMIT, TENANT_LIMIT } = this.#config;
    const { keyId, tenant, subject, limit } = principal;
    // Without authentication nobody is known.
    if (!principal.proof) return { headers: {} };
    const record = await this.tenants.kept(tenant);
    const taken = await Promise.all([
      this.#takeOf(
        'key',
        keyId === undefined ? `token:${tenant}:${subject}` : `key:${keyId}`,
        limit ?? KEY_LIMIT,
      ),
      this.#takeOf('tenant', `tenant:${tenant}`, record?.limit ?? TENANT_LIMIT),
    ]);
    const limits = taken.filter((each) => each !== undefined);
    if (limits.length === 0) return { headers: {} };
    const headers = headersOf(limits);
    const refused = limits.find(({ result }) => !result.isAllowed);
    if (!refused) return { headers };
    const { policy, rate, result } = refused;
    const what = policy === 'key' ? 'credential' : 'tenant';
    const fields = { policy, limit: rate.requests, periodMs: rate.seconds * 1_000 };
    const refusal = new Problem(
      'rate-limited',
      `the ${what} may send ${rate.requests} requests in ${rate.seconds} s`,
      { ...fields, retryAfterMs: result.retryAfterMs },
    );
    return { headers, refusal };
  }

  /** Limits the requests that the server gets from now on. */
  watch(server: FastifyInstance): void {
    server.addHook('onRequest', async ({ principal }, reply) => {
      if (!principal) return;
      const { headers, refusal } = await this.take(principal);
      reply.headers(headers);
      if (refusal) throw refusal;
    });
  }

  async #takeOf(
    policy: Taken['policy'],
    name: string,
    rate: Rate | null | undefined,
  ): Promise<Taken | undefined> {
    if (!rate) return undefined;
    return { policy, rate, result: await this.#limiter(name, rate).take() };
  }

  /** A changed rate is another limiter: it begins with its whole burst. */
  #limiter(who: string, rate: Rate): RateLimiter {
    const name = `${who}:${formatRate(rate)}`;
    const kept = this.#limiters.get(name);
    if (kept) return kept;
    const { requests: limit, seconds } = rate;
    const prefix = limitsPrefix(this.#config.MORTISE_PREFIX);
    const limiter = new RateLimiter(this.#redis, name, { limit, periodMs: seconds * 1_000, prefix });
    if (this.#limiters.size >= MAX_KEPT) this.#limiters.clear();
    this.#limiters.set(name, limiter);
    return limiter;
  }
}

/** The fields of draft-ietf-httpapi-ratelimit-headers: how many requests in how many seconds, what remains, when all of it is back. */
function headersOf(limits: readonly Taken[]): Record<string, string> {
  return {
    'ratelimit-policy': limits
      .map(({ policy, rate }) => `"${policy}";q=${rate.requests};w=${rate.seconds}`)
      .join(', '),
    ratelimit: limits
      .map(
        ({ policy, result }) =>
          `"${policy}";r=${result.remaining};t=${Math.ceil(result.resetAfterMs / 1_000)}`,
      )
      .join(', '),
  };
}
