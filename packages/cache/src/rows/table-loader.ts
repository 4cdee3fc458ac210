/**
 * Runs a table's loader for a batch and turns whatever happens into an outcome for each row.
 *
 * A batch that fails is halved until the rows that fail are alone, so that one poisoned row doesn't hold up 249 others. If
 * nothing at all loads in the first three rounds (7 queries), it is the source that is down, and nothing is said about
 * the rows. A single row leaves that open; so there the source is down if the load before, of another row, failed as well.
 *
 * A query that hangs leaves no time for halves. It may be the source that hangs, or one row of it, so both is said: the source
 * is to be tried, unless it has answered another query meanwhile, and each of the rows failed. Rows that failed are
 * claimed apart from others, first a few together and then alone, so that the one which hangs holds up nobody else. Rejected: to
 * give the batch half of the time and its halves the rest, as that would fail queries that are only slow.
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

interface Failed {
  readonly ids: readonly string[];
  readonly error: unknown;
}

/** What is known of a batch beforehand. */
export interface Batch {
  readonly ids: readonly string[];
  /** The source was down: this finds out whether it is back. */
  readonly isProbe: boolean;
  /** The last load of each of these rows failed. That it fails again says nothing of the source. */
  readonly isRetry: boolean;
}

/** The loads of one table by one process. */
export class TableLoader {
  readonly #table: RefreshedTable;
  readonly #load: LoadRows<unknown>;
  /** The single row whose load failed last, if no load has succeeded since. */
  #suspect: string | undefined;
  /** When the latest query began that the source has answered, on the clock of `performance.now()`. */
  #answeredAt = -Infinity;

  /** Throws TypeError for a table without a loader. */
  constructor(table: RefreshedTable) {
    const { load } = table.options;
    if (!load)
      throw new ArgumentTypeError(`table "${table.keys.table}" has no load, which a refresher needs`);
    this.#table = table;
    this.#load = load;
  }

  /**
   * Never rejects. The loader's signal is aborted at the deadline, an instant of `performance.now()`.
   *
   * @param loadedAt Goes into the values: ms of the server's clock, 13 digits.
   */
  async load(batch: Batch, loadedAt: string, deadlineAt: number): Promise<Loaded> {
    const { ids } = batch;
    const startedAt = performance.now();
    const outcomes = new Map<string, Outcome>();
    const errors: unknown[] = [];
    const name = this.#table.keys.table;
    let failed = await this.#attempt([ids], loadedAt, deadlineAt, outcomes, errors);
    let queries = 1;
    for (let round = 1; ; round += 1) {
      const parts = failed.flatMap(({ ids: part }) => halves(part));
      if (parts.length === 0 || (outcomes.size === 0 && round === MAX_DEAD_ROUNDS)) break;
      if (queries + parts.length > MAX_QUERIES || isOver(failed, deadlineAt)) break;
      const alone = failed.filter(({ ids: part }) => part.length === 1);
      queries += parts.length;
      failed = [...alone, ...(await this.#attempt(parts, loadedAt, deadlineAt, outcomes, errors))];
    }
    const hasHung = outcomes.size === 0 && isOver(failed, deadlineAt);
    const isAnswering = hasHung && this.#answeredAt > startedAt;
    const isSourceDown = outcomes.size === 0 && !isAnswering && this.#isDown(batch);
    if (outcomes.size > 0) this.#suspect = undefined;
    if (isSourceDown && ids.length > 1 && !hasHung && !batch.isRetry) {
      return { outcomes, isSourceDown, errors: [new LoadFailedError(name, ids, failed[0]?.error)] };
    }
    for (const { ids: part, error } of failed) {
      for (const id of part) outcomes.set(id, 'failed');
      errors.push(new LoadFailedError(name, part, error));
    }
    return { outcomes, isSourceDown, errors };
  }

  #isDown({ ids, isProbe, isRetry }: Batch): boolean {
    if (isRetry) return isProbe;
    if (ids.length > 1) return true;
    const [id] = ids;
    const isDown = this.#suspect !== undefined && this.#suspect !== id;
    this.#suspect = id;
    return isDown;
  }

  /** One query for each part, one after the other; returns those that failed. */
  async #attempt(
    parts: readonly (readonly string[])[],
    loadedAt: string,
    deadlineAt: number,
    outcomes: Map<string, Outcome>,
    errors: unknown[],
  ): Promise<Failed[]> {
    const failed: Failed[] = [];
    const { keys } = this.#table;
    for (const ids of parts) {
      const startedAt = performance.now();
      try {
        // A loader may sort its ids, or take them away.
        const rows = await within(keys.table, deadlineAt, (signal) => this.#load([...ids], signal));
        requireAskedFor(rows, ids);
        this.#answeredAt = Math.max(this.#answeredAt, startedAt);
        for (const id of ids) {
          try {
            outcomes.set(id, this.#outcome(id, rows.get(id), loadedAt));
          } catch (error) {
            outcomes.set(id, 'failed');
            const isOurs = error instanceof RowTooLargeError;
            errors.push(isOurs ? error : new LoadFailedError(keys.table, [id], error));
          }
        }
      } catch (error) {
        failed.push({ ids, error });
      }
    }
    return failed;
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

async function within<Result>(
  table: string,
  deadlineAt: number,
  load: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const limitMs = Math.max(0, Math.round(deadlineAt - performance.now()));
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new LoadTimeoutError(table, limitMs);
      controller.abort(error);
      reject(error);
    }, limitMs);
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
