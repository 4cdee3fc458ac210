/**
 * Sends commands of one cache within a time limit. All have the same one, so those under way are late in the order in which
 * they were sent, and one timer for all of them is enough: it is set for the first, and looks again as long as there are
 * any. A timer for each takes more than a microsecond per command.
 */
import type { RedisClient } from '@mortise/redis';
import { CacheUnavailableError } from '../errors.js';
import { Health } from './health.js';

/** A command that is under way. */
interface Call {
  readonly deadlineAt: number;
  readonly onError: (error: CacheUnavailableError) => void;
}

export class Guard {
  readonly #cache: string;
  readonly #limitMs: number;
  readonly #health: Health;
  readonly #calls = new Set<Call>();
  #isWatching = false;

  constructor(client: RedisClient, cache: string, limitMs: number) {
    this.#cache = cache;
    this.#limitMs = limitMs;
    this.#health = Health.of(client);
  }

  /**
   * The reply. Rejects with CacheUnavailableError when Redis is away, does not answer in time or refuses. A reply that
   * comes later goes to `onLate`.
   */
  run<Reply>(send: () => Promise<Reply>, onLate?: (reply: Reply) => void): Promise<Reply> {
    return new Promise((resolve, reject) => this.call(send, resolve, reject, onLate));
  }

  /** As `run`, without a promise: one of the two callbacks is called, once. */
  call<Reply>(
    send: () => Promise<Reply>,
    onReply: (reply: Reply) => void,
    onError: (error: CacheUnavailableError) => void,
    onLate?: (reply: Reply) => void,
  ): void {
    const refusal = this.#health.refusal();
    if (refusal !== undefined) {
      onError(new CacheUnavailableError(this.#cache, refusal));
      return;
    }
    const sent = send();
    const call: Call = { deadlineAt: performance.now() + this.#limitMs, onError };
    this.#calls.add(call);
    this.#watch(this.#limitMs);
    const onSettled = (reply: Reply): void => {
      this.#health.answered();
      if (this.#calls.delete(call)) onReply(reply);
      else onLate?.(reply);
    };
    sent.then(onSettled, (error: unknown) => this.#onFailed(call, error));
  }

  #onFailed(call: Call, error: unknown): void {
    const isInTime = this.#calls.delete(call);
    // A refusal is an answer.
    if (error instanceof Error && error.name === 'ReplyError') this.#health.answered();
    else if (isInTime) this.#health.silent();
    if (!isInTime) return;
    const reason = error instanceof Error ? error.message : String(error);
    call.onError(new CacheUnavailableError(this.#cache, reason, error));
  }

  /** The process need not live for it: what it waits for comes over a connection, which keeps the process. */
  #watch(ms: number): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    setTimeout(() => {
      const now = performance.now();
      // After a blocked event loop timers come first: let the answers in that may have arrived meanwhile.
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
      this.#health.silent();
      call.onError(new CacheUnavailableError(this.#cache, `no answer within ${this.#limitMs} ms`));
    }
  }
}
