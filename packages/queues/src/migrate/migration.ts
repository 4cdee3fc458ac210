/**
 * Moves the jobs of another library into a queue, while producers and workers of both run. For each batch:
 *
 *   1. take: a script removes the jobs from their place, and writes down that they are on their way
 *   2. store: they are enqueued under their ids
 *   3. forget: their records and the note are deleted
 *
 * So a job is never where two workers find it. A migration that dies leaves jobs on their way; the next one stores them again, which `dedupMs`
 * makes safe even after a task has ended. Rejected: to store first and to take afterwards, since workers of both would run the job between.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { CodedError, withoutLink } from '@mortise/redis';
import type { Queue } from '../queue.js';
import { migrateEnd, migrateReturn, migrateTake } from '../scripts.gen.js';
import type { Shards } from '../shard/shards.js';
import { encodeTaskId } from '../task/task-id.js';
import type { JobState, NewTask, Place, Source, TakenJob } from './source.js';
import { call, isOfType } from './source.js';

/** A migration that died is continued within this time. */
const DEDUP_MS = 7 * 86_400_000;
const MAX_BATCH = 250;
const SECOND_MS = 1_000;
const REFUSALS: ReadonlySet<string> = new Set([
  'ERR_INVALID_PAYLOAD',
  'ERR_INVALID_SCHEDULE',
  'ERR_PAYLOAD_TOO_LARGE',
  'ERR_TASK_CONFLICT',
]);

export interface Moved {
  /** By the state in which jobs were, `schedules` and `continued`, those that an earlier migration had taken. */
  readonly moved: Readonly<Record<string, number>>;
  /** Jobs that stay, by the reason. */
  readonly left: Readonly<Record<string, number>>;
}

export interface MigrationOptions {
  /** Jobs in a second. */
  readonly perSecond?: number | undefined;
}

export class Migration {
  readonly #source: Source;
  readonly #queue: Queue;
  readonly #shards: Shards;
  readonly #batch: number;
  readonly #perSecond: number;
  readonly #moved = new Map<string, number>();
  readonly #left = new Map<string, number>();
  /** Jobs that can't be moved. */
  readonly #stay = new Set<string>();
  #isLateAt = 0;

  constructor(source: Source, queue: Queue, shards: Shards, { perSecond = Infinity }: MigrationOptions = {}) {
    this.#source = source;
    this.#queue = queue;
    this.#shards = shards;
    this.#perSecond = perSecond;
    this.#batch = Math.min(MAX_BATCH, perSecond);
  }

  /** How many jobs there are, by their states. */
  static async count(source: Source): Promise<Readonly<Record<string, number>>> {
    const { redis } = source;
    const counts: Record<string, number> = {};
    for (const { state, key, type } of source.places) {
      const isPlace = await isOfType(redis, key, type);
      const count = isPlace ? await call<number>(redis, type === 'list' ? 'llen' : 'zcard', key) : 0;
      counts[state] = (counts[state] ?? 0) + count;
    }
    const schedules = (await source.schedules()).length;
    return { ...counts, schedules, 'on their way': await call<number>(redis, 'hlen', source.onTheWay) };
  }

  /** Resolves when each place was empty once, but for jobs that stay. */
  async run(): Promise<Moved> {
    await this.#continue();
    for (const key of await this.#source.schedules()) await this.#moveSchedule(key);
    for (const place of this.#source.places) {
      if (await isOfType(this.#source.redis, place.key, place.type)) await this.#empty(place);
    }
    return { moved: Object.fromEntries(this.#moved), left: Object.fromEntries(this.#left) };
  }

  /** With the jobs that a migration had taken before it died. */
  async #continue(): Promise<void> {
    const { redis, onTheWay } = this.#source;
    const notes = await call<string[] | Record<string, string>>(redis, 'hgetall', onTheWay);
    const entries = Array.isArray(notes)
      ? notes.flatMap((id, index) => (index % 2 === 0 ? [[id, notes[index + 1]!] as const] : []))
      : Object.entries(notes);
    const jobs = entries.map(([id, note]) => {
      const [state, score] = note.split(' ');
      return { id, state: state as JobState, score: Number(score) };
    });
    for (let at = 0; at < jobs.length; at += this.#batch) {
      const stored = await this.#store(jobs.slice(at, at + this.#batch));
      add(this.#moved, 'continued', stored);
    }
  }

  async #moveSchedule(key: string): Promise<void> {
    const schedule = await this.#source.takeSchedule(key);
    if (!schedule) return;
    const { rule, name, payload, options } = schedule;
    try {
      if (rule) await this.#queue.schedule(key, rule, name, payload, options);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      await this.#source.returnSchedule(key);
      this.#leave(`schedule ${key}`, reasonOf(error));
      return;
    }
    await this.#source.forgetSchedule(key);
    add(this.#moved, 'schedules', 1);
  }

  async #empty(place: Place): Promise<void> {
    /** Those of this place that stay are at its end from which jobs are taken. */
    let skip = 0;
    let before = '';
    for (;;) {
      const ids = await this.#next(place, skip);
      if (ids.length === 0) return;
      const movable = await this.#movable(ids);
      const taken = await this.#take(place, movable);
      add(this.#moved, place.state, await this.#store(taken));
      // A locked job is the same the next time; the others were fetched by a worker.
      const isSame = taken.length === 0 && before === ids.join('\n');
      skip += isSame ? ids.length : ids.filter((id) => this.#stay.has(id)).length;
      before = ids.join('\n');
      await this.#pace(taken.length);
    }
  }

  /** The ids of a place, the next job first. */
  async #next({ key, type }: Place, skip: number): Promise<string[]> {
    const { redis } = this.#source;
    const last = skip + this.#batch;
    if (type === 'zset') return call<string[]>(redis, 'zrange', key, String(skip), String(last - 1));
    const ids = await call<string[]>(redis, 'lrange', key, String(-last), String(-skip - 1));
    return ids.toReversed();
  }

  async #movable(ids: readonly string[]): Promise<string[]> {
    const reasons = await this.#source.reasons(ids);
    return ids.filter((id, index) => {
      const reason = reasons[index];
      if (reason !== undefined) this.#leave(id, reason);
      return !this.#stay.has(id);
    });
  }

  #leave(id: string, reason: string): void {
    if (!this.#stay.has(id)) add(this.#left, reason, 1);
    this.#stay.add(id);
  }

  async #take({ state, key, type }: Place, ids: readonly string[]): Promise<TakenJob[]> {
    if (ids.length === 0) return [];
    const { redis, onTheWay } = this.#source;
    const locks = ids.map((id) => this.#source.lockOf(id));
    const scores =
      type === 'zset' ? await call<(string | null)[]>(redis, 'zmscore', key, ...ids) : ids.map(() => '0');
    const reply = await migrateTake.run(
      redis,
      { place: key, onTheWay, locks },
      { type, note: state, ids: [...ids] },
    );
    return ids.flatMap((id, index) =>
      String(reply)[index] === '1' ? [{ id, state, score: Number(scores[index] ?? 0) }] : [],
    );
  }

  /** Stores the tasks of taken jobs, in order. Returns their number. */
  async #store(jobs: readonly TakenJob[]): Promise<number> {
    const tasks = await Promise.all(jobs.map((job) => this.#read(job)));
    const found = jobs.flatMap((job, index) => {
      const task = tasks[index];
      return task ? [{ job, task }] : [];
    });
    const stored = await this.#enqueue(found);
    const done = jobs.filter(({ id }) => !this.#stay.has(id)).map(({ id }) => id);
    if (done.length > 0) {
      await this.#source.forget(done);
      await call(this.#source.redis, 'hdel', this.#source.onTheWay, ...done);
    }
    return stored;
  }

  /** Puts a job back that no task can be made of. */
  async #read(job: TakenJob): Promise<NewTask | undefined> {
    try {
      return await this.#source.read(job);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      await this.#putBack(job, error);
      return undefined;
    }
  }

  async #enqueue(found: readonly { readonly job: TakenJob; readonly task: NewTask }[]): Promise<number> {
    let stored = 0;
    const calls = found.map(async ({ job, task: { name, payload, options, end } }) => {
      try {
        await this.#queue.enqueue(name, payload, { ...options, dedupMs: DEDUP_MS });
        if (end) await this.#end(job.id, end);
        stored += 1;
      } catch (error) {
        if (!isRefusal(error)) throw error;
        await this.#putBack(job, error);
      }
    });
    // All have ended before an error goes up: the next migration finds the state of each.
    const outcomes = await Promise.allSettled(calls);
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason as Error;
    return stored;
  }

  async #end(id: string, { state, detail }: NonNullable<NewTask['end']>): Promise<void> {
    const storedId = encodeTaskId(id);
    await this.#shards.find(storedId, (shard) =>
      shard.call((keys, { expectedSettings, publish }) =>
        migrateEnd.run(shard.redis, keys, { expectedSettings, publish, id: storedId, state, detail }),
      ),
    );
  }

  async #putBack({ id, state, score }: TakenJob, error: Error): Promise<void> {
    const { redis, onTheWay, marker, places } = this.#source;
    this.#leave(id, reasonOf(error));
    const { key, type } = places.find((place) => place.state === state)!;
    const wakes = state === 'waiting' || state === 'prioritized' ? '1' : '0';
    await migrateReturn.run(
      redis,
      { place: key, onTheWay, marker },
      { type, id, score: String(score), wakes },
    );
  }

  async #pace(jobs: number): Promise<void> {
    if (!Number.isFinite(this.#perSecond)) return;
    const now = performance.now();
    this.#isLateAt = Math.max(now, this.#isLateAt) + (jobs / this.#perSecond) * SECOND_MS;
    await pause(this.#isLateAt - now);
  }
}

function reasonOf(error: Error): string {
  return error instanceof CodedError ? error.code : withoutLink(error.message);
}

/** Of this task, not of the queue or of Redis. */
function isRefusal(error: unknown): error is Error {
  if (error instanceof TypeError || error instanceof RangeError) return true;
  return error instanceof CodedError && REFUSALS.has(error.code);
}

function add(counts: Map<string, number>, name: string, count: number): void {
  if (count > 0) counts.set(name, (counts.get(name) ?? 0) + count);
}
