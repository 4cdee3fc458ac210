/** The two transitions of a row that refreshers make: from due to leased, and from leased to due again, or out. */
import { decodeName, encodeName } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import type { RefreshOptions } from './options.js';
import type { RefreshedTable } from './refreshed-table.js';
import { refresherClaim, refresherCommit } from './scripts.gen.js';

/** Rows under one lease. */
export interface Claim {
  readonly lease: string;
  readonly rows: readonly { readonly id: string; readonly dueAt: string }[];
  /** When a further row of the table is due, in ms from now; Infinity: never. */
  readonly nextInMs: number;
}

/** What became of a row: its encoded value, or gone, or failed to load. */
export type Outcome = { readonly value: string } | 'gone' | 'failed';

/** What the script knows them by; a value never begins with these. */
const CODES = { gone: '-', failed: '!' };
/** Bytes of values in one commit: bounds how long it holds the server. */
const MAX_COMMIT_BYTES = 1_048_576;

export class Claims {
  readonly #redis: RedisClient;
  readonly #table: RefreshedTable;
  readonly #options: RefreshOptions;

  constructor(redis: RedisClient, table: RefreshedTable, options: RefreshOptions) {
    this.#redis = redis;
    this.#table = table;
    this.#options = options;
  }

  /** Takes up to `batch` rows that are due. One round trip, O(log n + rows). */
  async claim(): Promise<Claim> {
    const { due, every, lease: leaseKey } = this.#table.keys;
    const { batch, leaseMs } = this.#options;
    const args = { limit: batch, leaseMs, idleMs: this.#table.options.idleMs };
    const reply = await refresherClaim.run(this.#redis, { due, every, lease: leaseKey }, args);
    const [lease, nextInMs, ...entries] = reply as [string, number, ...string[]];
    const rows = [];
    for (let index = 0; index < entries.length; index += 2) {
      rows.push({ id: decodeName(entries[index] as string), dueAt: entries[index + 1] as string });
    }
    return { lease, rows, nextInMs: nextInMs < 0 ? Infinity : nextInMs };
  }

  /**
   * Stores outcomes where the lease still holds. Returns when a row of the table is due next, in ms. One round trip for
   * each MiB of values.
   */
  async commit({ lease, rows }: Claim, outcomes: ReadonlyMap<string, Outcome>): Promise<number> {
    let nextInMs = Infinity;
    let part: { id: string; args: string[] }[] = [];
    let bytes = 0;
    for (const [index, { id, dueAt }] of rows.entries()) {
      const outcome = outcomes.get(id) ?? 'failed';
      const code = typeof outcome === 'string' ? CODES[outcome] : outcome.value;
      part.push({ id, args: [encodeName(id), dueAt, code] });
      bytes += code.length;
      if (bytes < MAX_COMMIT_BYTES && index < rows.length - 1) continue;
      nextInMs = await this.#send(lease, part);
      part = [];
      bytes = 0;
    }
    return nextInMs;
  }

  async #send(lease: string, part: readonly { id: string; args: string[] }[]): Promise<number> {
    const { keys, options } = this.#table;
    const { due, every, failures } = keys;
    const { minBackoffMs, maxBackoffMs } = this.#options;
    const reply = await refresherCommit.run(
      this.#redis,
      { due, every, failures, rows: part.map(({ id }) => keys.row(id)) },
      {
        lease,
        idleMs: options.idleMs,
        minBackoffMs,
        maxBackoffMs,
        jitter: options.jitter,
        phase: Math.random(),
        outcomes: part.flatMap(({ args }) => args),
      },
    );
    const [nextInMs = -1] = reply as number[];
    return nextInMs < 0 ? Infinity : nextInMs;
  }
}
