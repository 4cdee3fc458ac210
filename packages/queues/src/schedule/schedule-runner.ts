/**
 * Runs the due schedules of a queue. Any worker does this when the fetch script says that one is due.
 *
 *   lease     this worker gets the due schedules for 5 s; nothing else changes
 *   enqueue   their tasks, with ids made of key and instant
 *   fire      the next instants are stored, if the schedules are still as they were leased
 *
 * When a worker dies in between, the next one leases the schedules and enqueues the same tasks; the stored ones are
 * duplicates and change nothing. A slow worker that lost its lease cannot store next instants; its tasks are duplicates
 * too, since their ids are refused for an hour. Rejected: one script for tasks and next instants. With shards the tasks lie
 * in other slots, so these steps are needed anyway.
 */
import { setTimeout } from 'node:timers/promises';
import type { CommandArgument, ErrorReporter, RedisClient } from '@mortise/redis';
import { InvalidPayloadError, InvalidScheduleError, TaskConflictError } from '../errors.js';
import { Enqueuer } from '../enqueue/enqueuer.js';
import { scheduleBusy, scheduleFire, scheduleLease } from '../scripts.gen.js';
import type { Shards } from '../shard/shards.js';
import { encodeTaskId } from '../task/task-id.js';
import type { StoredSchedule } from './definition.js';
import { loadCron } from './cron.js';
import { decodeSchedule, HEAD_BYTES, taskIdOf, taskOptionsOf } from './definition.js';
import { planRun } from './plan.js';
import { KEEP_ENDED_MS } from './schedules.js';

const LEASE_MS = 5_000;
/** Schedules under one lease. With 100 missed instants each, finding them takes half a second of the client's time. */
const MAX_LEASED = 25;
/** Leases in a row, before the next fetch has to report due schedules again. */
const MAX_ROUNDS = 10;
/** A schedule that cannot run is tried again after this time, when it or the worker may have been repaired. */
const RETRY_BROKEN_MS = 3_600_000;
/** The largest limit of a queue, since the payload was accepted when the schedule was defined. */
const MAX_PAYLOAD_BYTES = 64 * 1024 * 1024;

const FAILURE_PAUSE_MS = 1_000;

interface LeasedSchedule {
  readonly key: Buffer;
  readonly stored: Buffer;
}

export class ScheduleRunner {
  readonly #redis: RedisClient;
  readonly #shards: Shards;
  readonly #enqueuer: Enqueuer;
  readonly #reporter: ErrorReporter;
  #running: Promise<void> | undefined;

  constructor(redis: RedisClient, queue: string, shards: Shards, reporter: ErrorReporter) {
    this.#redis = redis;
    this.#shards = shards;
    this.#enqueuer = new Enqueuer(redis, queue, shards, MAX_PAYLOAD_BYTES);
    this.#reporter = reporter;
  }

  /**
   * Runs the due schedules. Never rejects: errors are reported, and the schedules stay due. Calls during a run share it.
   * Call it when a fetch reports due schedules, and fetch again afterwards, since the next instants may be earlier than the
   * worker's timer. Three round trips for up to 25 schedules.
   */
  run(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #run(): Promise<void> {
    try {
      for (let round = 0; round < MAX_ROUNDS; round += 1) if (!(await this.#round())) return;
    } catch (error) {
      this.#reporter.reportRepeated(error);
      // The next fetch reports the schedules as due at once.
      await setTimeout(FAILURE_PAUSE_MS, undefined, { ref: false });
    }
  }

  /** Resolves with whether more may be due. */
  async #round(): Promise<boolean> {
    await this.#enqueuer.open();
    const { schedules, dueSchedules } = this.#shards.first.keys.of;
    const leaseEndsAt = performance.now() + LEASE_MS;
    const [now, ...fields] = (await scheduleLease.runBuffer(
      this.#redis,
      { schedules, dueSchedules },
      { leaseMs: LEASE_MS, most: MAX_LEASED },
    )) as [number, ...Buffer[]];
    const leased: LeasedSchedule[] = [];
    for (let index = 0; index < fields.length; index += 2) {
      leased.push({ key: fields[index]!, stored: fields[index + 1]! });
    }
    if (leased.length === 0) return false;
    await loadCron();
    const changes = await Promise.all(leased.map((one) => this.#fire(one, now, leaseEndsAt)));
    await scheduleFire.run(
      this.#redis,
      { schedules, dueSchedules },
      { keepEndedMs: KEEP_ENDED_MS, changes: changes.flat() },
    );
    return true;
  }

  /**
   * Enqueues the tasks of a schedule. Resolves with its changes for schedule.fire.lua, or nothing to let the lease expire.
   */
  async #fire(leased: LeasedSchedule, now: number, leaseEndsAt: number): Promise<CommandArgument[]> {
    const { stored } = leased;
    const key = leased.key.toString();
    const head = stored.subarray(0, HEAD_BYTES);
    try {
      const schedule = decodeSchedule(key, stored);
      const { rule, dueAt, runs, lastAt, name, payload, options } = schedule;
      const { fire, nextAt = 0 } = planRun(rule, dueAt, runs, now, await this.#isBusy(key, schedule));
      // Another worker may have leased it by now.
      if (performance.now() >= leaseEndsAt) return [];
      const tasks = fire.map((instant) =>
        this.#enqueuer.prepare(name, payload, taskOptionsOf(key, instant, options)),
      );
      for (const task of tasks) this.#enqueuer.check(task);
      await Promise.all(tasks.map((task) => this.#enqueuer.submit(task).catch(ignoreConflict)));
      return [leased.key, head, nextAt, fire.at(-1) ?? lastAt, runs + fire.length];
    } catch (error) {
      if (!isPermanent(error)) {
        // The schedule is due again when the lease expires.
        this.#reporter.reportRepeated(error);
        return [];
      }
      this.#reporter.report(
        error instanceof InvalidScheduleError ? error : new InvalidScheduleError(key, String(error)),
      );
      return [leased.key, head, -RETRY_BROKEN_MS, 0, 0];
    }
  }

  async #isBusy(key: string, { rule, lastAt }: StoredSchedule): Promise<boolean> {
    if (rule.overlap !== 'skip' || lastAt === 0) return false;
    const id = encodeTaskId(taskIdOf(key, lastAt));
    const found = await this.#shards.find(id, async ({ keys: { of } }) => {
      const { tasks, attempts } = of;
      return (await scheduleBusy.run(this.#redis, { tasks, attempts }, { id })) as number | null;
    });
    return found === 1;
  }
}

/** The payload of the schedule was changed after another worker had enqueued the old one and died. */
function ignoreConflict(error: unknown): void {
  if (!(error instanceof TaskConflictError)) throw error;
}

/** Whether the stored schedule can never become a task; other errors pass. */
function isPermanent(error: unknown): boolean {
  return (
    error instanceof InvalidScheduleError ||
    error instanceof RangeError ||
    error instanceof TypeError ||
    error instanceof InvalidPayloadError
  );
}
