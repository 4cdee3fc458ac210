/**
 * The producer's and the operator's side of a queue: stores tasks, looks at them, and moves them.
 *
 * A task is one record in one hash; its state is the place where its id stands, and what `attempts` says of its last
 * attempt:
 *
 *   enqueue ──► ready ──────────► active ──► succeeded
 *    │ │          ▲ ▲               │ │ │
 *    │ └► scheduled │ (when due)    │ │ └──► dead        no attempts left, Discard, unknown name
 *    │              │               │ └────► retrying    failed, RetryLater
 *    ▼              └─── when due ──┼───────────┘
 *   waiting             └─── lease ended, given back
 *      its children have ended: ready, or dead with them
 *
 *   cancel: from anywhere on the left, and from active, to cancelled; retry: from dead and cancelled to ready
 *
 * There is no step that moves due tasks from the schedule to the ready list: a claim takes what is due from the
 * schedule itself. So nothing can be lost or late between two steps, and counts are exact at every instant.
 * Which script makes which arrow stands in docs/ARCHITECTURE.md. Rejected: a hash per task (663 bytes for a waiting task of
 * 100 bytes, here about 200), a stream (cannot be ordered by priority or cancelled in the middle).
 */
import type { RedisClient } from '@mortise/redis';
import { requireClient, requireInteger, requireName } from '@mortise/redis';
import type { EnqueueOptions, QueueOptions } from '../options.js';
import { DEFAULTS, requireQueueOptions, resolvePriorities, resolveShards } from '../options.js';
import type { CleanOptions, DrainOptions, EndedState, RetryAllOptions } from '../operate/bulk.js';
import { clean, drain, retryAll } from '../operate/bulk.js';
import type { ListOptions, Page } from '../operate/listing.js';
import { listTasks } from '../operate/listing.js';
import { isQueueName, prefixOf, queueNames, registerName } from '../operate/names.js';
import { Operator } from '../operate/operator.js';
import { resolveReason } from '../operate/reason.js';
import type { QueueEvent } from '../events/event.js';
import type { EventsOptions } from '../events/events.js';
import { readEvents } from '../events/events.js';
import type { FlowIds, FlowTask } from '../flow/flow-node.js';
import type { EnqueuedFlow } from '../flow/flows.js';
import { Flows } from '../flow/flows.js';
import type { ResultOptions } from '../result/results.js';
import { Results } from '../result/results.js';
import type { ScheduledTaskOptions } from '../schedule/definition.js';
import type { ScheduleRule } from '../schedule/rule.js';
import type { Schedule, Scheduled } from '../schedule/schedules.js';
import { Schedules } from '../schedule/schedules.js';
import { Schemas } from '../schema/schemas.js';
import type { Shard } from '../shard/shard.js';
import type { ConfigureOptions, QueueLimits } from '../shard/queue-limits.js';
import { resolveConfigure, resolveLimits } from '../shard/queue-limits.js';
import type { SettingsValues } from '../shard/settings-text.js';
import { Shards } from '../shard/shards.js';
import { encodeTaskId } from '../task/task-id.js';
import type { Counts, NewTask, Task, TaskMap, TaskState, TaskSummary } from '../task/task.js';
import type { Enqueued } from './enqueuer.js';
import { Enqueuer } from './enqueuer.js';
import { countAll, lookUp } from './look.js';
import { Producer } from './producer.js';

export class Queue<Tasks extends TaskMap<Tasks> = Record<string, unknown>> {
  readonly name: string;
  readonly #redis: RedisClient;
  readonly #shards: Shards;
  readonly #producer: Producer;
  readonly #operator: Operator;
  readonly #schedules: Schedules;
  readonly #results: Results;
  readonly #flows: Flows;

  /**
   * @param redis A client of ioredis. It is used as it is and never closed.
   * @param name 1 to 1,024 bytes, any characters. A queue comes into being with its first task.
   */
  constructor(redis: RedisClient, name: string, options: QueueOptions<Tasks> = {}) {
    this.#redis = requireClient(redis);
    this.name = requireName('name', name);
    requireQueueOptions(options);
    const { prefix, priorities, shards } = options;
    const { maxPayloadBytes = DEFAULTS.maxPayloadBytes, keepCancelled = DEFAULTS.keepCancelled } = options;
    this.#shards = new Shards(redis, name, prefix, {
      priorities: priorities && resolvePriorities(priorities),
      shards: resolveShards(shards),
    });
    requireInteger('maxPayloadBytes', maxPayloadBytes, { min: 2, max: 64 * 1024 * 1024 });
    const schemas = options.schemas && new Schemas(options.schemas);
    const enqueuer = new Enqueuer(redis, name, this.#shards, maxPayloadBytes, schemas);
    requireInteger('keepCancelled', keepCancelled, { min: 1, max: 10_000_000 });
    this.#operator = new Operator(name, this.#shards, keepCancelled);
    this.#schedules = new Schedules(redis, name, this.#shards, enqueuer);
    this.#results = new Results(name, this.#shards);
    this.#flows = new Flows(redis, name, prefix, this.#shards, enqueuer, keepCancelled);
    this.#producer = new Producer(name, enqueuer, this.#flows, options.telemetry);
  }

  /** Whether `names` tells of the queue. One round trip. */
  static async exists(redis: RedisClient, name: string, options: { prefix?: string } = {}): Promise<boolean> {
    return isQueueName(requireClient(redis), prefixOf(options), requireName('name', name));
  }

  /**
   * The names of all queues of a prefix (default `mortise`) that have had tasks or limits, in the order of their characters.
   * One round trip for about 1,000 names.
   */
  static async names(redis: RedisClient, options: { prefix?: string } = {}): Promise<string[]> {
    return queueNames(requireClient(redis), prefixOf(options));
  }

  /**
   * Pauses every queue that `names` tells of; resolves to these names. Not atomic: queue by queue, 16 at a time. Queues
   * that come later are not paused: `pause` of each, before its first task, does that.
   */
  static async pauseAll(redis: RedisClient, options: { prefix?: string } = {}): Promise<string[]> {
    return Queue.#everywhere(redis, options, (queue) => queue.pause());
  }

  /** Resumes every queue that `names` tells of; as `pauseAll` in all else. */
  static async resumeAll(redis: RedisClient, options: { prefix?: string } = {}): Promise<string[]> {
    return Queue.#everywhere(redis, options, (queue) => queue.resume());
  }

  static async #everywhere(
    redis: RedisClient,
    options: { prefix?: string },
    act: (queue: Queue) => Promise<void>,
  ): Promise<string[]> {
    const names = await Queue.names(redis, options);
    const left = names.values();
    // All take from one iterator.
    const takers = Array.from({ length: QUEUES_AT_A_TIME }, async () => {
      for (const name of left) await act(new Queue(redis, name, options));
    });
    await Promise.all(takers);
    return names;
  }

  /**
   * Stores a task; resolves when Redis has accepted it. Calls of one tick share one script call. A lost reply may mean
   * that the task is stored: with an `id` of your own, enqueue again and it is stored once. An id is remembered as
   * long as its task: while it waits or runs, and after that as long as it is retained, or for `dedupMs` if that is longer.
   *
   * One round trip, O(log n) for a delayed task, else O(1); one more for the first use of the instance. Rejects with
   * ERR_INVALID_PAYLOAD, ERR_PAYLOAD_TOO_LARGE, ERR_TASK_CONFLICT (the id belongs to a task with another name or payload),
   * ERR_QUEUE_FULL, ERR_PRIORITIES_MISMATCH, ERR_SHARDS_MISMATCH, or TypeError and RangeError (ERR_INVALID_ARG) for
   * options; then nothing is stored.
   */
  enqueue<Name extends keyof Tasks & string>(
    name: Name,
    payload: Tasks[Name],
    options: EnqueueOptions = {},
  ): Promise<Enqueued> {
    return this.#producer.enqueue(name, payload, options);
  }

  /**
   * Stores many tasks, in order. All are checked before the first is sent. 64 of a shard, or 4 MiB, travel in one script call,
   * which stores all of them or none: a call of up to 64 tasks of one shard is atomic, whatever else is enqueued in that tick.
   * Rejects as `enqueue` does, when all script calls have ended: `stored` of ERR_TASK_CONFLICT, ERR_QUEUE_FULL and ERR_MEMORY_FULL has the
   * ids of what others of them have stored. With any other error some may be stored: call again, with ids of your own.
   */
  async enqueueMany(tasks: readonly NewTask<Tasks>[]): Promise<Enqueued[]> {
    return this.#producer.enqueueMany(tasks);
  }

  /** The task, or null when the id is unknown or no longer retained. One round trip, read-only, O(log n). */
  async get(id: string): Promise<Task<Tasks> | null> {
    const storedId = encodeTaskId(id);
    return this.#shards.find(storedId, (shard) => lookUp<Tasks>(shard, id, storedId));
  }

  /** How many tasks are in each state, exact at one instant. One round trip for each shard, read-only, O(log n). */
  async counts(): Promise<Counts> {
    return countAll(await this.#shards.open());
  }

  /**
   * Ends a task before it has ended by itself: one that waits is not run, and one that runs is told by its signal
   * (ERR_TASK_CANCELLED); whatever its handler still does, its completion is refused. Resolves to whether it did: false when
   * the task has ended before or is unknown. A cancelled task stays to be looked at, up to `keepCancelled` of them, and can
   * be retried.
   *
   * Of a flow, as `enqueueFlow` has told of it, all tasks are cancelled that have not ended, parents before their children, level
   * by level and not in one step; true when there was one. Otherwise the children of a task that is cancelled go on.
   *
   * `reason`: up to 1,024 bytes, shown as the task's `error`. Atomic, and settled when it resolves: counts are right, and no
   * worker takes the task any more. One round trip, shared by calls of one tick; one for each shard for an id that is not
   * where ids belong, and one more for the first use of what lies beyond the core. O(log n); in the list of ready tasks up
   * to 200 entries are looked at. A lost reply may mean that it was done: repeated, it answers false. Rejects with TypeError
   * or RangeError for the reason.
   */
  async cancel(task: string | FlowIds, options: { reason?: string } = {}): Promise<boolean> {
    const reason = resolveReason(options);
    const isOne = typeof task === 'string';
    const count = isOne
      ? Number(await this.#operator.cancel(task, reason))
      : await this.#flows.cancel(task, reason);
    for (let told = 0; told < count; told += 1) this.#producer.cancelled();
    return count > 0;
  }

  /**
   * Removes a task and all that is known of it; also that its id is to be refused (`dedupMs`). Resolves to whether there was
   * one. Who waits for the result of a task that is removed before it has ended is told that it is gone. Rejects with
   * ERR_TASK_ACTIVE while it runs: cancel it first. Cost as for `cancel`; a task that has succeeded is looked for among
   * those that are kept, O(keepSucceeded).
   */
  async remove(id: string): Promise<boolean> {
    return this.#operator.remove(id);
  }

  /**
   * Makes a dead or cancelled task due now, as if it had just been enqueued: with all its attempts before it, and
   * `expiresInMs` from now. A task that is going to be tried again later is due now as well; its attempts stay counted.
   * Resolves to whether it did: false in any other state, so of two calls at the same time one is told true. Cost as for
   * `cancel`.
   */
  async retry(id: string): Promise<boolean> {
    return this.#operator.retry(id);
  }

  /**
   * Makes a task due now that waits for its time, scheduled or retrying. Resolves to whether it did: false in any other state,
   * or when it has fallen due already. Cost as for `cancel`.
   */
  async promote(id: string): Promise<boolean> {
    return this.#operator.promote(id);
  }

  /**
   * Retries all dead tasks, or all cancelled ones, or those of a name: those that are there when it begins, the latest first.
   * Resolves to how many. Two round trips for each 500 tasks, in turn, so that it never holds the server for long; not
   * atomic. When Redis fails in the middle, some are retried; repeating it retries the others.
   */
  async retryAll(options: RetryAllOptions = {}): Promise<number> {
    return retryAll(await this.#shards.open(), this.#operator, options);
  }

  /**
   * Removes all tasks that are ready, and with `scheduled` also those that wait for their time: those that are there when it
   * begins. What runs goes on. Resolves to how many. A round trip for each 500 tasks and shard, not atomic.
   */
  async drain(options: DrainOptions = {}): Promise<number> {
    return drain(await this.#shards.open(), options);
  }

  /**
   * Removes tasks that have ended in one way, the oldest first. Resolves to how many. A round trip for each 500 tasks and
   * shard, not atomic.
   */
  async clean(state: EndedState, options: CleanOptions = {}): Promise<number> {
    return clean(await this.#shards.open(), state, options);
  }

  /**
   * A page of the tasks in one state. Their order: ready tasks as they are going to be taken (by priority; those that have
   * fallen due, then first in, first out; those with a group at the end, by group), scheduled and retrying ones by priority
   * and due instant, active ones by the end of their leases; succeeded, dead and cancelled ones the latest first; waiting ones
   * in none. With shards, one shard after the other.
   *
   * A task that stays in the state while one goes from page to page is shown, and may be shown twice if others come and go; one
   * that comes or goes meanwhile may be shown or not. A call looks at up to 1,000 tasks, or 4 MiB of them, in each shard, so
   * a page may hold fewer than `limit`, or none where a `name` is rare: it is over when the cursor is null. Cursors don't
   * expire.
   *
   * One round trip, one for each further shard that the page reaches into. O(limit · log n), read-only. Rejects with TypeError
   * or RangeError for options and for a cursor of another state.
   */
  async list(state: TaskState, options: ListOptions = {}): Promise<Page<Task<Tasks>>> {
    const { listed, cursor } = await listTasks<Tasks>(await this.#shards.open(), state, options, true);
    return { tasks: listed.map(({ task }) => task), cursor };
  }

  /** As `list`, without payloads and results, which may be large. Cursors of the one are good for the other. */
  async summaries(state: TaskState, options: ListOptions = {}): Promise<Page<TaskSummary<Tasks>>> {
    const { listed, cursor } = await listTasks<Tasks>(await this.#shards.open(), state, options, false);
    return { tasks: listed.map(({ task }) => task), cursor };
  }

  /** What is stored with the queue: priorities, shards, whether it is paused, limits. One round trip. */
  async settings(): Promise<SettingsValues> {
    const { settings } = this.#shards.first;
    await settings.learn(this.#redis);
    return settings.values;
  }

  /** No worker takes anything until `resume`; what runs goes on. One round trip for each shard. */
  async pause(): Promise<void> {
    await this.#all((shard) => shard.configure((values) => ({ ...values, isPaused: true })));
  }

  /** Ends a pause; parked workers are woken. One round trip for each shard. */
  async resume(): Promise<void> {
    await this.#all((shard) => shard.configure((values) => ({ ...values, isPaused: false })));
  }

  /**
   * Sets limits that hold for all workers together, at once and until they are set again; they are stored with the queue.
   * With shards each has its part: a shard counts for itself, so concurrency and rates are meant per shard. One round
   * trip for each shard, and with `groups` one for each 200 groups that wait or run. Rejects with TypeError or RangeError;
   * then nothing is changed.
   *
   * `check` is given what is stored, and nobody changes it in between; what it throws is what this rejects with, and nothing is
   * changed. It may be called again, is asked for the first shard alone, and costs two round trips more.
   */
  async configure(limits: QueueLimits, options: ConfigureOptions = {}): Promise<void> {
    const { check } = resolveConfigure(options);
    resolveLimits(this.#shards.first.settings.values, limits);
    if (check) {
      await this.settings();
      await this.#shards.first.configure((values) => {
        check(values);
        return resolveLimits(values, limits);
      });
    }
    await registerName(this.#redis, this.#shards.prefix, this.name);
    await this.#all(async (shard) => {
      await shard.configure((values) => resolveLimits(values, limits));
      // Also when nothing has changed: whoever has changed it may have died before this.
      if (limits.groups !== undefined) await shard.regroup();
    });
  }

  /**
   * Makes a task at each instant that the rule names, once across all workers; any worker of the queue does it, and no run
   * waits for the one before. The task's id is `<key>@<instant>`, and its headers `schedule-key` and `schedule-instant`
   * tell both. A schedule of the same key is replaced. One that is the same is left alone, and with the same cron, time zone,
   * `everyMs` and `startAt` the next instant and the count of runs stay: so every process may call this when it starts.
   * A schedule that has ended (`limit`, `until`) is remembered for 30 days.
   *
   * One round trip when nothing changes, else two; O(log n). Rejects with ERR_INVALID_SCHEDULE, ERR_TOO_MANY_SCHEDULES (10,000),
   * or as `enqueue` does; then nothing is stored.
   */
  async schedule<Name extends keyof Tasks & string>(
    key: string,
    rule: ScheduleRule,
    name: Name,
    payload: Tasks[Name],
    options: ScheduledTaskOptions = {},
  ): Promise<Scheduled> {
    return this.#schedules.set(key, rule, name, payload, options);
  }

  /** All schedules, the one that is due first comes first. One round trip for each hundred. */
  async schedules(): Promise<Schedule[]> {
    return this.#schedules.list();
  }

  /**
   * Ends a schedule; resolves with whether there was one. Tasks that it has made stay, and a worker that is about to make one
   * may still do so. One round trip, O(log n).
   */
  async unschedule(key: string): Promise<boolean> {
    return this.#schedules.remove(key);
  }

  /**
   * What the handler returned, when the task has succeeded; waits for that. The end is told with what there is to know, so
   * it works with a retention of 0 as well; a message that is lost is made up for within 3.5 s, by one command for all waits
   * of a process and shard, and with that retention it is ERR_TASK_NOT_FOUND then.
   *
   * Two round trips until it waits, shared by all calls of one tick, then none but the re-checks. Rejects with ERR_TASK_DEAD,
   * ERR_TASK_CANCELLED, ERR_TASK_NOT_FOUND (unknown, no longer retained, or removed), ERR_RESULT_TIMEOUT, or the reason of the signal.
   */
  async result(id: string, options: ResultOptions = {}): Promise<unknown> {
    return this.#results.result(id, options);
  }

  /**
   * What happens in the queue, from now on or from behind an event that was seen. The first call switches events on, 10,000
   * kept in each shard, unless `configure` has set `keepEvents`; from then on each change appends its events in its own
   * script. Nothing is left out: what was trimmed before it was read is told as a `gap`. Events of one task are in order, as are those of
   * one shard. A page is read when it is asked for; an idle reader sends one command every 3 s and shard.
   *
   * Begins with the first `next()`. Throws the reason of the signal, RangeError for a cursor of another kind of queue, and
   * whatever Redis refuses a read with: go on from the last cursor then.
   */
  events(options: EventsOptions = {}): AsyncGenerator<QueueEvent, void> {
    return readEvents(this.#shards, options);
  }

  /**
   * Stores a task and the tasks that it waits for, in this and other queues of the same prefix: a tree of up to 10 levels,
   * 1,000 tasks and 8 MiB. It is ready when all its children have ended. When Redis has accepted the root, the whole flow
   * is certain, whoever dies; the children are stored by this call, or by workers of the parent's queue within 10 s of its
   * death. Each child is stored once, or again where it had ended and was forgotten before that was known. A child's end is
   * counted once.
   *
   * A round trip for each level and two more for the clean-up. Rejects with ERR_INVALID_FLOW, or as `enqueue` does; then nothing is stored:
   * ERR_QUEUE_FULL and ERR_TASK_CONFLICT (an id that was given to a child is taken) for what lies in the shard of the root. In
   * another one such a child counts as dead; a full queue is tried for a minute. With an `id` of the root a repeated call
   * stores it once, and names the same children; ERR_TASK_CONFLICT with others. O(tasks).
   */
  async enqueueFlow(flow: FlowTask<Tasks>): Promise<EnqueuedFlow> {
    return this.#producer.enqueueFlow(flow);
  }

  async #all<Result>(act: (shard: Shard) => Promise<Result>): Promise<[Result, ...Result[]]> {
    return Promise.all((await this.#shards.open()).map(act)) as Promise<[Result, ...Result[]]>;
  }
}

const QUEUES_AT_A_TIME = 16;
