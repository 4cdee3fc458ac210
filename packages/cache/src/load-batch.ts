/** Runs a table's loader for a batch and turns whatever happens into an outcome for each row. */
import type { Outcome } from './claims.js';
import { LoadFailedError, LoadTimeoutError, RowTooLargeError } from './errors.js';
import type { RefreshedTable } from './refreshed-table.js';
import { encodeRow } from './row-codec.js';

export interface Loaded {
  /** Rows that are missing here failed. */
  readonly outcomes: Map<string, Outcome>;
  /** What has to be reported. */
  readonly errors: unknown[];
}

/** Never rejects. The loader's signal is aborted at the deadline, an instant of `performance.now()`. */
export async function loadBatch(
  table: RefreshedTable,
  ids: readonly string[],
  deadlineAt: number,
): Promise<Loaded> {
  const outcomes = new Map<string, Outcome>();
  const name = table.keys.table;
  try {
    const rows = await within(name, deadlineAt, (signal) => table.options.load(ids, signal));
    requireAskedFor(rows, ids);
    const errors: unknown[] = [];
    for (const id of ids) {
      try {
        outcomes.set(id, toOutcome(table, id, rows.get(id)));
      } catch (error) {
        errors.push(error instanceof RowTooLargeError ? error : new LoadFailedError(name, [id], error));
      }
    }
    return { outcomes, errors };
  } catch (error) {
    return { outcomes, errors: [new LoadFailedError(name, ids, error)] };
  }
}

async function within<Result>(
  table: string,
  deadlineAt: number,
  load: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const limitMs = Math.round(deadlineAt - performance.now());
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

function toOutcome({ keys, options }: RefreshedTable, id: string, row: unknown): Outcome {
  if (row === undefined || row === null) return 'gone';
  const value = encodeRow(row);
  const bytes = Buffer.byteLength(value);
  if (bytes > options.maxRowBytes) throw new RowTooLargeError(keys.table, id, bytes, options.maxRowBytes);
  return { value };
}
