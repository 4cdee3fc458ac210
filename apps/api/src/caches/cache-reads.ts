/** How often requests to this process found an entry in a cache, by tenant and cache. Programs with the package count their own. */
import { Injectable } from '@nestjs/common';

import { currentTenant } from '../tenants/tenancy.js';

export interface ReadCounts {
  readonly hits: number;
  readonly misses: number;
}

/** The caches that were read last. */
const MAX_CACHES = 1_000;
const NONE: ReadCounts = { hits: 0, misses: 0 };

@Injectable()
export class CacheReads {
  /** In the order of their last reads. */
  readonly #counts = new Map<string, ReadCounts>();

  count(cache: string, isHit: boolean): void {
    const id = idOf(cache);
    const { hits, misses } = this.#counts.get(id) ?? NONE;
    this.#counts.delete(id);
    this.#counts.set(id, isHit ? { hits: hits + 1, misses } : { hits, misses: misses + 1 });
    if (this.#counts.size > MAX_CACHES) this.#counts.delete(this.#counts.keys().next().value!);
  }

  of(cache: string): ReadCounts {
    return this.#counts.get(idOf(cache)) ?? NONE;
  }
}

function idOf(cache: string): string {
  return `${currentTenant()}\n${cache}`;
}
