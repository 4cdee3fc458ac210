/** Waits for the ends of tasks, for a queue. */
import { readJson, requireDuration, requireOptions, requireSignal } from '@mortise/redis';
import { TaskCancelledError, TaskDeadError, TaskNotFoundError } from '../errors.js';
import type { Shard } from '../shard/shard.js';
import type { Shards } from '../shard/shards.js';
import { readError } from '../task/stored-error.js';
import { encodeTaskId } from '../task/task-id.js';
import type { End } from './result-waiter.js';
import { ResultWaiter } from './result-waiter.js';

export interface ResultOptions {
  /** How long to wait, ms. With 0 the call looks once; with `Infinity` it waits without limit. Default 30,000. */
  readonly waitMs?: number | undefined;
  /** Aborts the wait, which rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

const DEFAULT_WAIT_MS = 30_000;
const OPTIONS = new Set(['waitMs', 'signal']);
/** After the state: f64 instant, u16 attempt. */
const DATA_AT = 11;

export class Results {
  readonly #queue: string;
  readonly #shards: Shards;
  readonly #waiters = new Map<Shard, ResultWaiter>();

  constructor(queue: string, shards: Shards) {
    this.#queue = queue;
    this.#shards = shards;
  }

  async result(id: string, options: ResultOptions): Promise<unknown> {
    requireOptions('result', options, OPTIONS);
    const { waitMs = DEFAULT_WAIT_MS, signal } = options;
    requireSignal(signal);
    const storedId = encodeTaskId(id);
    const deadlineAt = performance.now() + requireDuration('waitMs', waitMs, { min: 0, max: Infinity });
    const seen = new Set<number>();
    for (;;) {
      const candidates = (await this.#candidates(storedId)).filter(({ index }) => !seen.has(index));
      if (candidates.length === 0) break;
      for (const shard of candidates) {
        const end = await this.endOf(shard, storedId, { waitMs, deadlineAt, signal });
        if (end.length > 0) return this.#read(id, end);
        seen.add(shard.index);
      }
    }
    throw new TaskNotFoundError(this.#queue, id);
  }

  /** Waits for the end of a task of this shard; see `ResultWaiter.wait`. */
  endOf(shard: Shard, storedId: Buffer, options: Parameters<ResultWaiter['wait']>[1]): Promise<End> {
    return this.#waiterOf(shard).wait(storedId, options);
  }

  /** The shard of the id comes first. A task with a group and an id of the caller may be in another one. */
  async #candidates(storedId: Buffer): Promise<readonly Shard[]> {
    const all = await this.#shards.open();
    const home = this.#shards.indexOf({ storedId, group: undefined }, this.#shards.count);
    return [...all.slice(home), ...all.slice(0, home)];
  }

  #waiterOf(shard: Shard): ResultWaiter {
    let waiter = this.#waiters.get(shard);
    if (!waiter) {
      waiter = new ResultWaiter(shard, () => this.#waiters.delete(shard));
      this.#waiters.set(shard, waiter);
    }
    return waiter;
  }

  #read(id: string, end: End): unknown {
    const state = String.fromCharCode(end[0]!);
    const text = end.toString('utf8', DATA_AT);
    if (state === 'C') throw new TaskCancelledError(this.#queue, id, text);
    if (state === 'D') throw new TaskDeadError(this.#queue, id, readError(text));
    return text === '' ? undefined : readJson(text, this.#shards.codecs);
  }
}
