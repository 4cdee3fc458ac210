import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import { Discard, Queue } from '@mortise/queues';
import type { Counts, EnqueueOptions, QueueOptions, TaskContext, TaskState } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import { QueueKeys } from '../src/keys.js';
import { launch } from './launch.js';
import { until } from './until.js';

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
export type Tasks = Record<string, any>;

/** Ids of all forms and lengths, and such as have broken keys and protocols before. */
export const HOSTILE_IDS = [
  '}x',
  '{}',
  '%',
  'a\nb',
  '\0',
  '🙂',
  '__proto__',
  'x'.repeat(15),
  'x'.repeat(1_024),
  '0',
  'w',
];

const HOUR_MS = 3_600_000;

/** A queue, and tasks of it in any state. */
export class Bench {
  readonly redis: Redis;
  readonly prefix = freshPrefix();
  readonly queue: Queue<Tasks>;
  readonly keys = new QueueKeys('q', this.prefix);
  /** Errors that workers reported. */
  readonly errors: unknown[] = [];
  /** Contexts of the handlers of `hang`, by id. */
  readonly hanging = new Map<string, TaskContext>();

  constructor(options: QueueOptions = {}, redis = connect()) {
    this.redis = redis;
    this.queue = new Queue<Tasks>(redis, 'q', { prefix: this.prefix, ...options });
  }

  /** Runs what there is: `ok` succeeds, `die` is dead, `fail` is tried again in an hour, `hang` waits for its signal. */
  async work(concurrency = 50): Promise<void> {
    await launch(
      this.redis,
      'q',
      {
        ok: (payload) => payload,
        die: () => {
          throw new Discard('hopeless');
        },
        fail: () => {
          throw new Error('not yet');
        },
        hang: (_, context) => this.#hang(context),
      },
      { prefix: this.prefix, concurrency, onError: (error) => this.errors.push(error) },
    );
  }

  /** A task that stands in the state, once a worker has brought it there. */
  async task(state: TaskState, id: string = randomUUID(), options: EnqueueOptions = {}): Promise<string> {
    const name =
      { active: 'hang', retrying: 'fail', succeeded: 'ok', dead: 'die' }[state as 'active'] ?? 'ok';
    await this.queue.enqueue(name, id, {
      id,
      ...((state === 'scheduled' || state === 'cancelled') && { delayMs: HOUR_MS }),
      ...(state === 'retrying' && { backoff: { type: 'fixed', delayMs: HOUR_MS, jitter: 0 } }),
      ...options,
    });
    if (state === 'cancelled') await this.queue.cancel(id);
    if (state === 'retrying' || state === 'succeeded' || state === 'dead' || state === 'active') {
      await until(async () => (await this.queue.get(id))?.state === state).catch((error: unknown) => {
        throw new AggregateError([error, ...this.errors], String(this.errors));
      });
    }
    return id;
  }

  async expectCounts(some: Partial<Counts>): Promise<void> {
    const none = {
      scheduled: 0,
      ready: 0,
      active: 0,
      retrying: 0,
      succeeded: 0,
      dead: 0,
      cancelled: 0,
      waiting: 0,
    };
    expect(await this.queue.counts()).toEqual({ ...none, ...some });
  }

  /** Names of the keys that are there, but for those that say nothing of tasks. */
  async keysLeft(): Promise<string[]> {
    const keys = await this.redis.keys(`${this.prefix.replaceAll(/[[\]*?]/g, '\\$&')}:*`);
    const parts = keys.map((key) => key.slice(key.indexOf('}:') + 2));
    return parts
      .filter((part) => !['settings', 'features', 'idle', 'timekeeper', 'names'].includes(part))
      .toSorted();
  }

  async #hang(context: TaskContext): Promise<void> {
    this.hanging.set(context.id, context);
    await new Promise((_, reject) => {
      context.signal.addEventListener('abort', () => reject(context.signal.reason as Error));
    });
  }
}
