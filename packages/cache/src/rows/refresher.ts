import { ArgumentTypeError, requireClient } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { resolveRefresherOptions } from '../options.js';
import type { RefresherOptions } from '../options.js';
import { CacheTelemetry } from '../telemetry/cache-telemetry.js';
import { MAX_RETRIES } from './max-queries.js';
import { tableOf } from './refreshed-table.js';
import type { RowCache } from './row-cache.js';
import { ShardRefresher } from './shard-refresher.js';
import type { RefreshCounts } from './shard-refresher.js';
import { Slots } from './slots.js';
import { TableLoader } from './table-loader.js';

/** Of the batches of rows whose last load failed, rows that are known to hang. The rest is for those that failed beside them. */
const MAX_HUNG = 2;

/** What a refresher has done since it was made. */
export type RefresherStats = Readonly<RefreshCounts>;

/**
 * Loads the due rows of tables, in this process beside any number of others: each due row is claimed by one of them,
 * under a lease that frees it when that one dies.
 */
export class Refresher {
  readonly #shards: readonly ShardRefresher[];
  readonly #counts: RefreshCounts = { batches: 0, rows: 0, unchanged: 0, refused: 0 };

  /**
   * Starts nothing. Throws TypeError or RangeError for options that are out of range, for a table that is named twice and for
   * one without `load`.
   */
  constructor(redis: RedisClient, rows: readonly RowCache[], options: RefresherOptions = {}) {
    requireClient(redis);
    const resolved = resolveRefresherOptions(options);
    const onError = options.onError ?? ((error) => console.error('mortise refresher:', error));
    const names = new Set<string>();
    const counts = this.#counts;
    this.#shards = rows.flatMap((cache) => {
      const table = tableOf(cache);
      const { shards } = table.keys;
      if (names.has(shards[0]!.due)) throw new ArgumentTypeError(`table "${cache.table}" is named twice`);
      names.add(shards[0]!.due);
      const telemetry = CacheTelemetry.for(options.telemetry, 'rows', cache.table);
      const work = {
        table,
        loader: new TableLoader(table, resolved.leaseMs),
        slots: new Slots(resolved.concurrency),
        retrySlots: new Slots(MAX_RETRIES),
        hungSlots: new Slots(MAX_HUNG),
        counts,
        telemetry,
      };
      return shards.map((keys) => new ShardRefresher(redis, work, keys, resolved, onError));
    });
  }

  /** Begins to claim, at once. Does nothing while it runs; may be started again after `stop`. */
  async start(): Promise<void> {
    for (const shard of this.#shards) shard.start();
  }

  /**
   * Claims nothing more and resolves when the batches at hand are loaded and stored, at the latest when their leases end.
   * Idempotent, legal before `start`.
   */
  async stop(): Promise<void> {
    await Promise.all(this.#shards.map((shard) => shard.stop()));
  }

  /** Counts of this object. Sends nothing. */
  stats(): RefresherStats {
    return { ...this.#counts };
  }
}
