/**
 * Runs a table's loader for a batch and turns whatever happens into an outcome for each row.
 *
 * A batch that fails is halved until the rows that fail are alone, so that one poisoned row doesn't hold up 249 others. If
 * nothing at all loads in the first three rounds (7 queries), it is the source that is down, and nothing is said about
 * the rows. A single row leaves that open; so there the source is down if the load before, of another row, failed as well.
 *
 * A query that hangs may be the fault of the source, or of one row. So when it has taken an eighth of its time, and eight times as long as
 * usual, its rows are asked for a few at a time beside it: first one, then twice as many while that is answered, up to 16. What is loaded so
 * is loaded, and when all rows were tried, the first query is given up. If it is answered after all, it was only slow. Three
 * parts that hang, and none that is loaded, end the search: then it is the source. Rejected: to give the batch half of the
 * time and its parts the rest, as that would fail queries that are only slow.
 *
 * If nothing of a batch is loaded in its time, both is said: the source is to be tried, unless it has answered another query meanwhile, and
 * each of the rows failed. Rows that failed are claimed apart from others, first a few together and then alone, so that the one which
 * hangs holds up nobody else. Most of them are good, and a good row answers soon, so they have as long as a part above. A row that has not
 * answered by then, alone, is known to hang: it has all of the time from then on, and so is loaded after all if it was only slow.
 */
import { ArgumentTypeError } from '@mortise/redis';
import { LoadFailedError, LoadTimeoutError, RowTooLargeError } from '../errors.js';
import type { LoadRows } from '../options.js';
import type { Outcome } from './claims.js';
import type { RefreshedTable } from './refreshed-table.js';

export interface Loaded {
  /** Rows that are missing here were skipped. */
  readonly outcomes: Map<string, Outcome>;
  readonly isSourceDown: boolean;
  /** What has to be reported. */
  readonly errors: unknown[];
}

/** Rounds without a single row that end the search for rows that fail. */
const MAX_DEAD_ROUNDS = 3;
/** Queries that the search may cost. */
const MAX_QUERIES = 64;

/** Of the lease, what a loader has. */
const LOAD_PART = 0.9;
/** Of that, what a query has in which a row is searched for that hangs, but at least so many ms, and so many times what is usual. */
const SEARCH_PART = 1 / 8;
const MIN_SEARCH_MS = 250;
const USUAL_TIMES = 8;
/** Queries of which the usual time is about the mean. */
const USUAL_OF = 8;
/** The most rows that are asked for together beside a query that hangs. */
const MAX_SEARCHED = 16;
/** So many parts that fail, and none that is loaded, end that. */
const MAX_DEAD_PARTS = 3;
/** A row that fails alone after this part of the time of a search is one that hangs: it would take time from those that are searched for. */
const HUNG_PART = 1 / 4;

/** What a load has come to so far. */
interface Work {
  readonly loadedAt: string;
  readonly outcomes: Map<string, Outcome>;
  readonly errors: unknown[];
}

interface Failed {
  readonly ids: readonly string[];
  readonly error: unknown;
  readonly tookMs: number;
}

/** What is known of a batch beforehand. */
export interface Batch {
  readonly ids: readonly string[];
  /** The source was down: this finds out whether it is back. */
  readonly isProbe: boolean;
  /** The last load of each of these rows failed. That it fails again says nothing of the source. */
  readonly isRetry: boolean;
  /** It failed on its own, and that took long. */
  readonly isHung: boolean;
}

/** The loads of one table by one process. */
export class TableLoader {
  readonly #table: RefreshedTable;
  readonly #load: LoadRows<unknown>;
  /** The single row whose load failed last, if no load has succeeded since. */
  #suspect: string | undefined;
  /** When the latest query began that the source has answered, on the clock of `performance.now()`. */
  #answeredAt = -Infinity;
  /** How long a query takes that is answered, in ms. */
  #usualMs = 0;
  readonly #limitMs: number;

  /** Throws TypeError for a table without a loader. */
  constructor(table: RefreshedTable, leaseMs: number) {
    this.#limitMs = LOAD_PART * leaseMs;
    const { load } = table.options;
    if (!load)
      throw new ArgumentTypeError(`table "${table.keys.table}" has no load, which a refresher needs`);
    this.#table = table;
    this.#load = load;
  }

  /**
   * Never rejects. The loader's signal is aborted when its time is over.
   *
   * @param loadedAt Goes into the values: ms of the server's clock, 13 digits.
   * @param claimedAt When the rows were claimed, an instant of `performance.now()`.
   */
  async load(batch: Batch, loadedAt: string, claimedAt: number): Promise<Loaded> {
    const { ids } = batch;
    const deadlineAt = claimedAt + (isSearch(batch) ? this.#searchMs : this.#limitMs);
    const startedAt = performance.now();
    const outcomes = new Map<string, Outcome>();
    const errors: unknown[] = [];
    const name = this.#table.keys.table;
    const work = { loadedAt, outcomes, errors };
    let failed = isSearch(batch)
      ? await this.#attempt([ids], deadlineAt, work)
      : await this.#attemptWhole(ids, deadlineAt, work);
    let queries = 1;
    for (let round = 1; ; round += 1) {
      const parts = failed.flatMap(({ ids: part }) => halves(part));
      if (parts.length === 0 || (outcomes.size === 0 && round === MAX_DEAD_ROUNDS)) break;
      if (queries + parts.length > MAX_QUERIES || isOver(failed, deadlineAt)) break;
      const alone = failed.filter(({ ids: part }) => part.length === 1);
      queries += parts.length;
      failed = [...alone, ...(await this.#attempt(parts, deadlineAt, work))];
    }
    const hasHung = outcomes.size === 0 && isOver(failed, deadlineAt);
    const isAnswering = hasHung && this.#answeredAt > startedAt;
    const isSourceDown = outcomes.size === 0 && !isAnswering && this.#isDown(batch);
    if (outcomes.size > 0) this.#suspect = undefined;
    if (isSourceDown && ids.length > 1 && !hasHung && !batch.isRetry) {
      return { outcomes, isSourceDown, errors: [new LoadFailedError(name, ids, failed[0]?.error)] };
    }
    for (const { ids: part, error, tookMs } of failed) {
      const isHung = part.length === 1 && tookMs >= HUNG_PART * this.#searchMs;
      for (const id of part) outcomes.set(id, isHung ? 'hung' : 'failed');
      errors.push(new LoadFailedError(name, part, error));
    }
    return { outcomes, isSourceDown, errors };
  }

  get #searchMs(): number {
    const leastMs = Math.max(SEARCH_PART * this.#limitMs, MIN_SEARCH_MS, USUAL_TIMES * this.#usualMs);
    return Math.min(this.#limitMs, leastMs);
  }

  #isDown({ ids, isProbe, isRetry }: Batch): boolean {
    if (isRetry) return isProbe;
    if (ids.length > 1) return true;
    const [id] = ids;
    const isDown = this.#suspect !== undefined && this.#suspect !== id;
    this.#suspect = id;
    return isDown;
  }

  /** One query; and when it takes long, queries for parts of it, one after the other beside it. Returns what failed. */
  async #attemptWhole(ids: readonly string[], deadlineAt: number, work: Work): Promise<Failed[]> {
    const giveUp = new AbortController();
    const state = { isSettled: false };
    const whole = this.#query(ids, deadlineAt, work, giveUp.signal).finally(() => {
      state.isSettled = true;
    });
    if (ids.length > 1) await settledWithin(whole, this.#searchMs);
    const failed: Failed[] = [];
    const { outcomes } = work;
    let at = 0;
    let size = 1;
    while (ids.length > 1 && !state.isSettled && at < ids.length) {
      if (outcomes.size === 0 && failed.length === MAX_DEAD_PARTS) break;
      const part = ids.slice(at, at + size);
      const isDone = new AbortController();
      const query = this.#query(
        part,
        Math.min(deadlineAt, performance.now() + this.#searchMs),
        work,
        isDone.signal,
      );
      const failure = await Promise.race([query, whole]);
      if (state.isSettled) {
        isDone.abort(new Error('the query of the whole batch has ended'));
        break;
      }
      if (failure) failed.push(failure);
      at += part.length;
      size = failure ? 1 : Math.min(2 * size, MAX_SEARCHED);
    }
    if (at === ids.length && !state.isSettled) {
      giveUp.abort(new Error('each part of the batch was asked for'));
      await whole;
      return failed;
    }
    const failure = await whole;
    if (!failure) return [];
    if (outcomes.size === 0) return [failure];
    const rest = ids.slice(at);
    return rest.length > 0 ? [...failed, { ...failure, ids: rest }] : failed;
  }

  /** One query for each part, one after the other; returns those that failed. */
  async #attempt(parts: readonly (readonly string[])[], deadlineAt: number, work: Work): Promise<Failed[]> {
    const failed: Failed[] = [];
    for (const ids of parts) {
      const failure = await this.#query(ids, deadlineAt, work);
      if (failure) failed.push(failure);
    }
    return failed;
  }

  /** Notes what it loads, unless that was loaded before; never rejects. */
  async #query(
    ids: readonly string[],
    deadlineAt: number,
    { loadedAt, outcomes, errors }: Work,
    end?: AbortSignal,
  ): Promise<Failed | undefined> {
    const { keys } = this.#table;
    const startedAt = performance.now();
    let rows: ReadonlyMap<string, unknown>;
    try {
      // A loader may sort its ids, or take them away.
      rows = await within(keys.table, deadlineAt, (signal) => this.#load([...ids], signal), end);
      requireAskedFor(rows, ids);
    } catch (error) {
      return { ids, error, tookMs: performance.now() - startedAt };
    }
    this.#answeredAt = Math.max(this.#answeredAt, startedAt);
    this.#usualMs += (performance.now() - startedAt - this.#usualMs) / USUAL_OF;
    for (const id of ids) {
      if (outcomes.has(id)) continue;
      try {
        outcomes.set(id, this.#outcome(id, rows.get(id), loadedAt));
      } catch (error) {
        outcomes.set(id, 'failed');
        const isOurs = error instanceof RowTooLargeError;
        errors.push(isOurs ? error : new LoadFailedError(keys.table, [id], error));
      }
    }
    return undefined;
  }

  #outcome(id: string, row: unknown, loadedAt: string): Outcome {
    if (row === undefined || row === null) return 'gone';
    const { keys, options, codec } = this.#table;
    const encoded = codec.encode(row, loadedAt);
    const { bytes } = encoded;
    if (bytes > options.maxRowBytes) throw new RowTooLargeError(keys.table, id, bytes, options.maxRowBytes);
    return encoded;
  }
}

/** A source that is back has answered a single row before it is asked for several. */
function isSearch({ ids, isProbe, isRetry, isHung }: Batch): boolean {
  return (isRetry && !isHung) || (isProbe && ids.length > 1);
}

/** A timer may be a millisecond early. */
function isOver(failed: readonly Failed[], deadlineAt: number): boolean {
  return performance.now() >= deadlineAt || failed.some(({ error }) => error instanceof LoadTimeoutError);
}

/** Nothing for a single row: it is alone already. */
function halves(ids: readonly string[]): readonly (readonly string[])[] {
  if (ids.length === 1) return [];
  const half = Math.ceil(ids.length / 2);
  return [ids.slice(0, half), ids.slice(half)];
}

/** Resolves when the promise is settled, at the latest after so many ms. */
async function settledWithin(promise: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise, tooLong]);
  clearTimeout(timer);
}

async function within<Result>(
  table: string,
  deadlineAt: number,
  load: (signal: AbortSignal) => Promise<Result>,
  end?: AbortSignal,
): Promise<Result> {
  const controller = new AbortController();
  const limitMs = Math.max(0, Math.round(deadlineAt - performance.now()));
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    const stop = (error: unknown): void => {
      controller.abort(error);
      reject(error);
    };
    timer = setTimeout(() => stop(new LoadTimeoutError(table, limitMs)), limitMs);
    end?.addEventListener('abort', () => stop(end.reason), { once: true });
  });
  try {
    return await Promise.race([load(controller.signal), tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

/** A loader that answers with numbers for ids would otherwise look as if all its rows were gone. */
function requireAskedFor(
  rows: unknown,
  ids: readonly string[],
): asserts rows is ReadonlyMap<string, unknown> {
  if (!(rows instanceof Map)) throw new TypeError('load must return a Map of rows by id');
  const asked = new Set<unknown>(ids);
  for (const id of rows.keys()) {
    if (!asked.has(id))
      throw new TypeError(
        `load returned a row with the ${typeof id} id ${String(id)}, which it was not asked for`,
      );
  }
}
