/** A way to cache what is loaded on demand, for several processes: a library as its README recommends, or commands. */
export interface CacheKind {
  readonly name: string;
  readonly version: string;
  /** Makes this process a user of the cache. It lives as long as that. */
  connect(url: string, life: Life): Promise<CacheClient>;
}

/** Whole seconds in ms, which is all that some of them can do. */
export interface Life {
  readonly ttlMs: number;
  /** How long after that a value may be served while it is loaded again, where a kind knows such a thing. */
  readonly staleMs: number;
  /** Without the jitter of a kind that has one. */
  readonly isExact?: boolean;
}

export type Load = () => Promise<Cached>;

export interface CacheClient {
  getOrLoad(key: string, load: Load): Promise<Cached | null | undefined>;
  /** The value in the cache. */
  get(key: string): Promise<Cached | null | undefined>;
  set(key: string, value: Cached): Promise<unknown>;
  /** The value in the process, without a command. */
  peek?(key: string): Cached | null | undefined;
}

/** A value of the benchmarks: 227 bytes as JSON. */
export interface Cached {
  readonly id: string;
  /** When it was loaded, or which one it is. */
  readonly at: number;
  readonly text: string;
}

export function cached(id: string, at: number): Cached {
  return { id, at, text: 'What is to be said of this item of the inventory'.padEnd(180, '.') };
}

/** Entries that fit into the process, where a kind has such a tier. */
export const NEAR_ENTRIES = 10_000;
