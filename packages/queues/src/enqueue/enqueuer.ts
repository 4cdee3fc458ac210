/** Checks tasks, makes records of them, and sends the tasks of one tick and shard in one script call. */
import type { RedisClient } from '@mortise/redis';
import { callRedis, Coalescer, ServerClock } from '@mortise/redis';
import { MemoryFullError, QueueFullError, TaskConflictError } from '../errors.js';
import { DEFAULT_MAX_TASKS } from '../limits.js';
import type { EnqueueOptions } from '../options.js';
import {
  requireEnqueueOptions,
  requireTaskName,
  resolveAttempts,
  resolveDedupMs,
  resolveGroup,
  resolveWhen,
} from '../options.js';
import { forgetName, registerName } from '../shard/queue-names.js';
import { queueEnqueue } from '../scripts.gen.js';
import type { Schemas } from '../task/schemas.js';
import { isGone } from '../shard/settings.js';
import type { Shard } from '../shard/shard.js';
import type { Shards } from '../shard/shards.js';
import { isCurrent } from '../shard/shards.js';
import type { Extras } from '../task/record.js';
import { RecordDraft } from '../task/record.js';
import { encodeTaskId } from '../task/task-id.js';
import type { NewTask } from '../task/task.js';
import type { ResultOf, TaskId } from '../task-types.js';
import type { Enqueue, Whole } from './entries.js';
import { Entries } from './entries.js';
import { resolveExtras } from './extras.js';
import { withStored } from './with-stored.js';

/**
 * Tasks in one script call, which hold the server for 0.2 ms. With larger calls the server waits for the client and the
 * client for the server in turn: 100 producers store 155,000 tasks a second with 64, and 112,000 with 500.
 */
const MAX_BATCH = 64;
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
const MS_PER_SECOND = 1000;
const MICROS_PER_MS = 1000;

/** A stored task. */
export interface Enqueued<Result = unknown> {
  readonly id: unknown extends Result ? string : TaskId<Result>;
  /**
   * Whether a task with the caller's id was stored before; that task is unchanged. Also true when ioredis has resent this call after a lost reply.
   */
  readonly isDuplicate: boolean;
}

/** The resolved value of `enqueueMany`: a stored task for each given one. Each has the result type of its task name. */
export type EnqueuedEach<Tasks, Given extends readonly NewTask<Tasks>[]> = {
  -readonly [Index in keyof Given]: Enqueued<ResultOf<Tasks, Given[Index]['name']>>;
};

/** A checked request with its payload. */
export interface Prepared extends Enqueue {
  readonly record: RecordDraft;
}

const LIMITS = {
  maxBatch: MAX_BATCH,
  maxBytes: MAX_BATCH_BYTES,
  bytesOf: ({ record }: Enqueue): number => record.length,
};

/** The script's answer for one task, if not all were stored. */
const STORED = '1';
const DUPLICATE = '0';
const CONFLICT = 'C';
const FULL = 'F';
const ELSEWHERE = 'E';
/** The outcome of a task whose call was refused because of another task. */
const LEFT_OUT = new Error('another task of the call was refused');

export class Enqueuer {
  readonly #redis: RedisClient;
  readonly #queue: string;
  readonly #shards: Shards;
  readonly #maxPayloadBytes: number;
  readonly #schemas: Schemas | undefined;
  readonly #enqueues = new Coalescer<Shard, Enqueue, Enqueued>(
    (shard, batch) =>
      MemoryFullError.wrap(this.#queue, this.#send(shard, batch) as Promise<readonly (Enqueued | Error)[]>),
    LIMITS,
  );
  /**
   * After `reshard`, a task with an id or a group first goes to the shards of earlier numbers. Such a shard recognizes the ids that
   * it has, and stores a task only if it has its group. Undefined: the task belongs to another shard.
   */
  readonly #toEarlier = new Coalescer<Shard, Enqueue, Enqueued | undefined>(
    (shard, batch) => MemoryFullError.wrap(this.#queue, this.#send(shard, batch, true)),
    LIMITS,
  );
  /** The next shard for tasks without id and group. It changes with each call, so tasks of one tick share a shard. */
  #nextShard = 0;
  #isOpen = false;
  /** The time on the server of each shard. */
  readonly #clocks = new Map<Shard, ServerClock>();
  /** Shards without an idle worker at the last call: no task is handed off there. */
  readonly #busy = new Set<Shard>();
  #opening: Promise<void> | undefined;
  #reopening: Promise<void> | undefined;
  /** Whether a task with a delay waits for `open`. */
  #hasDelayed = false;
  /** Shards whose scripts get the keys of optional features. */
  readonly #optional = new Set<Shard>();

  constructor(redis: RedisClient, queue: string, shards: Shards, maxPayloadBytes: number, schemas?: Schemas) {
    this.#redis = redis;
    this.#queue = queue;
    this.#shards = shards;
    this.#maxPayloadBytes = maxPayloadBytes;
    this.#schemas = schemas;
  }

  /** Reads the payload now; the caller may change it afterwards. Throws for a payload or option that cannot be stored. */
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
      this.#shards.codecs,
    );
    const storedId = id === undefined ? undefined : encodeTaskId(id);
    const usesOptional = group !== undefined || dedupMs !== undefined || flags > 0;
    const checking = this.#schemas?.check(name, record.payload);
    const madeAt = when < 0 ? performance.now() : undefined;
    return { id, storedId, priority, group, usesOptional, record, madeAt, checking, whole: undefined };
  }

  /** Whether the number of shards and the priorities are known; otherwise call `open` first. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** One round trip, and one more if a task that waits for it has a delay. Shared by concurrent calls. */
  open(request?: Enqueue): Promise<void> {
    this.#hasDelayed ||= request?.madeAt !== undefined;
    this.#opening ??= this.#open();
    return this.#opening;
  }

  async #open(): Promise<void> {
    try {
      const { prefix } = this.#shards;
      const opening = Promise.all([this.#shards.open(), registerName(this.#redis, prefix, this.#queue)]);
      await MemoryFullError.wrap(this.#queue, opening);
      if (this.#hasDelayed) await this.#learnTime();
      // Set before the waiting calls go on, so a later call cannot overtake them.
      this.#isOpen = true;
    } finally {
      this.#opening = undefined;
    }
  }

  /**
   * Else the delays of a new producer's first calls would count from their arrival: the tasks of a burst of 500 were 6 ms
   * late. Not with the commands before, whose time may be that of connecting. Nodes of a Cluster have clocks of their own.
   */
  async #learnTime(): Promise<void> {
    if (this.#redis.isCluster) return;
    const sentAt = performance.now();
    const [seconds, micros] = (await callRedis(this.#redis, 'time', [])) as [string, string];
    const serverMs = Number(seconds) * MS_PER_SECOND + Number(micros) / MICROS_PER_MS;
    for (const shard of this.#shards.all ?? []) this.#clockOf(shard).learn(sentAt, serverMs, 0);
  }

  /** As `open`, for a queue that was removed meanwhile: see `isGone`. Shared by concurrent calls. */
  reopen(): Promise<void> {
    this.#reopening ??= this.#reopen().finally(() => {
      this.#reopening = undefined;
    });
    return this.#reopening;
  }

  async #reopen(): Promise<void> {
    forgetName(this.#redis, this.#shards.prefix, this.#queue);
    this.#shards.forget();
    this.#optional.clear();
    await this.#open();
  }

  /** Throws RangeError for a priority that the queue doesn't have. */
  check({ priority }: Enqueue): void {
    this.#shards.first.settings.priorityIndex(priority);
  }

  /** Resolves when Redis has stored the task. Call after `open`. Throws as `check` does. */
  submit(request: Enqueue): Promise<Enqueued> {
    const { checking } = request;
    if (checking) {
      request.checking = undefined;
      return checking.then(() => this.submit(request));
    }
    this.check(request);
    const shards = this.#shards.all;
    if (!shards) return this.#shards.open().then(() => this.submit(request));
    if (this.#mayLieElsewhere(request)) return this.#submitLate(request, shards);
    const shard = this.#shardOf(request, shards);
    // One more promise for each task would cost more than the script does.
    return request.usesOptional && !this.#optional.has(shard)
      ? this.#enableOptional(shard).then(() => this.#enqueues.submit(shard, request))
      : this.#enqueues.submit(shard, request);
  }

  /**
   * As `submit`, for many tasks. Waits for the checks of all, so with asynchronous schemas all or none are sent. Each script call stores all of its tasks
   * or none. Rejects when all calls have ended; the error lists the tasks that other calls stored.
   */
  async submitAll(requests: readonly Enqueue[]): Promise<Enqueued[]> {
    for (const request of requests) this.check(request);
    const checks = requests.map(({ checking }) => checking).filter((checking) => checking !== undefined);
    if (checks.length > 0) await Promise.all(checks);
    const shards = this.#shards.all ?? (await this.#shards.open());
    const enqueued = Array.from<Enqueued>({ length: requests.length });
    const errors = new Map<number, unknown>();
    const late: Promise<void>[] = [];
    const parts = new Map<Shard, number[]>();
    const whole: Whole | undefined = requests.length > 1 ? {} : undefined;
    for (const [index, request] of requests.entries()) {
      request.checking = undefined;
      if (this.#mayLieElsewhere(request)) {
        const submitted = this.#submitLate(request, shards);
        late.push(
          submitted.then(
            (result) => void (enqueued[index] = result),
            (error: unknown) => void errors.set(index, error),
          ),
        );
        continue;
      }
      request.whole = whole;
      const shard = this.#shardOf(request, shards);
      const part = parts.get(shard);
      if (part) part.push(index);
      else parts.set(shard, [index]);
      if (request.usesOptional && !this.#optional.has(shard)) await this.#enableOptional(shard);
    }
    await Promise.all([
      ...late,
      ...Array.from(parts, async ([shard, part]) => {
        const all = part.length === requests.length ? requests : part.map((index) => requests[index]!);
        const settled = await this.#enqueues.settleAll(shard, all);
        for (const [at, index] of part.entries()) {
          const result = settled.results[at];
          if (result) enqueued[index] = result;
          else errors.set(index, settled.errors.get(at));
        }
      }),
    ]);
    if (errors.size === 0) return enqueued;
    const error = Array.from(errors.keys())
      .toSorted((a, b) => a - b)
      .map((index) => errors.get(index))
      .find((one) => one !== LEFT_OUT);
    throw withStored(error, enqueued);
  }

  async #enableOptional(shard: Shard): Promise<void> {
    await shard.enableOptional();
    this.#optional.add(shard);
  }

  #mayLieElsewhere({ storedId, group }: Enqueue): boolean {
    return this.#shards.hasMoved && (storedId !== undefined || group !== undefined);
  }

  async #submitLate(request: Enqueue, shards: readonly Shard[]): Promise<Enqueued> {
    const home = this.#shardOf(request, shards);
    for (const shard of this.#shards.earlierHomes(request)) {
      if (request.usesOptional && !this.#optional.has(shard)) await this.#enableOptional(shard);
      const enqueued = await this.#toEarlier.submit(shard, request);
      if (enqueued) return enqueued;
    }
    if (request.usesOptional && !this.#optional.has(home)) await this.#enableOptional(home);
    return this.#enqueues.submit(home, request);
  }

  /** The shard of a new task. */
  #shardOf(request: Enqueue, shards: readonly Shard[]): Shard {
    if (shards.length === 1) return shards[0]!;
    const { count } = this.#shards;
    const hasHome = request.group !== undefined || request.storedId !== undefined;
    return shards[hasHome ? this.#shards.indexOf(request, count) : this.#nextShard % count]!;
  }

  /** `isEarlier`: the shard stores only tasks whose group it has, and answers with undefined for others. */
  async #send(
    shard: Shard,
    batch: readonly Enqueue[],
    isEarlier = false,
  ): Promise<readonly (Enqueued | Error | undefined)[]> {
    this.#nextShard += 1;
    const { settings, keys } = shard;
    const clock = this.#clockOf(shard);
    let entries!: Entries;
    let sentAt = 0;
    let isElsewhere = false;
    let wasRemoved = false;
    const usesOptional = batch.some((request) => request.usesOptional);
    const reply = await settings
      .run(async () => {
        isElsewhere = !isCurrent(shard);
        if (isElsewhere) return null;
        // The settings may have been lost, by a failover for example, and created again by another process without optional
        // features.
        if (usesOptional && !settings.values.hasOptional) await shard.enableOptional();
        sentAt = performance.now();
        entries = new Entries(batch, shard, clock, sentAt, { seemsIdle: !this.#busy.has(shard), isEarlier });
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
          { expectedSettings: settings.textOfNew, publish: shard.publish, ...entries.operands },
        );
      })
      .catch((error: unknown) => {
        if (!isGone(error)) throw error;
        wasRemoved = true;
        return null;
      });
    if (isElsewhere || wasRemoved) {
      // Another process has changed the number of shards, or created the queue with shards; or it was removed.
      await (wasRemoved ? this.reopen() : this.#shards.open());
      return Promise.all(batch.map((request) => this.submit(request).catch((error: Error) => error)));
    }
    const { refused } = entries;
    let outcomes = '';
    if (reply !== null) {
      settings.stored();
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

  #outcome(answer: string | undefined, request: Enqueue, shard: Shard): Enqueued | Error | undefined {
    const id = request.id!;
    if (answer === ELSEWHERE) return undefined;
    if (answer === STORED) return { id, isDuplicate: false };
    // Only a command that was sent twice stores an id of this call before.
    if (answer === DUPLICATE) return { id, isDuplicate: request.storedId !== undefined };
    if (answer === CONFLICT) return new TaskConflictError(this.#queue, id);
    if (answer !== FULL) return LEFT_OUT;
    return new QueueFullError(this.#queue, shard.settings.values.maxTasks ?? DEFAULT_MAX_TASKS);
  }
}
