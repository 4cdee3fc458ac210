/**
 * Decides whether to send commands to Redis. Waiting for a server that does not answer is worse than no cache, and ioredis
 * waits long: commands queue up until the connection is back. So each command has a time limit, and a disconnected client
 * gets no commands. After several timeouts in a row the breaker opens, and only one half-open probe at a time is sent. All
 * caches on the same client share one breaker.
 */
import { onClosed, perClient } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';

/** Timeouts in a row that open the breaker. */
const MAX_FAILURES = 5;
/** The interval between two half-open probes. */
const PROBE_MS = 1_000;

const AWAY = new Set(['reconnecting', 'close', 'end', 'disconnecting']);

export class CircuitBreaker {
  static readonly of = /* @__PURE__ */ perClient((client) => new CircuitBreaker(client));
  readonly #client: RedisClient;
  readonly #onReady = new Set<() => void>();
  readonly #onClosed = new Set<() => void>();
  #failures = 0;
  #probeAt = 0;

  private constructor(client: RedisClient) {
    this.#client = client;
    client.on('ready', () => {
      this.#failures = 0;
      for (const callback of this.#onReady) callback();
    });
    onClosed(client, () => {
      for (const callback of this.#onClosed) callback();
    });
  }

  /** Calls back when the client is connected (again). Returns the function that ends this. */
  onReady(callback: () => void): () => void {
    this.#onReady.add(callback);
    return () => this.#onReady.delete(callback);
  }

  /** Calls back when the owner closes the client. Returns the function that ends this. */
  onClosed(callback: () => void): () => void {
    this.#onClosed.add(callback);
    return () => this.#onClosed.delete(callback);
  }

  /** The reason not to use Redis now, or undefined. The first caller after a pause becomes the half-open probe. */
  refusal(): string | undefined {
    if (AWAY.has(this.#client.status)) return `the client is ${this.#client.status}`;
    if (this.#failures < MAX_FAILURES) return undefined;
    const now = performance.now();
    if (now < this.#probeAt) return `it has not answered ${this.#failures} times in a row`;
    this.#probeAt = now + PROBE_MS;
    return undefined;
  }

  answered(): void {
    this.#failures = 0;
  }

  unanswered(): void {
    this.#failures += 1;
    if (this.#failures >= MAX_FAILURES) this.#probeAt = performance.now() + PROBE_MS;
  }
}
