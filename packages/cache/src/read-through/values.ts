/** Converts values to stored entries and back: codec, compression, limits, tags and lifetimes. */
import { CacheValueError } from '../errors.js';
import { compress, decompress, jsonCodec } from '../codec.js';
import { encodeEntry } from './envelope.js';
import type { Entry } from './envelope.js';
import { requireTags, resolveLoaded } from './options.js';
import type { EntryOptions, Lifetime, LoadedEntry, ResolvedCacheOptions } from './options.js';
import type { StoreRequest } from './entry-store.js';

/** Options for storing a value. */
export interface StoreOptions<Value> {
  readonly key: string;
  readonly token: string;
  readonly life: Lifetime;
  readonly tags: EntryOptions<Value>['tags'];
  /** The tags of the namespace. */
  readonly ownTags: readonly string[];
  readonly loadMs: number;
  /** The choices of the loader. */
  readonly entry?: LoadedEntry | undefined;
}

const NOTHING = Buffer.alloc(0);

/** A separate copy: a slice would keep the whole reply of Redis in memory. */
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

  /** Throws CacheValueError, and ERR_INVALID_ARG for wrong tags. `keepMs` is 0 for a value that is not to be stored. */
  toRequest(value: Value | null | undefined, storing: StoreOptions<Value>): StoreRequest {
    const { version, jitter, negativeTtlMs, compressFromBytes } = this.#options;
    const { key, token, ownTags, loadMs, entry } = storing;
    const isNull = value === null || value === undefined;
    let { life } = storing;
    const { tags: wanted } = storing;
    const fixed = wanted === undefined || typeof wanted === 'function' ? undefined : requireTags(wanted);
    let tags: readonly string[];
    try {
      if (entry) life = resolveLoaded(entry, life);
      const given = entry?.tags ?? (typeof wanted === 'function' ? wanted(value ?? null) : fixed);
      tags = given === undefined ? ownTags : [...requireTags(given), ...ownTags];
    } catch (error) {
      throw new CacheValueError('ERR_CACHE_VALUE', this.#cache, key, error);
    }
    const isNegative = isNull && entry?.ttlMs === undefined;
    const fullTtlMs = isNegative ? Math.min(negativeTtlMs, life.ttlMs) : life.ttlMs;
    if (fullTtlMs === 0) return { key, token, keepMs: 0, pauseMs: 0, body: NOTHING, tags: [] };
    const ttlMs = Math.ceil(fullTtlMs * (1 - jitter * Math.random()));
    const staleMs = isNull ? 0 : life.staleMs;
    let payload = isNull ? NOTHING : this.encode(key, value);
    const isCompressed = !isNull && payload.length >= compressFromBytes;
    if (isCompressed) payload = compress(payload);
    const body = encodeEntry({ isNull, isCompressed, ttlMs, staleMs, loadMs, tags, payload }, version);
    return { key, token, keepMs: ttlMs + staleMs, pauseMs: 0, body, tags };
  }

  /** Encodes without compression. Throws CacheValueError. */
  encode(key: string, value: Value): Buffer {
    const { codec, maxPayloadBytes } = this.#options;
    let bytes: Buffer;
    try {
      bytes = Buffer.from(codec.encode(value));
    } catch (error) {
      throw new CacheValueError('ERR_CACHE_VALUE', this.#cache, key, error);
    }
    if (bytes.length <= maxPayloadBytes) return bytes;
    const problem = `${bytes.length} bytes, the limit is ${maxPayloadBytes}`;
    throw new CacheValueError('ERR_CACHE_VALUE_TOO_LARGE', this.#cache, key, problem);
  }

  /** Returns the value and its encoded size. Throws CacheValueError. @param isKept Whether the process may keep it for long. */
  fromEntry(
    key: string,
    { isNull, isCompressed, payload }: Entry,
    isKept: boolean,
  ): { value: Value | null; bytes: number } {
    if (isNull) return { value: null, bytes: 0 };
    const { codec, maxPayloadBytes } = this.#options;
    try {
      let bytes = payload;
      if (isCompressed) bytes = decompress(payload, maxPayloadBytes);
      else if (isKept && codec !== jsonCodec) bytes = copyOf(payload);
      const value = codec.decode(bytes);
      // Null would read like a known absence.
      if (value === null || value === undefined)
        throw new TypeError(`the codec decodes it as ${String(value)}`);
      return { value, bytes: bytes.length };
    } catch (error) {
      throw new CacheValueError('ERR_CACHE_VALUE', this.#cache, key, error, 'read');
    }
  }
}
