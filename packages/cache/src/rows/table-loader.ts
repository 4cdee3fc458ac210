/**
 * Runs the loader of a table for a batch and determines the outcome of each row.
 *
 * A batch that fails is bisected until the failing rows are alone, so that one bad row doesn't delay 249 others. If nothing
 * loads in the first three rounds (7 queries), the source is down, and the rows are skipped. A single row does not show
 * this: then the source is down if the previous load, of another row, failed as well.
 *
 * A slow query is the fault of the source or of one row. After an eighth of its time, and eight times the usual time, its
 * rows are loaded in small parts beside it. The first part is one row; each success doubles the next one, up to 16. Loaded
 * rows are stored. When all parts were tried, the slow query is abandoned; an earlier answer means that it was only slow.
 * Three parts that time out without any success end the search: the source is slow. Rejected: half of the time for the batch
 * and the rest for its parts, which would fail queries that are only slow.
 *
 * If nothing of a batch loads in its time, all its rows failed, and the source is down unless it answered another query
 * meanwhile. Failed rows are leased apart from all others. Most of them are healthy and load soon, so they have a short time
 * at first. It doubles with each failure up to the whole time, so that a row that is only slow loads eventually.
 */
import { ArgumentTypeError, waitFor } from '@mortise/redis';
import { RowLoadError } from '../errors.js';
import { loadWithin } from '../load-within.js';
import type { LeasedRows } from './leased-rows.js';
import type { LoadRows } from './options.js';
import type { RefreshedTable } from './refreshed-table.js';
import type { Outcome } from './row-leases.js';

export interface Loaded {
  /** Rows without an outcome were skipped. */
  readonly outcomes: Map<string, Outcome>;
  readonly isSourceDown: boolean;
  /** The errors to report. */
  readonly errors: unknown[];
  /** The error of each failed row. */
  readonly failures: ReadonlyMap<string, unknown>;
}

/** Rounds of the bisection without a loaded row after which the source is down. */
const MAX_DEAD_ROUNDS = 3;
/** Queries of one bisection. */
const MAX_QUERIES = 64;

/** The part of the lease that a loader has. */
const LOAD_PART = 0.9;
/**
 * When a query counts as slow: after this part of the load time, at least this time, and this multiple of the usual
 * duration.
 */
const SLOW_PART = 1 / 8;
const MIN_SLOW_MS = 250;
const USUAL_TIMES = 8;
/** The usual duration is a moving average over about this many queries. */
const USUAL_OF = 8;
/** Maximum of rows in a query for a part of a slow batch. */
const MAX_PART_ROWS = 16;
/** Failed parts, without any success, after which the source counts as slow. */
const MAX_DEAD_PARTS = 3;

/** The progress of a load. */
interface Work {
  readonly loadedAt: string;
  readonly outcomes: Map<string, Outcome>;
  readonly errors: unknown[];
  readonly failures: Map<string, unknown>;
}

interface FailedQuery {
  readonly ids: readonly string[];
  readonly error: unknown;
}

export type Batch = Pick<LeasedRows, 'ids' | 'isProbe' | 'failures'>;

/** The loads of one table by one process. */
export class TableLoader {
  readonly #table: RefreshedTable;
  readonly #load: LoadRows<unknown>;
  readonly #limitMs: number;
  /** The single row whose load failed last, if no load has succeeded since. */
  #failedAlone: string | undefined;
  /** The start of the latest query that was answered, an instant of `performance.now()`. */
  #answeredAt = -Infinity;
  /** The usual duration of a query, in ms. */
  #usualMs = 0;

  /** Throws TypeError for a table without a loader. */
  constructor(table: RefreshedTable, leaseMs: number) {
    const { load } = table.options;
    if (!load)
      throw new ArgumentTypeError(`table "${table.keys.table}" has no load, which a refresher needs`);
    this.#table = table;
    this.#load = load;
    this.#limitMs = LOAD_PART * leaseMs;
  }

  /**
   * Never rejects. Aborts the signal of the loader when its time is over.
   *
   * @param loadedAt Part of the stored values: ms of the server's clock, 13 digits.
   * @param leasedAt When the lease was requested, an instant of `performance.now()`.
   */
  async load(batch: Batch, loadedAt: string, leasedAt: number): Promise<Loaded> {
    const { ids } = batch;
    const deadlineAt = leasedAt + this.#limitOf(batch);
    const startedAt = performance.now();
    const outcomes = new Map<string, Outcome>();
    const errors: unknown[] = [];
    const failures = new Map<string, unknown>();
    const work = { loadedAt, outcomes, errors, failures };
    let failed =
      isShort(batch) || batch.failures > 0
        ? await this.#queryEach([ids], deadlineAt, work)
        : await this.#queryWhole(ids, deadlineAt, work);
    let queries = 1;
    for (let round = 1; ; round += 1) {
      const parts = failed.flatMap(({ ids: part }) => halves(part));
      if (parts.length === 0 || (outcomes.size === 0 && round === MAX_DEAD_ROUNDS)) break;
      if (queries + parts.length > MAX_QUERIES || isOver(failed, deadlineAt)) break;
      const alone = failed.filter(({ ids: part }) => part.length === 1);
      queries += parts.length;
      failed = [...alone, ...(await this.#queryEach(parts, deadlineAt, work))];
    }
    const hasTimedOut = outcomes.size === 0 && isOver(failed, deadlineAt);
    const isAnswering = hasTimedOut && this.#answeredAt > startedAt;
    const isSourceDown = outcomes.size === 0 && !isAnswering && this.#isDown(batch);
    if (outcomes.size > 0) this.#failedAlone = undefined;
    const { table } = this.#table.keys;
    if (isSourceDown && ids.length > 1 && !hasTimedOut && batch.failures === 0) {
      return {
        outcomes,
        isSourceDown,
        errors: [new RowLoadError('ERR_ROW_LOAD', table, ids, failed[0]?.error)],
        failures,
      };
    }
    for (const { ids: part, error } of failed) {
      for (const id of part) {
        outcomes.set(id, 'failed');
        failures.set(id, error);
      }
      errors.push(new RowLoadError('ERR_ROW_LOAD', table, part, error));
    }
    return { outcomes, isSourceDown, errors, failures };
  }

  /** The time of a batch: short after its first and second failure, then twice as long after each further one. */
  #limitOf(batch: Batch): number {
    if (isShort(batch)) return this.#slowMs;
    if (batch.failures === 0) return this.#limitMs;
    return Math.min(this.#limitMs, this.#slowMs * 2 ** (Math.min(batch.failures, 10) - 2));
  }

  get #slowMs(): number {
    const slowMs = Math.max(SLOW_PART * this.#limitMs, MIN_SLOW_MS, USUAL_TIMES * this.#usualMs);
    return Math.min(this.#limitMs, slowMs);
  }

  #isDown({ ids, isProbe, failures }: Batch): boolean {
    if (failures > 0) return isProbe;
    if (ids.length > 1) return true;
    const [id] = ids;
    const isDown = this.#failedAlone !== undefined && this.#failedAlone !== id;
    this.#failedAlone = id;
    return isDown;
  }

  /** Runs one query, and while it is slow, queries for parts of it, one after another. Returns the failed ones. */
  async #queryWhole(ids: readonly string[], deadlineAt: number, work: Work): Promise<FailedQuery[]> {
    const abandon = new AbortController();
    const state = { isSettled: false };
    const whole = this.#query(ids, deadlineAt, work, abandon.signal).finally(() => {
      state.isSettled = true;
    });
    if (ids.length > 1) await waitFor(whole, { waitMs: this.#slowMs });
    const failed: FailedQuery[] = [];
    const { outcomes } = work;
    let at = 0;
    let size = 1;
    while (ids.length > 1 && !state.isSettled && at < ids.length) {
      if (outcomes.size === 0 && failed.length === MAX_DEAD_PARTS) break;
      const part = ids.slice(at, at + size);
      const isDone = new AbortController();
      const partDeadlineAt = Math.min(deadlineAt, performance.now() + this.#slowMs);
      const query = this.#query(part, partDeadlineAt, work, isDone.signal);
      const failure = await Promise.race([query, whole]);
      if (state.isSettled) {
        isDone.abort(new Error('the query of the whole batch has ended'));
        break;
      }
      if (failure) failed.push(failure);
      at += part.length;
      size = failure ? 1 : Math.min(2 * size, MAX_PART_ROWS);
    }
    if (at === ids.length && !state.isSettled) {
      abandon.abort(new Error('each part of the batch was queried'));
      await whole;
      return failed;
    }
    const failure = await whole;
    if (!failure) return [];
    if (outcomes.size === 0) return [failure];
    const remainder = ids.slice(at);
    return remainder.length > 0 ? [...failed, { ...failure, ids: remainder }] : failed;
  }

  /** Runs one query for each part, one after another, and returns the failed ones. */
  async #queryEach(
    parts: readonly (readonly string[])[],
    deadlineAt: number,
    work: Work,
  ): Promise<FailedQuery[]> {
    const failed: FailedQuery[] = [];
    for (const ids of parts) {
      const failure = await this.#query(ids, deadlineAt, work);
      if (failure) failed.push(failure);
    }
    return failed;
  }

  /** Sets the outcomes of rows that have none. Never rejects. */
  async #query(
    ids: readonly string[],
    deadlineAt: number,
    { loadedAt, outcomes, errors, failures }: Work,
    end?: AbortSignal,
  ): Promise<FailedQuery | undefined> {
    const { table } = this.#table.keys;
    const startedAt = performance.now();
    let rows: ReadonlyMap<string, unknown>;
    try {
      // A copy, because a loader may modify its ids.
      const waitMs = Math.max(0, Math.round(deadlineAt - startedAt));
      const toError = (): Error =>
        new RowLoadError('ERR_ROW_LOAD_TIMEOUT', table, ids, `it took longer than ${waitMs} ms`);
      rows = await loadWithin(waitMs, toError, (signal) => this.#load([...ids], signal), end);
      requireRequested(rows, ids);
    } catch (error) {
      return { ids, error };
    }
    this.#answeredAt = Math.max(this.#answeredAt, startedAt);
    this.#usualMs += (performance.now() - startedAt - this.#usualMs) / USUAL_OF;
    for (const id of ids) {
      if (outcomes.has(id)) continue;
      try {
        outcomes.set(id, this.#outcome(id, rows.get(id), loadedAt));
      } catch (error) {
        outcomes.set(id, 'failed');
        failures.set(id, error);
        const isOurs = error instanceof RowLoadError;
        errors.push(isOurs ? error : new RowLoadError('ERR_ROW_LOAD', table, [id], error));
      }
    }
    return undefined;
  }

  #outcome(id: string, row: unknown, loadedAt: string): Outcome {
    if (row === undefined || row === null) return 'missing';
    const { keys, options, codec } = this.#table;
    const encoded = codec.encode(row, loadedAt);
    const { bytes } = encoded;
    const { maxPayloadBytes } = options;
    if (bytes > maxPayloadBytes) {
      const problem = `it has ${bytes} bytes, the limit is ${maxPayloadBytes}`;
      throw new RowLoadError('ERR_ROW_TOO_LARGE', keys.table, [id], problem);
    }
    return encoded;
  }
}

/** A batch with a short time: failed rows at first, and several rows as a probe, of which one was answered before. */
function isShort({ ids, isProbe, failures }: Batch): boolean {
  return failures === 1 || (failures === 0 && isProbe && ids.length > 1);
}

/** Also true after a timeout: a timer may be a millisecond early. */
function isOver(failed: readonly FailedQuery[], deadlineAt: number): boolean {
  return performance.now() >= deadlineAt || failed.some(({ error }) => isTimeout(error));
}

function isTimeout(error: unknown): boolean {
  return error instanceof RowLoadError && error.code === 'ERR_ROW_LOAD_TIMEOUT';
}

/** Empty for a single row, which is alone already. */
function halves(ids: readonly string[]): readonly (readonly string[])[] {
  if (ids.length === 1) return [];
  const half = Math.ceil(ids.length / 2);
  return [ids.slice(0, half), ids.slice(half)];
}

/** Refuses unknown ids: a loader that returns numbers as ids would otherwise look like a table without rows. */
function requireRequested(
  rows: unknown,
  ids: readonly string[],
): asserts rows is ReadonlyMap<string, unknown> {
  if (!(rows instanceof Map)) throw new TypeError('load must return a Map of rows by id');
  const requested = new Set<unknown>(ids);
  for (const id of rows.keys()) {
    if (!requested.has(id))
      throw new TypeError(
        `load returned a row with the ${typeof id} id ${String(id)}, which was not requested`,
      );
  }
}
