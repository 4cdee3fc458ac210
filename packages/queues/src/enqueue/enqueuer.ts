/**
 * How tasks get into a queue: checked, made into records, and sent, all of one tick and shard in one script call.
 */
import type { RedisClient } from '@mortise/redis';
import { Coalescer, keySlot, ServerClock } from '@mortise/redis';
import { MemoryFullError, QueueFullError, TaskConflictError } from '../errors.js';
import type { EnqueueOptions } from '../options.js';
import {
  requireEnqueueOptions,
  requireTaskName,
  resolveAttempts,
  resolveBackoff,
  resolveDedupMs,
  resolveExpiresInMs,
  resolveGroup,
  resolveHeaders,
  resolveTimeoutMs,
  resolveWhen,
} from '../options.js';
import { registerName } from '../shard/queue-names.js';
import { queueEnqueue } from '../scripts.gen.js';
import type { Schemas } from '../task/schemas.js';
import type { Shard } from '../shard/shard.js';
import type { Shards } from '../shard/shards.js';
import type { Extras } from '../task/record.js';
import { RecordDraft } from '../task/record.js';
import { encodeTaskId } from '../task/task-id.js';
import type { Enqueue, Whole } from './entries.js';
import { Entries } from './entries.js';

/**
 * Tasks in one script call: holds the server for 0.2 ms. With larger ones the server would wait for the client and the
 * client for the server in turn: 100 producers store 155,000 tasks a second with 64, and 112,000 with 500.
 */
const MAX_BATCH = 64;
const MAX_BATCH_BYTES = 4 * 1024 * 1024;

/** A stored task. */
export interface Enqueued {
  readonly id: string;
  /** The id was stored before. That task is unchanged. */
  readonly isDuplicate: boolean;
}

/** A request made from the arguments of a caller. */
export interface Prepared extends Enqueue {
  readonly record: RecordDraft;
}

/** Answers of the script for one task, when it has not stored all. */
const STORED = '1';
const DUPLICATE = '0';
const CONFLICT = 'C';
const FULL = 'F';
/** For a task that was left out because another task of its call was refused, with the reason. */
const LEFT_OUT = new Error('another task of the call was refused');

export class Enqueuer {
  readonly #redis: RedisClient;
  readonly #queue: string;
  readonly #shards: Shards;
  readonly #maxPayloadBytes: number;
  readonly #schemas: Schemas | undefined;
  readonly #enqueues = new Coalescer<Shard, Enqueue, Enqueued>(
    (shard, batch) => MemoryFullError.wrap(this.#queue, this.#send(shard, batch)),
    {
      maxBatch: MAX_BATCH,
      maxBytes: MAX_BATCH_BYTES,
      bytesOf: ({ record }) => record.length,
    },
  );
  /** Picks the shard of tasks without id and group. It changes with each call, so tasks of one tick stay together. */
  #turn = 0;
  #isOpen = false;
  /** The time on the server of each shard. */
  readonly #clocks = new Map<Shard, ServerClock>();
  /** Shards without an idle worker at the last call: no task is handed off there. */
  readonly #busy = new Set<Shard>();
  /** Shards whose scripts get the keys of optional features. */
  readonly #optional = new Set<Shard>();

  constructor(redis: RedisClient, queue: string, shards: Shards, maxPayloadBytes: number, schemas?: Schemas) {
    this.#redis = redis;
    this.#queue = queue;
    this.#shards = shards;
    this.#maxPayloadBytes = maxPayloadBytes;
    this.#schemas = schemas;
  }

  /** Takes the payload as it is now: the caller may change it afterwards. Throws for whatever cannot be stored. */
  prepare(
    name: string,
    payload: unknown,
    options: EnqueueOptions,
    flags = 0,
    more: Partial<Extras> = {},
  ): Prepared {
    requireEnqueueOptions(options);
    const { id, priority, attempts } = options;
    const group = resolveGroup(options.group);
    const dedupMs = resolveDedupMs(options);
    const when = resolveWhen(options);
    const record = new RecordDraft(
      {
        name: requireTaskName(name),
        payload,
        attempts: resolveAttempts(attempts),
        when,
        extras: resolveExtras(options, more),
        group,
        dedupMs,
        flags,
      },
      this.#maxPayloadBytes,
    );
    const storedId = id === undefined ? undefined : encodeTaskId(id);
    const usesOptional = group !== undefined || dedupMs !== undefined || flags > 0;
    const checking = this.#schemas?.check(name, record.payload);
    const madeAt = when < 0 ? performance.now() : undefined;
    return { id, storedId, priority, group, usesOptional, record, madeAt, checking, whole: undefined };
  }

  /** The number of shards and the priorities are known; otherwise `open` first. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  async open(): Promise<void> {
    const { prefix } = this.#shards;
    const opening = Promise.all([this.#shards.open(), registerName(this.#redis, prefix, this.#queue)]);
    await MemoryFullError.wrap(this.#queue, opening);
    // Set by the first of those who waited: nobody who comes now overtakes the others.
    this.#isOpen = true;
  }

  /** Throws RangeError for a priority that the queue doesn't have. */
  check({ priority }: Enqueue): void {
    this.#shards.first.settings.priorityIndex(priority);
  }

  /** Resolves when Redis has accepted the task. `open` has to be over. Throws as `check` does. */
  submit(request: Enqueue): Promise<Enqueued> {
    const { checking } = request;
    if (checking) {
      request.checking = undefined;
      return checking.then(() => this.submit(request));
    }
    this.check(request);
    const shards = this.#shards.all;
    if (!shards) return this.#shards.open().then(() => this.submit(request));
    const shard = this.#place(request, shards);
    // A promise more for each task would cost more than the script does.
    return request.usesOptional && !this.#optional.has(shard)
      ? this.#enableOptional(shard).then(() => this.#enqueues.submit(shard, request))
      : this.#enqueues.submit(shard, request);
  }

  /**
   * As `submit` for each of many; waits for the checks of all, so it is all or none for asynchronous schemas. What travels in one
   * script call is stored all or none. Rejects when all calls have ended, and the error tells what other calls have stored.
   */
  async submitAll(requests: readonly Enqueue[]): Promise<Enqueued[]> {
    for (const request of requests) this.check(request);
    const checks = requests.map(({ checking }) => checking).filter((checking) => checking !== undefined);
    if (checks.length > 0) await Promise.all(checks);
    const shards = this.#shards.all ?? (await this.#shards.open());
    const parts = new Map<Shard, number[]>();
    const whole: Whole | undefined = requests.length > 1 ? {} : undefined;
    for (const [index, request] of requests.entries()) {
      request.checking = undefined;
      request.whole = whole;
      const shard = this.#place(request, shards);
      const part = parts.get(shard);
      if (part) part.push(index);
      else parts.set(shard, [index]);
      if (request.usesOptional && !this.#optional.has(shard)) await this.#enableOptional(shard);
    }
    const enqueued = Array.from<Enqueued>({ length: requests.length });
    const errors = new Map<number, unknown>();
    await Promise.all(
      Array.from(parts, async ([shard, part]) => {
        const all = part.length === requests.length ? requests : part.map((index) => requests[index]!);
        const settled = await this.#enqueues.settleAll(shard, all);
        for (const [at, index] of part.entries()) {
          const result = settled.results[at];
          if (result) enqueued[index] = result;
          else errors.set(index, settled.errors.get(at));
        }
      }),
    );
    if (errors.size === 0) return enqueued;
    const error = Array.from(errors.keys())
      .toSorted((a, b) => a - b)
      .map((index) => errors.get(index))
      .find((one) => one !== LEFT_OUT);
    throw tellStored(error, enqueued);
  }

  async #enableOptional(shard: Shard): Promise<void> {
    await shard.enableOptional();
    this.#optional.add(shard);
  }

  /** The shard of a task. */
  #place({ storedId, group }: Enqueue, shards: readonly Shard[]): Shard {
    if (shards.length === 1) return shards[0]!;
    if (group !== undefined) return shards[keySlot(group) % shards.length]!;
    if (storedId) return shards[this.#shards.indexOf(storedId, shards.length)]!;
    return shards[this.#turn % shards.length]!;
  }

  async #send(shard: Shard, batch: readonly Enqueue[]): Promise<readonly (Enqueued | Error)[]> {
    this.#turn += 1;
    const { settings, keys } = shard;
    const clock = this.#clockOf(shard);
    const shards = settings.values.shards;
    let entries!: Entries;
    let sentAt = 0;
    let isElsewhere = false;
    const usesOptional = batch.some((request) => request.usesOptional);
    const reply = await settings.run(async () => {
      isElsewhere = settings.values.shards !== shards;
      if (isElsewhere) return null;
      // It was so before, but what is stored may be lost, by a failover say, and stored anew by somebody else.
      if (usesOptional && !settings.values.hasOptional) await shard.enableOptional();
      sentAt = performance.now();
      entries = new Entries(batch, shard, clock, sentAt, !this.#busy.has(shard));
      if (entries.count === 0) return null;
      return queueEnqueue.run(
        this.#redis,
        {
          settings: keys.of.settings,
          tasks: keys.of.tasks,
          attempts: keys.of.attempts,
          idle: keys.of.idle,
          timekeeper: keys.of.timekeeper,
          places: entries.places,
        },
        { expectedSettings: settings.text, publish: shard.publish, ...entries.operands },
      );
    });
    if (isElsewhere) {
      // It seemed new, and another process has created it with shards.
      await this.#shards.open();
      return Promise.all(batch.map((request) => this.submit(request).catch((error: Error) => error)));
    }
    const { refused } = entries;
    let outcomes = '';
    if (reply !== null) {
      const [text, now] = typeof reply === 'number' ? ['', reply] : (reply as [string, number]);
      if (now < 0) this.#busy.delete(shard);
      else this.#busy.add(shard);
      clock.learn(sentAt, Math.abs(now));
      if (text === '' && refused.size === 0) return batch.map(({ id }) => ({ id: id!, isDuplicate: false }));
      outcomes = text === '' ? STORED.repeat(entries.count) : text;
    }
    const answers = outcomes[Symbol.iterator]();
    return batch.map(
      (request) => refused.get(request) ?? this.#outcome(answers.next().value, request, shard),
    );
  }

  #clockOf(shard: Shard): ServerClock {
    let clock = this.#clocks.get(shard);
    if (!clock) this.#clocks.set(shard, (clock = new ServerClock()));
    return clock;
  }

  #outcome(answer: string | undefined, request: Enqueue, shard: Shard): Enqueued | Error {
    const id = request.id!;
    if (answer === STORED) return { id, isDuplicate: false };
    if (answer === DUPLICATE) return { id, isDuplicate: true };
    if (answer === CONFLICT) return new TaskConflictError(this.#queue, id);
    if (answer !== FULL) return LEFT_OUT;
    return new QueueFullError(this.#queue, shard.settings.values.maxTasks ?? DEFAULT_MAX_TASKS);
  }
}

/** An error of the package with the ids of what was stored all the same; others pass through as they are. */
function tellStored(error: unknown, enqueued: readonly (Enqueued | undefined)[]): unknown {
  const stored = enqueued.flatMap((one) => (one && !one.isDuplicate ? [one.id] : []));
  if (error instanceof TaskConflictError) return new TaskConflictError(error.queue, error.taskId, stored);
  if (error instanceof QueueFullError) return new QueueFullError(error.queue, error.maxTasks, stored);
  if (error instanceof MemoryFullError) return new MemoryFullError(error.queue, error.cause, stored);
  return error;
}

/** As in queue.enqueue.lua. */
const DEFAULT_MAX_TASKS = 10_000_000;

function resolveExtras(options: EnqueueOptions, more: Partial<Extras>): Extras | undefined {
  const { headers, backoff } = options;
  const own = headers === undefined ? undefined : resolveHeaders(headers);
  const timeoutMs = resolveTimeoutMs(options.timeoutMs);
  const expiresInMs = resolveExpiresInMs(options.expiresInMs);
  const extras: Extras = {
    ...(own && { headers: own }),
    ...(backoff !== undefined && { backoff: resolveBackoff(backoff) }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(expiresInMs !== undefined && { expiresInMs }),
    ...more,
  };
  for (const _ in extras) return extras;
  return undefined;
}
