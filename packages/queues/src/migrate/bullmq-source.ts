/**
 * The queues of BullMQ, as version 6 stores them: `<prefix>:<queue>:<part>`, and a HASH for each job under its id. A job that is on its way
 * keeps its HASH, so BullMQ refuses its id as a duplicate. Jobs of flows stay: their parents count on them.
 */
import { inexactNumber } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import type { Backoff } from '../options.js';
import { migrateSchedule } from '../scripts.gen.js';
import { storeError } from '../task/stored-error.js';
import type { NewSchedule, NewTask, Place, Source, TakenJob } from './source.js';
import { call, isOfType, unlink } from './source.js';

/** The score of a delayed job is its instant times this, and a number. */
const SCORES_PER_MS = 4_096;
/** Nothing runs it before it is moved to its end. */
const NEVER_MS = 9 * 365 * 86_400_000;
const MAX_ATTEMPTS = 65_535;
const PARTS_OF_JOB = ['', ':logs', ':dependencies', ':processed', ':failed', ':unsuccessful'];

/** Keys of the queue, in version 6. BullMQ stores a job with such an id all the same, and its record is that key. */
const OWN_KEYS: ReadonlySet<string> = new Set([
  'active',
  'completed',
  'de',
  'delayed',
  'events',
  'failed',
  'id',
  'limiter',
  'marker',
  'meta',
  'pc',
  'prioritized',
  'repeat',
  'stalled',
  'stalled-check',
  'wait',
  'waiting-children',
]);

interface JobOptions {
  readonly attempts?: number;
  readonly backoff?: number | { readonly type: string; readonly delay?: number };
  readonly priority?: number;
}

export class BullmqSource implements Source {
  readonly redis: RedisClient;
  readonly places: readonly Place[];
  readonly onTheWay: string;
  readonly marker: string;
  readonly #base: string;
  /** Names of the priorities of the new queue. */
  readonly #priorities: readonly string[];

  constructor(
    redis: RedisClient,
    prefix: string,
    queue: string,
    isCompleted: boolean,
    priorities: readonly string[],
  ) {
    this.redis = redis;
    this.#base = `${prefix}:${queue}:`;
    this.#priorities = priorities;
    this.onTheWay = `${this.#base}mortise:moved`;
    this.marker = `${this.#base}marker`;
    const zset = (state: Place['state']): Place => ({ state, key: this.#base + state, type: 'zset' });
    this.places = [
      { state: 'waiting', key: `${this.#base}wait`, type: 'list' },
      // Of versions that moved the jobs of a paused queue.
      { state: 'waiting', key: `${this.#base}paused`, type: 'list' },
      zset('prioritized'),
      zset('delayed'),
      zset('failed'),
      ...(isCompleted ? [zset('completed')] : []),
    ];
  }

  lockOf(id: string): string {
    return `${this.#base}${id}:lock`;
  }

  reasons(ids: readonly string[]): Promise<(string | undefined)[]> {
    return Promise.all(
      ids.map(async (id) => {
        if (OWN_KEYS.has(id)) return 'id that is a key of BullMQ';
        const [key, fields] = [this.#base + id, ['name', 'parentKey', 'rjk', 'data']];
        const [name, parent, scheduler, data] = await call<(string | null)[]>(
          this.redis,
          'hmget',
          key,
          ...fields,
        );
        if (name === null) return 'without a record';
        if (parent !== null) return 'child of a flow';
        if ((await call<number>(this.redis, 'exists', `${key}:processed`, `${key}:dependencies`)) > 0)
          return 'parent of a flow';
        if (inexactNumber(data ?? '') !== undefined) return 'number that JavaScript would round';
        if (scheduler === null) return undefined;
        if (!(await isOfType(this.redis, this.#schedulers, 'zset'))) return undefined;
        const next = await call<string | null>(this.redis, 'zscore', this.#schedulers, scheduler!);
        return next === null ? undefined : 'job of a job scheduler';
      }),
    );
  }

  async read({ id, state, score }: TakenJob): Promise<NewTask | undefined> {
    const fields = await call<string[] | Record<string, string>>(this.redis, 'hgetall', this.#base + id);
    const job = recordOf(fields);
    const { name, data = 'null', opts = '{}', atm = '0' } = job;
    if (name === undefined) return undefined;
    const options = JSON.parse(opts) as JobOptions;
    const { attempts = 1 } = options;
    const left = Math.max(1, Math.max(1, attempts) - Number(atm));
    const ended = state === 'failed' || state === 'completed';
    return {
      name,
      payload: JSON.parse(data) as unknown,
      options: {
        id,
        ...(ended && { delayMs: NEVER_MS }),
        ...(state === 'delayed' && { runAt: Math.max(Math.floor(score / SCORES_PER_MS), Date.now()) }),
        ...this.#taskOptions(options, ended ? Math.max(1, attempts) : left),
      },
      ...(state === 'failed' && { end: { state: 'D', detail: failureOf(job) } as const }),
      ...(state === 'completed' && { end: { state: 'S', detail: job['returnvalue'] ?? 'null' } as const }),
    };
  }

  async forget(ids: readonly string[]): Promise<void> {
    await unlink(
      this.redis,
      ids.flatMap((id) => PARTS_OF_JOB.map((part) => this.#base + id + part)),
    );
  }

  /** Also those that a migration has taken, and has not stored. */
  async schedules(): Promise<string[]> {
    const hasAny = await isOfType(this.redis, this.#schedulers, 'zset');
    const keys = hasAny ? await call<string[]>(this.redis, 'zrange', this.#schedulers, '0', '-1') : [];
    const taken = await call<string[]>(this.redis, 'hkeys', this.#takenSchedulers);
    return [...new Set([...keys, ...taken])];
  }

  async takeSchedule(key: string): Promise<NewSchedule | undefined> {
    const hash = `${this.#base}repeat:${key}`;
    const fields = recordOf(await call<string[] | Record<string, string>>(this.redis, 'hgetall', hash));
    const { name, data = '{}', opts = '{}', pattern, tz, every, endDate, limit, ic = '0' } = fields;
    if (name === undefined) return undefined;
    const keys = { schedulers: this.#schedulers, taken: this.#takenSchedulers };
    const last = await migrateSchedule.run(this.redis, keys, { id: key });
    if (last === null) return undefined;
    const lastAt = Number(last);
    const runs = limit === undefined ? undefined : Number(limit) - Number(ic);
    const common = {
      ...(endDate !== undefined && { until: Number(endDate) }),
      ...(runs !== undefined && { maxRuns: Math.max(1, runs) }),
    };
    // The job of the next instant is there already.
    const rule =
      every === undefined
        ? { cron: pattern ?? '', startAt: lastAt + 1, ...(tz !== undefined && { timezone: tz }), ...common }
        : { everyMs: Number(every), startAt: lastAt + Number(every), ...common };
    const options = JSON.parse(opts) as JobOptions;
    return {
      key,
      rule: runs !== undefined && runs <= 0 ? undefined : rule,
      name,
      payload: JSON.parse(data) as unknown,
      options: this.#taskOptions(options, Math.max(1, options.attempts ?? 1)),
    };
  }

  async forgetSchedule(key: string): Promise<void> {
    await call(this.redis, 'hdel', this.#takenSchedulers, key);
    await unlink(this.redis, [`${this.#base}repeat:${key}`]);
  }

  async returnSchedule(key: string): Promise<void> {
    const at = await call<string | null>(this.redis, 'hget', this.#takenSchedulers, key);
    if (at !== null) await call(this.redis, 'zadd', this.#schedulers, at, key);
    await call(this.redis, 'hdel', this.#takenSchedulers, key);
  }

  get #schedulers(): string {
    return `${this.#base}repeat`;
  }

  get #takenSchedulers(): string {
    return `${this.#base}mortise:schedules`;
  }

  /** Jobs without a priority come first in BullMQ, and those with one in the order of the numbers. */
  #taskOptions(
    { backoff, priority = 0 }: JobOptions,
    attempts: number,
  ): { readonly attempts: number; readonly priority?: string; readonly backoff?: Backoff } {
    const last = this.#priorities.at(-1)!;
    return {
      attempts: Math.min(attempts, MAX_ATTEMPTS),
      ...(priority > 0 && { priority: last }),
      ...backoffOf(backoff),
    };
  }
}

/** A client for RESP3 answers with an object. */
function recordOf(reply: string[] | Record<string, string>): Record<string, string | undefined> {
  if (!Array.isArray(reply)) return reply;
  const pairs = reply.flatMap((field, index) =>
    index % 2 === 0 ? [[field, reply[index + 1]!] as const] : [],
  );
  return Object.fromEntries(pairs);
}

function failureOf({ failedReason = '', stacktrace = '[]' }: Record<string, string | undefined>): string {
  const error = new Error(failedReason);
  error.stack = (JSON.parse(stacktrace) as string[]).at(-1) ?? '';
  return storeError(error);
}

/** A strategy of a name of one's own is one of the worker: its backoff counts then. */
function backoffOf(backoff: JobOptions['backoff']): { readonly backoff?: Backoff } {
  if (backoff === undefined || backoff === 0) return {};
  const { type, delay = 0 } = typeof backoff === 'number' ? { type: 'fixed', delay: backoff } : backoff;
  if ((type !== 'fixed' && type !== 'exponential') || delay <= 0) return {};
  return { backoff: { type, delayMs: delay, jitter: 0 } };
}
