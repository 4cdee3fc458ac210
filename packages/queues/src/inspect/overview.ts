/** The counts of many queues with few calls, for a process that watches all of them. */
import type { RedisClient } from '@mortise/redis';
import {
  ArgumentTypeError,
  perClient,
  requireClient,
  requireInteger,
  requireName,
  requireOptions,
} from '@mortise/redis';
import { namesKey } from '../keys.js';
import { queueOverview } from '../scripts.gen.js';
import type { PrefixOptions } from '../shard/queue-names.js';
import { resolvePrefix } from '../shard/queue-names.js';
import type { Shard } from '../shard/shard.js';
import { Shards } from '../shard/shards.js';
import type { Counts } from '../task/task.js';
import { TASK_STATES } from '../task/task.js';

/** The state of a queue at one instant. */
export interface QueueOverview {
  readonly counts: Counts;
  /**
   * When the next task was enqueued, ms since the epoch, by the clock of Redis; null when no task is ready. With several
   * shards, the earliest of these instants.
   */
  readonly nextEnqueuedAt: number | null;
  /** Whether workers fetch none of its tasks: see `Queue.pause`. */
  readonly isPaused: boolean;
  /** The rate of ended tasks; only with the option `windowMs`. */
  readonly perSecond?: EndsPerSecond;
}

/** Tasks that ended per second, over `windowMs`. */
export interface EndsPerSecond {
  /**
   * Succeeded tasks per second, counted by the stored tasks. If the workers keep none (`keepSucceeded`), the number is 0. Null
   * where the results are larger than 16 kB.
   */
  readonly succeeded: number | null;
  /** Tasks per second that failed for good. Attempts that are repeated don't count. */
  readonly dead: number;
}

export interface OverviewsReadOptions {
  /** Also counts the tasks that ended in this time, ms. 1,000 to 3,600,000. Default: no such count. */
  readonly windowMs?: number | undefined;
}

const READ_OPTIONS = new Set(['windowMs']);
const WINDOW = { min: 1_000, max: 3_600_000 };
const SECOND_MS = 1_000;

/** Shards in one call, which hold the server for half a millisecond. */
const MAX_BATCH = 25;
const MAX_TRIES = 5;

type Reply = readonly [...number[], string];

/** Of a shard whose settings change all the time. */
const EMPTY: Reply = [...TASK_STATES.map(() => 0), 0, 0, 0, ''];

/** Whether the server belongs to a Cluster, though the client is one of a single server. */
const isSplit = /* @__PURE__ */ perClient(() => ({ isSplit: false }));

/** Reads what a monitor of many queues shows. The object keeps the settings of the queues that it has read last. */
export class Overviews {
  readonly #redis: RedisClient;
  readonly #prefix: string | undefined;
  #kept = new Map<string, Shards>();

  /** Throws ERR_INVALID_ARG. */
  constructor(redis: RedisClient, options: PrefixOptions = {}) {
    this.#redis = requireClient(redis);
    this.#prefix = resolvePrefix('Overviews', options);
    // It checks the prefix.
    namesKey(this.#prefix);
  }

  /**
   * Resolves to the overviews of these queues, in their order. The overview of a queue that doesn't exist is empty. The numbers
   * of a shard are exact at one instant. One script call reads 25 shards (on Cluster one shard), and all calls are sent at
   * once. One round trip, two for queues that are read the first time; read-only, O(log n) for each queue. `windowMs`
   * adds O(log n) for each shard, n of its tasks that succeeded in this time. Rejects with ERR_INVALID_ARG.
   */
  async read(names: readonly string[], options: OverviewsReadOptions = {}): Promise<QueueOverview[]> {
    if (!Array.isArray(names)) throw new ArgumentTypeError('names must be an array');
    const { windowMs } = requireOptions('read', options, READ_OPTIONS);
    if (windowMs !== undefined) requireInteger('windowMs', windowMs, WINDOW);
    const [redis, prefix] = [this.#redis, this.#prefix];
    const queues = names.map((name: string) => {
      requireName('name', name);
      return this.#kept.get(name) ?? new Shards(redis, name, prefix);
    });
    this.#kept = new Map(queues.map((shards, index) => [names[index]!, shards]));
    const opened = await Promise.all(queues.map((shards) => shards.open()));
    const replies = new Map<Shard, Reply>();
    let missing = opened.flat();
    for (let tries = 0; missing.length > 0 && tries < MAX_TRIES; tries += 1) {
      await Promise.all(this.#batchesOf(missing).map((batch) => this.#read(batch, windowMs ?? 0, replies)));
      missing = missing.filter((shard) => !replies.has(shard));
      // Their settings have changed.
      await Promise.all(missing.map((shard) => shard.settings.learn(redis)));
    }
    return opened.map((shards) => {
      const its = shards.map((shard) => replies.get(shard) ?? EMPTY);
      return {
        ...sumOf(its),
        isPaused: shards.some(({ settings }) => settings.values.isPaused),
        ...(windowMs !== undefined && { perSecond: perSecondOf(its, windowMs) }),
      };
    });
  }

  /** Shards that one call can read. */
  #batchesOf(shards: readonly Shard[]): (readonly Shard[])[] {
    const size = this.#redis.isCluster || isSplit(this.#redis).isSplit ? 1 : MAX_BATCH;
    const batches: (readonly Shard[])[] = [];
    for (let from = 0; from < shards.length; from += size) batches.push(shards.slice(from, from + size));
    return batches;
  }

  async #read(batch: readonly Shard[], windowMs: number, replies: Map<Shard, Reply>): Promise<void> {
    const shardKeys = batch.flatMap(({ keys: { of }, settings: { priorityKeys } }) => [
      of.settings,
      of.active,
      of.succeeded,
      of.dead,
      of.cancelled,
      of.tombstones,
      of.grouped,
      of.flows,
      of.tasks,
      of.attempts,
      ...priorityKeys,
    ]);
    const shardArgs = batch.flatMap(({ settings: { text, values } }) => [text, values.priorities.length]);
    try {
      const answers = (await queueOverview.run(this.#redis, { shardKeys }, { windowMs, shardArgs })) as (
        | Reply
        | string
      )[];
      for (const [index, answer] of answers.entries()) {
        if (typeof answer !== 'string') replies.set(batch[index]!, answer);
      }
    } catch (error) {
      if (batch.length === 1 || !(error as Error).message.startsWith('CROSSSLOT')) throw error;
      isSplit(this.#redis).isSplit = true;
      await Promise.all(batch.map((shard) => this.#read([shard], windowMs, replies)));
    }
  }
}

function sumOf(replies: readonly Reply[]): Omit<QueueOverview, 'isPaused' | 'perSecond'> {
  const sums = TASK_STATES.map((state, index) => {
    const counts = replies.map((reply) => reply[index] as number);
    return [state, counts.reduce((sum, count) => sum + count, 0)];
  });
  const instants = replies.map((reply) => reply.at(-1)).filter((instant) => instant !== '');
  return {
    counts: Object.fromEntries(sums) as Counts,
    nextEnqueuedAt: instants.length > 0 ? Math.min(...instants.map(Number)) : null,
  };
}

/** The rates of the shards together: each may have looked at another time. */
function perSecondOf(replies: readonly Reply[], windowMs: number): EndsPerSecond {
  let [succeeded, dead] = [0 as number | null, 0];
  for (const reply of replies) {
    const [ended, endedMs, died] = reply.slice(TASK_STATES.length) as unknown as [number, number, number];
    dead += (died * SECOND_MS) / windowMs;
    if (ended < 0) succeeded = null;
    else if (succeeded !== null && ended > 0) succeeded += (ended * SECOND_MS) / endedMs;
  }
  return { succeeded, dead };
}
