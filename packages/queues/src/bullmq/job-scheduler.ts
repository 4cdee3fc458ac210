/**
 * Job schedulers of BullMQ: each has one job that waits for the next instant, and the start of that job adds the next one. So their
 * jobs are visible before their time. The engine's own schedules (`queue.schedule`) add tasks at their instants.
 */
import { addJob } from './adding.js';
import type { JobHost } from './host.js';
import { Job } from './job.js';
import { removeJob } from './removing.js';
import { defaultRepeatStrategy, nextOfEvery } from './repeat.js';
import type { Store } from './store.js';
import type { AdvancedOptions, JobsOptions, RepeatOptions } from './types.js';

/** A job scheduler as stored. */
interface Definition {
  readonly name: string;
  readonly data: unknown;
  readonly opts: JobsOptions;
  readonly ic: number;
  readonly pattern?: string | undefined;
  readonly every?: number | undefined;
  readonly tz?: string | undefined;
  readonly limit?: number | undefined;
  readonly startDate?: number | undefined;
  readonly endDate?: number | undefined;
  readonly offset?: number | undefined;
}

export interface JobSchedulerJson {
  key: string;
  name: string;
  next?: number | undefined;
  iterationCount?: number;
  limit?: number;
  startDate?: number;
  endDate?: number;
  tz?: string;
  pattern?: string;
  every?: number;
  offset?: number;
  template?: { data?: unknown; opts?: JobsOptions };
}

/** Slots that are tried when jobs of an earlier scheduler have their ids. */
const MOST_SLOTS = 32;
const MOST_TRIES = 10;

export class JobScheduler {
  readonly #host: JobHost;

  constructor(host: JobHost) {
    this.#host = host;
  }

  get #store(): Store {
    return this.#host.store;
  }

  /** Resolves to the next job; undefined when the scheduler has ended. */
  async upsert(
    id: string,
    repeat: RepeatOptions,
    name: string,
    data: unknown,
    opts: JobsOptions,
  ): Promise<Job | undefined> {
    check(repeat, opts);
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const job = await this.#tryUpsert(id, repeat, name, data, opts);
      if (job !== 'changed') return job;
    }
    throw new Error(`job scheduler ${id} changes too often`);
  }

  async #tryUpsert(
    id: string,
    repeat: RepeatOptions,
    name: string,
    data: unknown,
    opts: JobsOptions,
  ): Promise<Job | undefined | 'changed'> {
    const { every, limit, pattern, endDate, startDate } = repeat;
    const count = repeat.count ? repeat.count + 1 : 1;
    const now = Date.now();
    if ((limit !== undefined && count > limit) || (endDate && now > +new Date(endDate))) return undefined;
    const seen = await this.#seen(id);
    const before = seen === '' ? undefined : Number(seen);
    const stored = await this.#read(id);
    let next: number | undefined;
    let offset: number | undefined;
    const begin = startDate ? +new Date(startDate) : undefined;
    const isSameInterval = stored?.every === every;
    const wasRemoved = before !== undefined && (await this.#removeWaiting(`repeat:${id}:${before}`));
    if (every) {
      const slot = nextOfEvery(isSameInterval ? before : undefined, every, now, repeat.offset ?? 0, begin);
      ({ next } = slot);
      if (wasRemoved && isSameInterval) next = before;
      offset = wasRemoved ? (repeat.offset ?? stored?.offset) : slot.offset;
    } else {
      next = await this.#nextOfPattern(now, repeat, name);
      offset = wasRemoved ? stored?.offset : 0;
    }
    if (next === undefined) return undefined;
    if (every) next = await this.#freeSlot(id, next, every);
    else if (!wasRemoved && (await this.#store.get(`repeat:${id}:${next}`))) {
      throw Object.assign(
        new Error('Cannot create job scheduler iteration - job ID already exists. addJobScheduler'),
        { code: -10 },
      );
    }
    const definition: Definition = {
      name,
      data,
      opts,
      ic: stored?.ic ?? 1,
      pattern,
      every,
      tz: repeat.tz,
      limit,
      startDate: begin,
      endDate: endDate ? +new Date(endDate) : undefined,
      offset,
    };
    return this.#add(id, seen, next, definition, { ...opts, repeat: { ...repeat, offset, count } });
  }

  /** Adds the next job of a scheduler; `job` is the one that starts now. */
  async next(job: Job): Promise<Job | undefined> {
    const id = job.repeatJobKey!;
    const [seen, stored] = await Promise.all([this.#seen(id), this.#read(id)]);
    if (!stored || seen === '' || `repeat:${id}:${seen}` !== job.id) return undefined;
    const repeat = job.opts.repeat ?? {};
    const count = (repeat.count ?? 0) + 1;
    const { limit, endDate } = repeat;
    if ((limit !== undefined && count > limit) || (endDate && Date.now() > +new Date(endDate)))
      return undefined;
    const now = Math.max(job.opts.prevMillis ?? 0, Date.now());
    const { every = repeat.every, offset = repeat.offset ?? 0, startDate } = stored;
    const next = every
      ? nextOfEvery(Number(seen), every, Date.now(), offset, startDate).next
      : await this.#nextOfPattern(now, repeat, job.name);
    if (next === undefined) return undefined;
    const { repeatJobKey: _, jobId: _id, ...opts } = job.opts;
    const definition = { ...stored, ic: stored.ic + 1 };
    const added = await this.#add(id, seen, next, definition, { ...opts, repeat: { ...repeat, count } });
    return added === 'changed' ? undefined : added;
  }

  async #add(
    id: string,
    seen: string,
    next: number,
    definition: Definition,
    opts: JobsOptions,
  ): Promise<Job | 'changed'> {
    const now = Date.now();
    const jobId = `repeat:${id}:${next}`;
    const { immediately: _, ...repeat } = opts.repeat!;
    const { startDate, endDate } = repeat;
    const merged: JobsOptions = {
      ...opts,
      jobId,
      delay: Math.max(0, next - now),
      timestamp: now,
      prevMillis: next,
      repeatJobKey: id,
      repeat: {
        ...repeat,
        ...(startDate && { startDate: +new Date(startDate) }),
        ...(endDate && { endDate: +new Date(endDate) }),
      },
    };
    const job = new Job(this.#host, definition.name, definition.data, merged, jobId);
    const scheduler = { id, seen, next, definition: JSON.stringify(definition) };
    let isStale = false;
    const isNew = await addJob(job, { scheduler, onChanged: () => (isStale = true) });
    if (isStale) return 'changed';
    if (!isNew) await this.#store.publish(jobId, { event: 'duplicated' });
    return job;
  }

  async #nextOfPattern(now: number, repeat: RepeatOptions, name: string): Promise<number | undefined> {
    const { settings } = this.#host.opts as { settings?: AdvancedOptions };
    const strategy = settings?.repeatStrategy ?? defaultRepeatStrategy;
    const next = await strategy(now, repeat, name);
    return next ? Math.max(next, now) : undefined;
  }

  async #freeSlot(id: string, first: number, every: number): Promise<number> {
    for (let slot = 0, next = first; slot < MOST_SLOTS; slot += 1, next += every) {
      if (!(await this.#store.get(`repeat:${id}:${next}`))) return next;
    }
    throw Object.assign(
      new Error(
        'Cannot create job scheduler iteration - current and next time slots already have jobs. addJobScheduler',
      ),
      { code: -11 },
    );
  }

  async #removeWaiting(jobId: string): Promise<boolean> {
    const stored = await this.#store.get(jobId);
    if (!stored || !['delayed', 'waiting', 'prioritized'].includes(stored.state)) return false;
    return removeJob(this.#store, jobId, true, true);
  }

  async #seen(id: string): Promise<string> {
    const next = await this.#store.command('ZSCORE', this.#store.layerKeys.layerDue, id);
    return (next as string | null) ?? '';
  }

  async #read(id: string): Promise<Definition | undefined> {
    const text = await this.#store.command('HGET', this.#store.layerKeys.layerSchedulers, id);
    return text === null ? undefined : (JSON.parse(text as string) as Definition);
  }

  async get(id: string): Promise<JobSchedulerJson | undefined> {
    const [seen, stored] = await Promise.all([this.#seen(id), this.#read(id)]);
    return stored && shown(id, stored, seen === '' ? undefined : Number(seen));
  }

  async list(start = 0, end = -1, isAscending = false): Promise<JobSchedulerJson[]> {
    const { layerDue } = this.#store.layerKeys;
    const order = isAscending ? [] : ['REV'];
    const ids = (await this.#store.command('ZRANGE', layerDue, start, end, ...order)) as string[];
    const found = await Promise.all(ids.map((id) => this.get(id)));
    return found.filter((one) => one !== undefined);
  }

  async count(): Promise<number> {
    return Number(await this.#store.command('ZCARD', this.#store.layerKeys.layerDue));
  }

  async remove(id: string): Promise<boolean> {
    const { layerDue, layerSchedulers } = this.#store.layerKeys;
    const seen = await this.#seen(id);
    if (seen === '') return false;
    await this.#store.command('ZREM', layerDue, id);
    await this.#store.command('HDEL', layerSchedulers, id);
    await this.#removeWaiting(`repeat:${id}:${seen}`);
    return true;
  }

  async isJobScheduler(id: string): Promise<boolean> {
    return (await this.#read(id)) !== undefined;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function check(repeat: RepeatOptions, opts: JobsOptions): void {
  const { pattern, every, immediately, startDate, endDate } = repeat;
  if (endDate && +new Date(endDate) < Date.now()) {
    throw new Error('End date must be greater than current timestamp');
  }
  if (pattern && every) {
    throw new Error('Both .pattern and .every options are defined for this repeatable job');
  }
  if (!pattern && !every) {
    throw new Error('Either .pattern or .every options must be defined for this repeatable job');
  }
  if (immediately && startDate) {
    throw new Error('Both .immediately and .startDate options are defined for this repeatable job');
  }
  if (Object.hasOwn(opts, 'debounce')) {
    throw new Error('Debounce option has been removed. Use deduplication option instead');
  }
}

function shown(key: string, stored: Definition, next: number | undefined): JobSchedulerJson {
  const { name, data, opts, ic, ...rule } = stored;
  const known = Object.entries(rule).filter(([, value]) => value !== undefined && value !== null);
  const hasOptions = Object.keys(opts ?? {}).length > 0;
  const hasData = JSON.stringify(data) !== '{}';
  return {
    key,
    name,
    next,
    iterationCount: ic,
    ...Object.fromEntries(known),
    ...((hasData || hasOptions) && {
      template: { ...(hasData && { data }), ...(hasOptions && { opts }) },
    }),
  };
}
