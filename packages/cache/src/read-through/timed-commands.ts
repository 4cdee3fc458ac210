/**
 * Sends the commands of one cache with a time limit. All commands have the same limit, so they expire in the order in which
 * they were sent. One timer serves them all. It is set for the first command and set again while any are under way. A timer
 * for each command would cost more than a microsecond.
 */
import { ClientClosedError, failureOf, isClosed, RedisUnreachableError, withoutLink } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { CacheUnavailableError, isReply } from '../errors.js';
import { CircuitBreaker } from './circuit-breaker.js';

/** A command under way. */
interface Call {
  readonly deadlineAt: number;
  readonly onError: (error: CacheUnavailableError) => void;
}

export class TimedCommands {
  readonly #client: RedisClient;
  readonly #cache: string;
  readonly #limitMs: number;
  readonly #breaker: CircuitBreaker;
  readonly #calls = new Set<Call>();
  #isWatching = false;

  constructor(client: RedisClient, cache: string, limitMs: number) {
    this.#client = client;
    this.#cache = cache;
    this.#limitMs = limitMs;
    this.#breaker = CircuitBreaker.of(client);
  }

  /**
   * Resolves to the reply. Rejects with CacheUnavailableError if Redis is unavailable, does not answer in time or refuses.
   * A late reply is passed to `onLate`.
   */
  run<Reply>(send: () => Promise<Reply>, onLate?: (reply: Reply) => void): Promise<Reply> {
    return new Promise((resolve, reject) => this.call(send, resolve, reject, onLate));
  }

  /** `run` without a promise: calls exactly one of the two callbacks. */
  call<Reply>(
    send: () => Promise<Reply>,
    onReply: (reply: Reply) => void,
    onError: (error: CacheUnavailableError) => void,
    onLate?: (reply: Reply) => void,
  ): void {
    const refusal = this.#breaker.refusal();
    if (refusal !== undefined) {
      onError(this.#unavailable(refusal));
      return;
    }
    const sent = send();
    const call: Call = { deadlineAt: performance.now() + this.#limitMs, onError };
    this.#calls.add(call);
    this.#watch(this.#limitMs);
    const onSettled = (reply: Reply): void => {
      this.#breaker.answered();
      if (this.#calls.delete(call)) onReply(reply);
      else onLate?.(reply);
    };
    sent.then(onSettled, (error: unknown) => this.#onFailed(call, error));
  }

  #onFailed(call: Call, thrown: unknown): void {
    const error = failureOf(this.#client, thrown);
    const isInTime = this.#calls.delete(call);
    // An error reply counts as an answer.
    if (isReply(error)) this.#breaker.answered();
    else if (isInTime) this.#breaker.unanswered();
    if (!isInTime) return;
    const reason = error instanceof Error ? withoutLink(error.message) : String(error);
    call.onError(new CacheUnavailableError(this.#cache, reason, error));
  }

  /** The timer does not keep the process alive: the connection does. */
  #watch(ms: number): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    setTimeout(() => {
      const now = performance.now();
      // After a blocked event loop, timers run first: replies that have arrived still count.
      setImmediate(() => this.#giveUp(now));
    }, ms).unref();
  }

  #giveUp(now: number): void {
    this.#isWatching = false;
    for (const call of this.#calls) {
      if (call.deadlineAt > now) {
        this.#watch(call.deadlineAt - now);
        return;
      }
      this.#calls.delete(call);
      this.#breaker.unanswered();
      call.onError(this.#unavailable(`no answer within ${this.#limitMs} ms`));
    }
  }

  /** A client without a connection is the cause, which its user may not know of: ioredis connects for ever. */
  #unavailable(reason: string): CacheUnavailableError {
    const cause = isClosed(this.#client) ? new ClientClosedError() : RedisUnreachableError.of(this.#client);
    if (!(cause instanceof RedisUnreachableError))
      return new CacheUnavailableError(this.#cache, reason, cause);
    // The cause names the status itself.
    const text = withoutLink(cause.message);
    const why = reason === `the client is ${cause.status}` ? text : `${reason}. ${text}`;
    return new CacheUnavailableError(this.#cache, why, cause);
  }
}
