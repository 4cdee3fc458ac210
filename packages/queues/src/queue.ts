/** Stores tasks, shows them and moves them, for producers and operators. task.ts has the states of a task. */
import type { RedisClient } from '@mortise/redis';
import { ownedClient, requireName } from '@mortise/redis';
import type { Enqueued, EnqueuedEach } from './enqueue/enqueuer.js';
import { Enqueuer } from './enqueue/enqueuer.js';
import { ProducerTelemetry } from './enqueue/producer-telemetry.js';
import { Producer } from './enqueue/producer.js';
import type { QueueEvent } from './events/event.js';
import type { EventsOptions, LastEventsOptions } from './events/events.js';
import { lastEvents, newestCursor, readEvents } from './events/events.js';
import type { FlowChildren } from './flow/child.js';
import { findChildren } from './flow/child.js';
import type { FlowIds, FlowTask } from './flow/flow-node.js';
import type { EnqueuedFlow } from './flow/flows.js';
import { Flows } from './flow/flows.js';
import type { ListOptions, Page } from './inspect/list.js';
import { listPage } from './inspect/list.js';
import type { GetOptions } from './inspect/look-up.js';
import { countAll, getTask, readSettings, summarize } from './inspect/look-up.js';
import type { CleanOptions, DrainOptions, EndedState, RetryAllOptions } from './operate/bulk.js';
import { clean, drain, retryAll } from './operate/bulk.js';
import type { ObliterateOptions } from './removal/obliteration.js';
import type { DeliverOptions } from './operate/deliverer.js';
import { Deliverer } from './operate/deliverer.js';
import { obliterate } from './removal/obliteration.js';
import { Operator } from './operate/operator.js';
import type { KeyedEnqueueOptions } from './enqueue/merge-options.js';
import { Merger } from './enqueue/merger.js';
import type { RescheduleOptions } from './operate/reschedule-options.js';
import { resolveReschedule } from './operate/reschedule-options.js';
import type { EnqueueOptions, QueueOptions } from './options.js';
import { resolveQueueOptions } from './options.js';
import { handledNames } from './work/handler-names.js';
import type { IdleOptions } from './results/idle.js';
import { waitUntilIdle } from './results/idle.js';
import type { ResultOptions } from './results/results.js';
import { Results } from './results/results.js';
import type { ScheduledTaskOptions } from './schedule/definition.js';
import type { ScheduleRule } from './schedule/rule.js';
import type { Schedule, Scheduled } from './schedule/schedules.js';
import { Schedules } from './schedule/schedules.js';
import { configure, setPaused } from './operate/configure.js';
import { reshard } from './operate/reshard.js';
import type { ConfigureOptions, QueueLimits } from './operate/queue-limits.js';
import type { SettingsValues } from './shard/settings-text.js';
import { Shards } from './shard/shards.js';
import { StoredQueues } from './stored-queues.js';
import { Schemas } from './task/schemas.js';
import type { PayloadOf, ResultOf, TaskId } from './task-types.js';
import type { Counts, NewTask, Task, TaskMap, TaskState, TaskSummary } from './task/task.js';

export class Queue<Tasks extends TaskMap<Tasks> = Record<string, unknown>> extends StoredQueues {
  readonly name: string;
  readonly #shards: Shards;
  readonly #producer: Producer;
  readonly #merger: Merger;
  readonly #operator: Operator;
  readonly #deliverer: Deliverer;
  readonly #schedules: Schedules;
  readonly #results: Results;
  readonly #flows: Flows;

  /**
   * @param given An ioredis client, used as it is and never closed; or the URL of a single node, for a client that `close` closes.
   * @param name 1 to 1,024 bytes, any characters. The first task creates the queue.
   */
  constructor(given: RedisClient | string, name: string, options: QueueOptions<Tasks> = {}) {
    const client = ownedClient(given);
    super(client);
    const { redis } = client;
    this.name = requireName('name', name);
    const { prefix, named, codecs, maxPayloadBytes, keepCancelled } = resolveQueueOptions(options);
    const schemas = options.schemas === undefined ? undefined : new Schemas(options.schemas);
    const telemetry = ProducerTelemetry.of(options.telemetry, name);
    this.#shards = new Shards(redis, name, prefix, named, codecs);
    const enqueuer = new Enqueuer(redis, name, this.#shards, maxPayloadBytes, schemas);
    const operator = (this.#operator = new Operator(name, this.#shards, keepCancelled));
    this.#deliverer = new Deliverer(name, this.#shards);
    this.#merger = new Merger(redis, name, this.#shards, enqueuer, maxPayloadBytes);
    this.#producer = new Producer(enqueuer, this.#merger, telemetry);
    const forFlows = { maxPayloadBytes, keepCancelled, operator, telemetry };
    this.#flows = new Flows(redis, name, prefix, this.#shards, enqueuer, forFlows);
    this.#schedules = new Schedules(redis, name, this.#shards, enqueuer);
    this.#results = new Results(name, this.#shards);
  }

  /**
   * Stores a task. Resolves when Redis has accepted it. Calls of one tick share one script call.
   *
   * After a lost reply, repeat the call: a task with an `id` of your own is stored once. The id counts as a duplicate while the task waits,
   * runs or is retained, and for `dedupMs` if that is longer.
   *
   * With a `dedupKey` the call changes the task that has the key, or stores a new one: one script call, O(bytes of both payloads). A
   * repeated call changes the task again, and so may a call that ioredis resends: `append` may add elements twice.
   *
   * One round trip, and one more for the first use of the instance. O(1), or O(log n) for a delayed task. Rejects with ERR_INVALID_PAYLOAD,
   * ERR_PAYLOAD_TOO_LARGE, ERR_TASK_CONFLICT (the id belongs to a task with another name or payload), ERR_QUEUE_FULL,
   * ERR_PRIORITIES_MISMATCH, ERR_SHARDS_MISMATCH, or ERR_INVALID_ARG for options. Then nothing is stored.
   */
  enqueue<Name extends keyof Tasks & string>(
    name: Name,
    payload: PayloadOf<Tasks, Name>,
    options: EnqueueOptions | KeyedEnqueueOptions = {},
  ): Promise<Enqueued<ResultOf<Tasks, Name>>> {
    return this.#producer.enqueue(name, payload, options);
  }

  /**
   * Stores many tasks, in order. All tasks are checked before the first is sent. A script call takes up to 64 tasks of a shard, or 4 MiB,
   * and stores all of them or none. So `enqueueMany` is atomic for up to 64 tasks of one shard.
   *
   * Resolves in the order of `tasks`. Rejects as `enqueue` does, when all script calls have ended. `stored` of ERR_TASK_CONFLICT,
   * ERR_QUEUE_FULL and ERR_MEMORY_FULL has the ids that other script calls have stored. After another error, repeat it with your own ids.
   */
  async enqueueMany<const Given extends readonly NewTask<Tasks>[]>(
    tasks: Given,
  ): Promise<EnqueuedEach<Tasks, Given>> {
    return this.#producer.enqueueMany(tasks) as Promise<EnqueuedEach<Tasks, Given>>;
  }

  /** Resolves to the task, or to null when the id is unknown or no longer retained. One round trip, read-only, O(log n). */
  async get(id: string, options: GetOptions = {}): Promise<Task<Tasks> | null> {
    return getTask<Tasks>(this.#shards, id, options);
  }

  /** As `get`, without payload, result, logs and steps: a large task costs little. One round trip, read-only, O(log n). */
  async summary(id: string): Promise<TaskSummary<Tasks> | null> {
    return summarize<Tasks>(this.#shards, id);
  }

  /** How many tasks are in each state, exact at one instant. One round trip for each shard, read-only, O(log n). */
  async counts(): Promise<Counts> {
    return countAll(this.#shards);
  }

  /**
   * Cancels a task. A waiting task never runs. A running task's signal is aborted with ERR_TASK_CANCELLED, and its ack is refused. Resolves
   * to false when the task has already ended or is unknown. Up to `keepCancelled` cancelled tasks are kept.
   *
   * For a flow, pass the value of `enqueueFlow`. All its tasks that have not ended are then cancelled, parents before children. This
   * happens level by level, not in one step. Resolves to true when a task was cancelled. With the id of a parent alone, its children go on.
   *
   * Atomic for one task: when the call resolves, counts are right and no worker fetches the task any more. If ioredis resends the command
   * after a lost reply, the call answers false though the task was cancelled. One round trip, shared by calls of one tick. It costs one for
   * each shard when the id is not in its own shard, and one more for the first use of optional features. O(log n); of a ready list up to
   * 200 entries are read. `reason` has up to 1,024 bytes and becomes the task's `error`. Rejects with ERR_INVALID_ARG for the reason.
   */
  async cancel(task: string | FlowIds, options: { reason?: string | undefined } = {}): Promise<boolean> {
    return this.#flows.cancel(task, options);
  }

  /**
   * Deletes a task and its id, also an id that `dedupMs` still keeps. Resolves to false for an unknown id. A pending `result` of the task
   * rejects with ERR_TASK_NOT_FOUND. Rejects with ERR_TASK_ACTIVE while the task runs: cancel it first. A resent command answers false.
   * Costs what `cancel` does; to find a succeeded task takes O(keepSucceeded).
   */
  async remove(id: string): Promise<boolean> {
    return this.#operator.remove(id);
  }

  /**
   * Makes a dead or cancelled task due now: attempts and `expiresInMs` begin anew. A retrying task keeps its attempts. Resolves to false in
   * other states, so one of two concurrent calls resolves to true. A resent command answers false. Costs what `cancel` does.
   */
  async retry(id: string): Promise<boolean> {
    return this.#operator.retry(id);
  }

  /** Makes a scheduled or retrying task due now. Resolves to false for others. A resent command answers false. Costs what `cancel` does. */
  async promote(id: string): Promise<boolean> {
    return this.#operator.promote(id);
  }

  /**
   * Moves a ready, scheduled or retrying task to another time; its attempts stay counted. Resolves to false for other tasks, and for ready
   * tasks that a worker has given back. A task that expires before that time is dead when it expires. A resent command with `runAt` changes
   * nothing. Costs what `cancel` does. Rejects with ERR_INVALID_ARG, and with ERR_RUN_AT_PAST for a `runAt` more than a minute ago.
   */
  async reschedule(id: string, options: RescheduleOptions): Promise<boolean> {
    return this.#operator.reschedule(id, resolveReschedule(options));
  }

  /**
   * Moves a waiting task to another priority, behind the ready tasks that have it. Resolves to false for a task that runs, has ended or is
   * unknown. A resent command changes nothing. Writes the task again, O(bytes). Otherwise the call costs what `cancel` does. Rejects with
   * ERR_INVALID_ARG for a priority that the queue doesn't have.
   */
  async setPriority(id: string, priority: string): Promise<boolean> {
    return this.#operator.setPriority(id, priority);
  }

  /**
   * Replaces the payload of a task; schemas check the payload when the task runs. Resolves to false for an active, succeeded or unknown
   * task. Dead and cancelled tasks use the payload when they are retried. A resent command changes nothing. O(bytes); otherwise the call
   * costs what `cancel` does. Rejects with ERR_INVALID_PAYLOAD, ERR_PAYLOAD_TOO_LARGE or ERR_MEMORY_FULL.
   */
  async setPayload(id: string, payload: PayloadOf<Tasks, keyof Tasks & string>): Promise<boolean> {
    return this.#merger.setPayload(id, payload);
  }

  /**
   * Delivers an event to a task, for `ctx.waitFor`. The task continues if it waits for the event. Otherwise the event is stored until the
   * handler waits for it. Resolves to false for a task that has ended or is unknown. Pass an `id` to repeat a delivery after a lost reply.
   * Costs what `cancel` does: O(log n), and the bytes of the stored events. Rejects with ERR_INVALID_ARG (a payload has up to 65,536
   * bytes), ERR_TOO_MANY_EVENTS (100), ERR_EVENTS_TOO_LARGE (262,144 bytes) or ERR_MEMORY_FULL.
   */
  deliver(id: string, event: string, payload?: unknown, options: DeliverOptions = {}): Promise<boolean> {
    return this.#deliverer.deliver(id, event, payload, options);
  }

  /**
   * Retries all dead tasks, or all cancelled ones, or those of a name, the latest first. Tasks that reach the state meanwhile stay. After
   * an error, repeat it. Resolves to their number, without those of a resent command. Two round trips for each 500 tasks. Not atomic.
   */
  async retryAll(options: RetryAllOptions = {}): Promise<number> {
    return retryAll(this.#shards, this.#operator, options);
  }

  /**
   * Deletes all ready tasks; with `scheduled` also scheduled and retrying ones. Running tasks and tasks that come during the call stay.
   * Resolves to the number of deleted tasks, without those of a resent command. One round trip for each 500 tasks and shard; not atomic.
   */
  async drain(options: DrainOptions = {}): Promise<number> {
    return drain(this.#shards, options);
  }

  /** Deletes ended tasks, the oldest first. Resolves to their number, without those of a resent command. Costs what `drain` does. */
  async clean(state: EndedState, options: CleanOptions = {}): Promise<number> {
    return clean(this.#shards, state, options);
  }

  /**
   * Returns a page of the tasks in one state, shard after shard. Ready tasks come in the order in which workers fetch them: by priority,
   * due tasks first, grouped tasks last. Scheduled and retrying tasks are ordered by priority and due instant, active tasks by the end of
   * their leases. Ended tasks come the latest first, waiting tasks in no order.
   *
   * A task that stays in the state is on some page, perhaps on two pages while others come and go. A call reads up to 1,000 tasks, or 4 MiB, of each shard,
   * so a page may have few tasks, or none. The cursor of the last page is null. Cursors don't expire. One round trip, and one for each further shard of the
   * page. O(limit · log n), read-only. Rejects with ERR_INVALID_ARG for options and for a cursor of another state.
   */
  async list(state: TaskState, options: ListOptions = {}): Promise<Page<Task<Tasks>>> {
    return listPage<Tasks>(this.#shards, 'list', state, options);
  }

  /** Lists tasks without payloads and results, as `list` does. Pages are full, which takes up to 25 round trips. */
  async summaries(state: TaskState, options: ListOptions = {}): Promise<Page<TaskSummary<Tasks>>> {
    return listPage<Tasks>(this.#shards, 'summaries', state, options);
  }

  /**
   * The names of the tasks that live workers handle, sorted: the first 1,000 of each worker, and for 150 s after the last one. Without claims.
   * One round trip, O(names).
   */
  async names(): Promise<string[]> {
    return handledNames(this.#shards.first);
  }

  /**
   * Removes the queue with its tasks, settings, schedules, results, events, flows and its name. Resolves to whether the queue had anything; a resent
   * command, or the call after a crash, may answer false. A later `enqueue` creates the queue anew, and may give it other priorities and shards.
   *
   * Rejects with ERR_QUEUE_IN_USE while tasks are active or workers wait for tasks. `force` cancels active tasks, and a worker that
   * still completes one reports ERR_LEASE_LOST. Children in other queues still run. Parents in other queues learn that their children were
   * removed. One round trip for each shard and three more, whatever the queue holds; after the use of an optional feature also those of
   * `drain`. Atomic for each shard. After a crash or an error, repeat the call.
   */
  async obliterate(options: ObliterateOptions = {}): Promise<boolean> {
    return obliterate(this.#shards.first.redis, this.name, this.#shards.prefix, options);
  }

  /** The stored settings: priorities, shards, pause, limits. One round trip. */
  async settings(): Promise<SettingsValues> {
    return readSettings(this.#shards);
  }

  /**
   * Changes the number of shards, 1 to 64, while producers and workers run. Older tasks stay in their shards. Resolves to whether the
   * number has changed. Afterwards an enqueue with an `id`, `group` or `dedupKey` costs up to one more round trip for each earlier number. A
   * queue can have 3 earlier numbers. The call takes two round trips for each shard. After an error, repeat it.
   *
   * Rejects with ERR_INVALID_ARG, also if `concurrency` or `maxTasks` of the queue is lower than the number, and for a fourth earlier number.
   */
  async reshard(shards: number): Promise<boolean> {
    return reshard(this.#shards, shards);
  }

  /** Pauses the queue: workers fetch no task until `resume`. Running tasks go on. One round trip for each shard. */
  pause(): Promise<void> {
    return setPaused(this.#shards, true);
  }

  /** Ends a pause and wakes idle workers. One round trip for each shard. */
  resume(): Promise<void> {
    return setPaused(this.#shards, false);
  }

  /**
   * Stores limits that hold for all workers together, at once. Each shard has an equal share of a limit. One round trip for each shard,
   * and one for each 200 `groups`. Rejects with ERR_INVALID_ARG; then nothing is changed. `check` gets the stored settings of the first
   * shard. If it throws, the call rejects with its error, and nothing is changed. No other change can come between the check and the write,
   * so `check` may be called several times. It costs two more round trips.
   */
  async configure(limits: QueueLimits, options: ConfigureOptions = {}): Promise<void> {
    return configure(this.#shards, limits, options);
  }

  /**
   * Enqueues a task at each instant of a rule, once across all workers. Any worker of the queue does so. A run does not wait for the run
   * before it. The task's id is `<key>@<instant>`; its headers `schedule-key` and `schedule-instant` have both values.
   *
   * The call replaces a different schedule of the same key, and leaves an equal one alone. The next instant and the count of runs stay if cron, time zone,
   * `everyMs` and `startAt` are unchanged. An ended schedule is remembered for 30 days. A resent command reports `isChanged: false`.
   *
   * One round trip if nothing changes, otherwise two; O(log n). Rejects with ERR_INVALID_SCHEDULE, ERR_TOO_MANY_SCHEDULES (10,000), or as
   * `enqueue` does. Then nothing is stored.
   */
  async schedule<Name extends keyof Tasks & string>(
    key: string,
    rule: ScheduleRule,
    name: Name,
    payload: PayloadOf<Tasks, Name>,
    options: ScheduledTaskOptions = {},
  ): Promise<Scheduled> {
    return this.#schedules.set(key, rule, name, payload, options);
  }

  /** All schedules, the earliest next instant first. One round trip for each hundred. */
  async schedules(): Promise<Schedule[]> {
    return this.#schedules.list();
  }

  /**
   * Removes a schedule. Resolves to false for an unknown key. Its tasks stay, and a worker that runs the schedule right now may still
   * enqueue one. A resent command answers false. One round trip, O(log n).
   */
  async unschedule(key: string): Promise<boolean> {
    return this.#schedules.remove(key);
  }

  /**
   * Waits for the end of a task, and resolves to the value that its handler returned. If the message of the end is lost, a recheck finds
   * the result within 3.5 s, by one command for all waits of a process and shard. A result that is not retained is then ERR_TASK_NOT_FOUND.
   * Two round trips, shared by all calls of one tick; then only the rechecks. Rejects with ERR_TASK_DEAD, ERR_TASK_CANCELLED,
   * ERR_TASK_NOT_FOUND (unknown, removed, or no longer retained), ERR_RESULT_TIMEOUT, or the reason of the signal.
   */
  async result<Result = unknown>(id: string | TaskId<Result>, options: ResultOptions = {}): Promise<Result> {
    return this.#results.result(id, options) as Promise<Result>;
  }

  /**
   * Waits until no task is ready, active, retrying or waiting for its children. Scheduled tasks count when they are due. Tasks that come during the call
   * count, and so do ready tasks of a paused queue. The call looks at one shard after the other. Costs what `result` does for one task after another, each
   * time the last one of the tasks that exist. Rejects with ERR_IDLE_TIMEOUT after `waitMs` (default: never), or with the reason of the signal.
   */
  async idle(options: IdleOptions = {}): Promise<void> {
    return waitUntilIdle(this.#shards, this.#results, options);
  }

  /**
   * Yields the events of the queue, from now on or after an event. The first call switches events on: Redis keeps 10,000 in each shard, unless `configure`
   * has set `keepEvents`. From then on each script that changes something appends its events. A `gap` reports events that were trimmed before they were
   * read. Events of one task, and those of one shard, are in order. An idle reader sends one command every 3 s for each shard.
   *
   * Reading begins with the first `next()`. `next()` rejects with ERR_INVALID_ARG for a cursor of a queue with other shards, and with
   * errors of Redis. Continue after the last event then. The end of `await using` ends the reading.
   */
  events(options: EventsOptions = {}): AsyncGenerator<QueueEvent, void> {
    return readEvents(this.#shards, options);
  }

  /** The last `limit` stored events, oldest first. Switches events on. Two round trips a shard, O(limit). Rejects with ERR_INVALID_ARG. */
  lastEvents(options: LastEventsOptions = {}): Promise<QueueEvent[]> {
    return lastEvents(this.#shards, options);
  }

  /** Resolves to the cursor of now, for `after` of a later `events` call. Switches events on. Two round trips for each shard. */
  eventsCursor(): Promise<string> {
    return newestCursor(this.#shards);
  }

  /**
   * Stores a task and its children, in this and other queues of the prefix: up to 10 levels, 1,000 tasks and 8 MiB. A parent is ready when all its children
   * have ended. Once Redis has accepted the root, the whole flow will be stored. This call stores the children, or a worker of the parent's queue does so
   * within 10 s. The end of a child is counted once. One round trip for each level and two more, O(tasks). With an `id` of the root a repeated call returns
   * the same ids, or rejects with ERR_TASK_CONFLICT for other children. Rejects with ERR_INVALID_FLOW, or as `enqueue` does; then nothing is stored. In
   * other shards than the root's, a child with a taken id counts as dead, and storing a child in a full queue is tried for a minute.
   */
  async enqueueFlow(flow: FlowTask<Tasks>): Promise<EnqueuedFlow> {
    return this.#flows.enqueue(flow);
  }

  /**
   * Resolves to the children of a task: how many, their queues and ids, and the ends of those that have ended. Null for a task without
   * children or one that is no longer retained. `summary` has the states of the others. One round trip for each 2 MiB; O(children).
   */
  async children(id: string): Promise<FlowChildren | null> {
    return findChildren(this.#shards, { queue: this.name, id });
  }
}
