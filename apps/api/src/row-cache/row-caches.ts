import type { RowCacheStats } from '@mortise/cache/rows';
import { RowCache } from '@mortise/cache/rows';
import type { RedisClient } from '@mortise/redis';
import { Sampled } from '@mortise/redis';

import { Problem } from '../problems/problem.js';

const EVERY_MS = 2_000;

export type TableStats = RowCacheStats & { readonly table: string };

/** The cached tables. The API schedules and reads rows, the worker loads them. */
export class RowCaches {
  readonly #tables: ReadonlyMap<string, RowCache>;
  readonly #sampled = new Sampled<readonly TableStats[]>(() => this.stats(), EVERY_MS, isSame);

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
  async stats(): Promise<TableStats[]> {
    return Promise.all([...this.#tables].map(async ([table, rows]) => ({ table, ...(await rows.stats()) })));
  }

  /** The statistics of now, and each change until the signal: read every two seconds, once for all followers. */
  follow(signal: AbortSignal): AsyncIterable<readonly TableStats[]> {
    return this.#sampled.follow(signal);
  }
}

function isSame(a: readonly TableStats[], b: readonly TableStats[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
