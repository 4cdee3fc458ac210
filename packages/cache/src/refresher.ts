import { requireClient } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { resolveRefresherOptions } from './options.js';
import type { RefresherOptions } from './options.js';
import { tableOf } from './refreshed-table.js';
import type { RowCache } from './row-cache.js';
import { TableRefresher } from './table-refresher.js';

/**
 * Loads the due rows of tables, in this process beside any number of others: each due row is claimed by one of them,
 * under a lease that frees it when that one dies.
 */
export class Refresher {
  readonly #tables: readonly TableRefresher[];

  /**
   * Starts nothing. Throws TypeError or RangeError for options that are out of range and for a table that is named
   * twice.
   */
  constructor(redis: RedisClient, rows: readonly RowCache[], options: RefresherOptions = {}) {
    requireClient(redis);
    const resolved = resolveRefresherOptions(options);
    const onError = options.onError ?? ((error) => console.error('mortise refresher:', error));
    const dueKeys = new Set<string>();
    this.#tables = rows.map((cache) => {
      const table = tableOf(cache);
      if (dueKeys.has(table.keys.due)) throw new TypeError(`table "${cache.table}" is named twice`);
      dueKeys.add(table.keys.due);
      return new TableRefresher(redis, table, resolved, onError);
    });
  }

  /** Begins to claim, at once. Does nothing while it runs; may be started again after `stop`. */
  async start(): Promise<void> {
    for (const table of this.#tables) table.start();
  }

  /**
   * Claims nothing more and resolves when the batches at hand are loaded and stored, at the latest when their leases end.
   * Idempotent, legal before `start`.
   */
  async stop(): Promise<void> {
    await Promise.all(this.#tables.map((table) => table.stop()));
  }
}
