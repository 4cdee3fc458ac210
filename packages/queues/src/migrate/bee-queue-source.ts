/** The queues of bee-queue, as version 2 stores them: `<prefix>:<queue>:<part>`, and all jobs as JSON in one HASH. */
import { inexactNumber } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import type { NewSchedule, NewTask, Place, Source, TakenJob } from './source.js';
import { call } from './source.js';

interface StoredJob {
  readonly data: unknown;
  readonly options: {
    readonly retries?: number;
    readonly timeout?: number;
    readonly backoff?: { readonly strategy: string; readonly delay?: number };
  };
}

export class BeeQueueSource implements Source {
  readonly redis: RedisClient;
  readonly places: readonly Place[];
  readonly onTheWay: string;
  readonly marker: string;
  readonly #base: string;
  readonly #name: string;

  /** @param name Of the tasks: jobs of bee-queue have none. */
  constructor(redis: RedisClient, prefix: string, queue: string, name: string) {
    this.redis = redis;
    this.#base = `${prefix}:${queue}:`;
    this.#name = name;
    this.onTheWay = `${this.#base}mortise:moved`;
    this.marker = `${this.#base}mortise:marker`;
    this.places = [
      { state: 'waiting', key: `${this.#base}waiting`, type: 'list' },
      { state: 'delayed', key: `${this.#base}delayed`, type: 'zset' },
    ];
  }

  /** A waiting job of bee-queue has none. */
  lockOf(): string {
    return `${this.#base}mortise:lock`;
  }

  async reasons(ids: readonly string[]): Promise<(string | undefined)[]> {
    const jobs = await call<(string | null)[]>(this.redis, 'hmget', `${this.#base}jobs`, ...ids);
    return jobs.map((job) => {
      if (job === null) return 'without a record';
      return inexactNumber(job) === undefined ? undefined : 'number that JavaScript would round';
    });
  }

  async read({ id, state, score }: TakenJob): Promise<NewTask | undefined> {
    const text = await call<string | null>(this.redis, 'hget', `${this.#base}jobs`, id);
    if (text === null) return undefined;
    const { data, options } = JSON.parse(text) as StoredJob;
    const { retries = 0, timeout = 0, backoff } = options;
    const { strategy = 'immediate', delay = 0 } = backoff ?? {};
    const type = strategy === 'exponential' ? 'exponential' : 'fixed';
    return {
      name: this.#name,
      payload: data,
      options: {
        id,
        attempts: 1 + Math.max(0, retries),
        ...(state === 'delayed' && { runAt: Math.max(score, Date.now()) }),
        ...(timeout > 0 && { timeoutMs: timeout }),
        ...(delay > 0 && { backoff: { type, delayMs: delay, jitter: 0 } }),
      },
    };
  }

  async forget(ids: readonly string[]): Promise<void> {
    await call(this.redis, 'hdel', `${this.#base}jobs`, ...ids);
  }

  async schedules(): Promise<string[]> {
    return [];
  }

  async takeSchedule(): Promise<NewSchedule | undefined> {
    return undefined;
  }

  async returnSchedule(): Promise<void> {
    // It has none.
  }

  async forgetSchedule(): Promise<void> {
    // It has none.
  }
}
