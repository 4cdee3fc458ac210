import { ArgumentTypeError, ErrorReporter, requireArray, requireClient } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { CacheTelemetry } from '../telemetry/cache-telemetry.js';
import { MAX_FAILED_BATCHES } from './max-queries.js';
import { resolveRefresherOptions } from './options.js';
import type { RefresherOptions } from './options.js';
import { tableOf } from './refreshed-table.js';
import type { RowCache } from './row-cache.js';
import { ShardRefresher } from './shard-refresher.js';
import type { RefreshCounts } from './shard-refresher.js';
import { Slots } from './slots.js';
import { TableLoader } from './table-loader.js';

/** Counters of a refresher. */
export type RefresherStats = Readonly<RefreshCounts>;

/**
 * Loads the due rows of tables. Any number of refreshers may run, in any process. One of them leases each due row, and the
 * end of the lease frees the row of a dead refresher.
 */
export class Refresher {
  readonly #shards: readonly ShardRefresher[];
  readonly #counts: RefreshCounts = { batches: 0, rows: 0, unchanged: 0, refused: 0 };

  /** Starts nothing. Throws TypeError or RangeError for invalid options, a duplicate table, and a table without `load`. */
  constructor(redis: RedisClient, rows: readonly RowCache[], options: RefresherOptions = {}) {
    requireClient(redis);
    const resolved = resolveRefresherOptions(options);
    const reporter = new ErrorReporter('mortise refresher', options.onError, redis);
    const names = new Set<string>();
    const counts = this.#counts;
    this.#shards = requireArray('rows', rows).flatMap((cache) => {
      const table = tableOf(cache);
      const { shards } = table.keys;
      if (names.has(shards[0]!.due)) throw new ArgumentTypeError(`table "${cache.table}" is named twice`);
      names.add(shards[0]!.due);
      const telemetry = CacheTelemetry.for(options.telemetry, 'rows', cache.table);
      const work = {
        table,
        loader: new TableLoader(table, resolved.leaseMs),
        slots: new Slots(resolved.concurrency),
        failedSlots: new Slots(MAX_FAILED_BATCHES),
        counts,
        telemetry,
      };
      return shards.map((keys) => new ShardRefresher(redis, work, keys, resolved, reporter));
    });
  }

  /** Starts to lease rows at once. Does nothing while the refresher runs. A stopped refresher may be started again. */
  async start(): Promise<void> {
    for (const shard of this.#shards) shard.start();
  }

  /**
   * Leases nothing more and resolves when the leased batches are loaded and stored, or when their leases end.
   * Idempotent, legal before `start`.
   */
  async stop(): Promise<void> {
    await Promise.all(this.#shards.map((shard) => shard.stop()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Counters of this object. Sends nothing. */
  stats(): RefresherStats {
    return { ...this.#counts };
  }
}
