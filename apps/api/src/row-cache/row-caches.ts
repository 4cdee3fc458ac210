import type { RowCacheStats } from '@mortise/cache/rows';
import { RowCache } from '@mortise/cache/rows';
import type { RedisClient } from '@mortise/redis';

import { Problem } from '../problems/problem.js';

/** The cached tables. The API schedules and reads rows, the worker loads them. */
export class RowCaches {
  readonly #tables: ReadonlyMap<string, RowCache>;

  constructor(redis: RedisClient, names: readonly string[], prefix: string) {
    this.#tables = new Map(names.map((name) => [name, new RowCache(redis, name, { prefix })]));
  }

  /** Throws the problem `unknown-table`. */
  of(name: string): RowCache {
    const rows = this.#tables.get(name);
    if (!rows) throw new Problem('unknown-table', `no table "${name}" is cached`, { table: name });
    return rows;
  }

  /** The statistics of each table, in the order of the settings. */
  async stats(): Promise<(RowCacheStats & { readonly table: string })[]> {
    return Promise.all([...this.#tables].map(async ([table, rows]) => ({ table, ...(await rows.stats()) })));
  }
}
