/**
 * The registration of a worker among the running ones. It is renewed every minute, and removed when the worker stops. A worker that has died
 * counts for up to 150 s more.
 *
 *   stopped ──start──► registered ──stop──► stopped
 */
import type { ErrorReporter, RedisClient } from '@mortise/redis';
import { isClosed, Loop, waitFor } from '@mortise/redis';

import { registerWorker } from '../shard/running-workers.js';
import type { Service } from './service.js';

const REFRESH_MS = 60_000;
/** A worker outlasts a lost call. */
const LIVE_MS = 150_000;

export class WorkerPresence implements Service {
  readonly #redis: RedisClient;
  readonly #prefix: string | undefined;
  readonly #worker: string;
  readonly #loop: Loop;
  /** A registration may have reached Redis. */
  #mayBeRegistered = false;

  constructor(redis: RedisClient, prefix: string | undefined, worker: string, reporter: ErrorReporter) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#worker = worker;
    this.#loop = new Loop('mortise presence of a worker', (signal) => this.#refresh(signal), {
      onError: (error) => reporter.reportRepeated(error),
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Where Redis does not answer, the registration goes away by itself. */
  async stop(withinMs: number): Promise<void> {
    await this.#loop.stop();
    if (!this.#mayBeRegistered || isClosed(this.#redis)) return;
    this.#mayBeRegistered = false;
    const left = registerWorker(this.#redis, this.#prefix, this.#worker, 0).catch(() => undefined);
    await waitFor(left, { waitMs: withinMs });
  }

  async #refresh(signal: AbortSignal): Promise<number> {
    this.#mayBeRegistered = true;
    await waitFor(registerWorker(this.#redis, this.#prefix, this.#worker, LIVE_MS), { signal });
    return REFRESH_MS * (0.9 + 0.1 * Math.random());
  }
}
