/** Between what a program has and what is stored: codec, compression, limits, tags and lives. */
import { CacheValueError, CacheValueTooLargeError } from '../errors.js';
import { compress, decompress, jsonCodec } from './codec.js';
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

/** Of its own: a value that has its bytes would keep all that came from Redis with them. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

export class Values<Value> {
  readonly #cache: string;
  readonly #options: ResolvedCacheOptions<Value>;

  constructor(cache: string, options: ResolvedCacheOptions<Value>) {
    this.#cache = cache;
    this.#options = options;
  }

  /** Throws CacheValueError or CacheValueTooLargeError. `keepMs` is 0 for a value that isn't to be stored. */
  toRequest(value: Value | null | undefined, storing: Storing<Value>): StoreRequest {
    const { version, jitter, negativeTtlMs, compressFromBytes } = this.#options;
    const { key, token, ownTags, loadMs } = storing;
    const isNull = value === null || value === undefined;
    const fullTtlMs = isNull ? Math.min(negativeTtlMs, storing.life.ttlMs) : storing.life.ttlMs;
    const ttlMs = Math.ceil(fullTtlMs * (1 - jitter * Math.random()));
    const staleMs = isNull ? 0 : storing.life.staleMs;
    let tags: readonly string[];
    try {
      const given = typeof storing.tags === 'function' ? storing.tags(value ?? null) : storing.tags;
      tags = given === undefined ? ownTags : [...requireTags(given), ...ownTags];
    } catch (error) {
      throw new CacheValueError(this.#cache, key, error);
    }
    let payload = isNull ? NOTHING : this.encode(key, value);
    const isCompressed = !isNull && payload.length >= compressFromBytes;
    if (isCompressed) payload = compress(payload);
    const body = encodeEntry({ isNull, isCompressed, ttlMs, staleMs, loadMs, tags, payload }, version);
    return { key, token, keepMs: ttlMs + staleMs, restMs: 0, body, tags };
  }

  /** Before it is compressed. Throws CacheValueError or CacheValueTooLargeError. */
  encode(key: string, value: Value): Buffer {
    const { codec, maxValueBytes } = this.#options;
    let bytes: Buffer;
    try {
      bytes = Buffer.from(codec.encode(value));
    } catch (error) {
      throw new CacheValueError(this.#cache, key, error);
    }
    if (bytes.length <= maxValueBytes) return bytes;
    throw new CacheValueTooLargeError(this.#cache, key, bytes.length, maxValueBytes);
  }

  /** The value, and its bytes as encoded. Throws CacheValueError. @param isKept The process may keep it for long. */
  fromEntry(
    key: string,
    { isNull, isCompressed, payload }: Entry,
    isKept: boolean,
  ): { value: Value | null; bytes: number } {
    if (isNull) return { value: null, bytes: 0 };
    const { codec, maxValueBytes } = this.#options;
    try {
      let bytes = payload;
      if (isCompressed) bytes = decompress(payload, maxValueBytes);
      else if (isKept && codec !== jsonCodec) bytes = copyOf(payload);
      const value = codec.decode(bytes);
      // It would read as if there were none.
      if (value === null || value === undefined)
        throw new TypeError(`the codec decodes it as ${String(value)}`);
      return { value, bytes: bytes.length };
    } catch (error) {
      throw new CacheValueError(this.#cache, key, error, 'read');
    }
  }
}
