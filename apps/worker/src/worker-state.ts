import type { RedisClient } from '@mortise/redis';
import { TIMED_OUT, waitFor } from '@mortise/redis';

const PING_TIMEOUT_MS = 1_000;

/** The state of the worker, for its probes. */
export class WorkerState {
  readonly #redis: RedisClient;
  isDraining = false;

  constructor(redis: RedisClient) {
    this.#redis = redis;
  }

  /** It is ready when Redis answers within a second and it isn't draining. */
  async unready(): Promise<string | undefined> {
    if (this.isDraining) return 'draining';
    return (await this.#hasRedis()) ? undefined : 'redis is not reachable';
  }

  async #hasRedis(): Promise<boolean> {
    if (this.#redis.status !== 'ready') return false;
    try {
      return (await waitFor(this.#redis.call('ping', []), { waitMs: PING_TIMEOUT_MS })) !== TIMED_OUT;
    } catch {
      return false;
    }
  }
}
