/**
 * Whether it makes sense to ask Redis. A reader that waits for a server which doesn't answer is worse off than without a cache,
 * and with ioredis it waits long: commands queue up until the connection is back. So each command has a time limit,
 * a client that says itself that it is away is not asked, and after several silences in a row nobody asks for a while but one
 * probe at a time (a circuit breaker). What one cache learns all caches on the same client know.
 */
import { onClosed } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';

/** Silences in a row that open the breaker. */
const MAX_FAILURES = 5;
/** Between two probes while it is open. */
const PROBE_MS = 1_000;

const AWAY = new Set(['reconnecting', 'close', 'end', 'disconnecting']);

const healths = new WeakMap<object, Health>();

export class Health {
  readonly #client: RedisClient;
  readonly #onReady = new Set<() => void>();
  readonly #onClosed = new Set<() => void>();
  #failures = 0;
  #probeAt = 0;

  static of(client: RedisClient): Health {
    let health = healths.get(client);
    if (!health) {
      health = new Health(client);
      healths.set(client, health);
    }
    return health;
  }

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

  /** Calls back when the client is connected (again). Returns what ends that. */
  onReady(callback: () => void): () => void {
    this.#onReady.add(callback);
    return () => this.#onReady.delete(callback);
  }

  /** Calls back when its owner has closed the client. Returns what ends that. */
  onClosed(callback: () => void): () => void {
    this.#onClosed.add(callback);
    return () => this.#onClosed.delete(callback);
  }

  /** Why Redis is not to be asked now, or undefined. The first caller after a while becomes the probe. */
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

  silent(): void {
    this.#failures += 1;
    if (this.#failures >= MAX_FAILURES) this.#probeAt = performance.now() + PROBE_MS;
  }
}
