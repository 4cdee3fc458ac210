/** Between what a program has and what is stored: codec, compression, limits, tags and lives. */
import { CacheValueError, CacheValueTooLargeError } from '../errors.js';
import { compress, decompress } from './codec.js';
import { encodeEntry } from './envelope.js';
import type { Entry } from './envelope.js';
import { requireTags } from './options.js';
import type { EntryOptions, Life, ResolvedCacheOptions } from './options.js';
import type { StoreRequest } from './shard.js';

/** What a value is stored with. */
export interface Storing<Value> {
  readonly key: string;
  readonly token: string;
  readonly life: Life;
  readonly tags: EntryOptions<Value>['tags'];
  /** Tags that the entry has anyway. */
  readonly ownTags: readonly string[];
  readonly loadMs: number;
}

const NOTHING = Buffer.alloc(0);

export class Values<Value> {
  readonly #cache: string;
  readonly #options: ResolvedCacheOptions<Value>;

  constructor(cache: string, options: ResolvedCacheOptions<Value>) {
    this.#cache = cache;
    this.#options = options;
  }

  /** Throws CacheValueError or CacheValueTooLargeError. `keepMs` is 0 for a value that isn't to be stored. */
  toRequest(value: Value | null | undefined, storing: Storing<Value>): StoreRequest {
    const { codec, version, jitter, negativeTtlMs, compressFromBytes } = this.#options;
    const { key, token, ownTags, loadMs } = storing;
    const isNull = value === null || value === undefined;
    const fullTtlMs = isNull ? Math.min(negativeTtlMs, storing.life.ttlMs) : storing.life.ttlMs;
    const ttlMs = Math.ceil(fullTtlMs * (1 - jitter * Math.random()));
    const staleMs = isNull ? 0 : storing.life.staleMs;
    let payload: Buffer = NOTHING;
    let tags: readonly string[];
    try {
      const given = typeof storing.tags === 'function' ? storing.tags(value ?? null) : storing.tags;
      tags = given === undefined ? ownTags : [...requireTags(given), ...ownTags];
      if (!isNull) payload = Buffer.from(codec.encode(value));
    } catch (error) {
      throw new CacheValueError(this.#cache, key, error);
    }
    const { maxValueBytes } = this.#options;
    if (payload.length > maxValueBytes)
      throw new CacheValueTooLargeError(this.#cache, key, payload.length, maxValueBytes);
    const isCompressed = !isNull && payload.length >= compressFromBytes;
    if (isCompressed) payload = compress(payload);
    const body = encodeEntry({ isNull, isCompressed, ttlMs, staleMs, loadMs, tags, payload }, version);
    return { key, token, keepMs: ttlMs + staleMs, restMs: 0, body, tags };
  }

  /** The value, and its bytes as encoded. Throws what the codec throws. */
  fromEntry({ isNull, isCompressed, payload }: Entry): { value: Value | null; bytes: number } {
    if (isNull) return { value: null, bytes: 0 };
    const bytes = isCompressed ? decompress(payload, this.#options.maxValueBytes) : payload;
    return { value: this.#options.codec.decode(bytes), bytes: bytes.length };
  }
}
