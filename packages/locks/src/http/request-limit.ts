/**
 * A limit of HTTP requests, for Express and for Fastify: which client a request counts for, what its answer says, and what
 * happens without Redis. The headers are those of draft-ietf-httpapi-ratelimit-headers, as the HTTP API of Mortise sends them.
 */
import {
  ArgumentTypeError,
  ErrorReporter,
  requireDuration,
  requireFunction,
  requireName,
  requireOneOf,
  requireOptions,
  TIMED_OUT,
  waitFor,
} from '@mortise/redis';
import type { OnError, RedisClient } from '@mortise/redis';
import type { RateLimiterOptions } from '../options.js';
import { RateLimiter } from '../rate-limiter/rate-limiter.js';
import type { TakeResult } from '../rate-limiter/rate-limiter.js';
import { addressKey } from './address-key.js';
import type { LimitedRequest } from './address-key.js';

/** Options of a limit of requests. */
export interface RequestLimitOptions<Request extends LimitedRequest> extends RateLimiterOptions {
  /**
   * Returns the name of the client that a request counts for, or null for a request without a limit. Default: the address
   * `request.ip`; of an IPv6 address, its network of 64 bits.
   */
  readonly key?: ((request: Request) => string | null | Promise<string | null>) | undefined;
  /** Permits that a request takes, a whole number from 0 to `burst`. Default 1. */
  readonly cost?: number | ((request: Request) => number) | undefined;
  /** Answers while Redis is unavailable: `allow` passes requests on, `refuse` sends 503. Default `allow`. */
  readonly onUnavailable?: 'allow' | 'refuse' | undefined;
  /** How long a request waits for Redis, in ms, 1 ms to 10 s. Default 500 ms. */
  readonly timeoutMs?: number | undefined;
  /** Receives failures of Redis; the same failure once a minute. Default: one line on stderr. */
  readonly onError?: OnError | undefined;
}

/** The decision about a request. */
export interface Decision {
  readonly headers: Readonly<Record<string, string>>;
  /** The answer to send in place of the route's. */
  readonly refusal: Refusal | undefined;
}

/** A problem document (RFC 9457) with its status. */
interface Refusal {
  readonly status: 429 | 503;
  readonly body: string;
}

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

const OPTIONS: ReadonlySet<string> = new Set<keyof RequestLimitOptions<LimitedRequest>>([
  'limit',
  'periodMs',
  'burst',
  'prefix',
  'telemetry',
  'key',
  'cost',
  'onUnavailable',
  'timeoutMs',
  'onError',
]);
const TIMEOUT = { min: 1, max: 10_000 };
const DEFAULT_TIMEOUT_MS = 500;
/** Characters that an item of a structured header (RFC 9651) can have between quotes. */
const QUOTABLE = /^[ !#-[\]-~]+$/;
const PASSED: Decision = { headers: {}, refusal: undefined };
const UNAVAILABLE: Decision = {
  headers: { 'retry-after': '1' },
  refusal: refusalOf(503, 'Service Unavailable', 'the limit of requests cannot be checked'),
};

export class RequestLimit<Request extends LimitedRequest> {
  readonly #redis: RedisClient;
  readonly #name: string;
  readonly #terms: RateLimiterOptions;
  readonly #policy: string;
  readonly #reporter: ErrorReporter;
  readonly #keyOf: (request: Request) => string | null | Promise<string | null>;
  readonly #costOf: (request: Request) => number;
  readonly #timeoutMs: number;
  readonly #isOpen: boolean;

  /** Sends nothing. Throws TypeError or RangeError. */
  constructor(redis: RedisClient, name: string, options: RequestLimitOptions<Request>) {
    const given = requireOptions('limitRequests', options, OPTIONS);
    const { limit, periodMs, burst, prefix, telemetry, key, cost = 1, onError } = given;
    this.#redis = redis;
    this.#name = requireName('name', name);
    if (!QUOTABLE.test(name))
      throw new ArgumentTypeError(`name must be printable ASCII for its header, got ${JSON.stringify(name)}`);
    this.#terms = { limit, periodMs, burst, prefix, telemetry };
    // Refuses a wrong client and wrong terms now, not at the first request.
    void new RateLimiter(redis, name, this.#terms);
    this.#policy = `"${name}";q=${limit};w=${Math.ceil(periodMs / 1_000)}`;
    this.#reporter = new ErrorReporter('mortise locks', onError, redis);
    this.#keyOf = key === undefined ? addressKey : requireFunction('key', key);
    this.#costOf = typeof cost === 'function' ? cost : () => cost;
    this.#timeoutMs = requireDuration('timeoutMs', given.timeoutMs ?? DEFAULT_TIMEOUT_MS, TIMEOUT);
    const answers = ['allow', 'refuse'] as const;
    this.#isOpen = requireOneOf('onUnavailable', given.onUnavailable ?? 'allow', answers) === 'allow';
  }

  /** Takes the permits of a request. One round trip. Rejects with the error of `key` and `cost`, and for a wrong result of them. */
  async decide(request: Request): Promise<Decision> {
    const key = await this.#keyOf(request);
    if (key === null) return PASSED;
    const limiter = new RateLimiter(this.#redis, `${this.#name}:${requireName('key', key)}`, this.#terms);
    const cost = this.#costOf(request);
    const result = await this.#take(limiter, cost);
    if (!result) return this.#isOpen ? PASSED : UNAVAILABLE;
    const { isAllowed, remaining, resetAfterMs, retryAfterMs } = result;
    const headers = {
      'ratelimit-policy': this.#policy,
      ratelimit: `"${this.#name}";r=${remaining};t=${Math.ceil(resetAfterMs / 1_000)}`,
    };
    if (isAllowed) return { headers, refusal: undefined };
    const seconds = Math.ceil(retryAfterMs / 1_000);
    const detail = `the limit "${this.#name}" allows the next request in ${seconds} s`;
    return {
      headers: { ...headers, 'retry-after': String(seconds) },
      refusal: refusalOf(429, 'Too Many Requests', detail),
    };
  }

  /** Undefined if Redis does not answer in time. */
  async #take(limiter: RateLimiter, cost: number): Promise<TakeResult | undefined> {
    try {
      const taken = await waitFor(limiter.take(cost), { waitMs: this.#timeoutMs });
      if (taken !== TIMED_OUT) return taken;
      this.#reporter.reportRepeated(new Error(`Redis did not answer a take within ${this.#timeoutMs} ms`));
    } catch (error) {
      // A wrong cost is a mistake of the program.
      if (error instanceof RangeError || error instanceof TypeError) throw error;
      this.#reporter.reportRepeated(error);
    }
    return undefined;
  }
}

function refusalOf(status: Refusal['status'], title: string, detail: string): Refusal {
  return { status, body: JSON.stringify({ type: 'about:blank', title, status, detail }) };
}
