/**
 * The running workers of a prefix, in one sorted set. Each registers itself every minute, and removes itself when it stops. One that has died
 * counts for up to 150 s more. Rejected: a set for each queue, since a worker of several queues would count several times.
 *
 *   stopped ──start──► registered ──stop──► stopped
 */
import type { ErrorReporter, RedisClient } from '@mortise/redis';
import { isClosed, Loop, waitFor } from '@mortise/redis';

import { workersKey } from '../keys.js';
import { workerPresenceRegister } from '../scripts.gen.js';
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
    const left = register(this.#redis, this.#prefix, this.#worker, 0).catch(() => undefined);
    await waitFor(left, { waitMs: withinMs });
  }

  async #refresh(signal: AbortSignal): Promise<number> {
    this.#mayBeRegistered = true;
    await waitFor(register(this.#redis, this.#prefix, this.#worker, LIVE_MS), { signal });
    return REFRESH_MS * (0.9 + 0.1 * Math.random());
  }
}

/** The number of running workers. One round trip. */
export function countWorkers(redis: RedisClient, prefix: string | undefined): Promise<number> {
  return register(redis, prefix, '', 0);
}

async function register(
  redis: RedisClient,
  prefix: string | undefined,
  worker: string,
  liveMs: number,
): Promise<number> {
  const reply = await workerPresenceRegister.run(redis, { workers: workersKey(prefix) }, { worker, liveMs });
  return reply as number;
}
