/** Reads entries, from Redis, and says what they are worth. */
import type { NearTier, ReadMark } from '../near/near-tier.js';
import { decodeEntry } from './envelope.js';
import type { Entry } from './envelope.js';
import { earlyFrom } from './freshness.js';
import type { ResolvedCacheOptions } from './options.js';
import type { Shard } from './shard.js';
import type { Values } from './values.js';

/** What was read. */
export interface ReadResult<Value> {
  /** The first bytes of what lies there, if anything does: whoever loads says that this was not good enough. */
  readonly seen: Buffer | undefined;
  readonly found: Found<Value> | undefined;
}

/** A value that may be served. */
export interface Found<Value> {
  readonly value: Value | null;
  readonly isFresh: boolean;
  /** On the server's clock: until when it is fresh, and from when on it may be loaded early. */
  readonly freshForMs: number;
  readonly isNearEnd: boolean;
  readonly loadMs: number;
}

const SEEN_BYTES = 8;

export class Reader<Value> {
  readonly #values: Values<Value>;
  readonly #options: ResolvedCacheOptions<Value>;
  readonly #near: NearTier<Value | null> | undefined;

  constructor(
    values: Values<Value>,
    options: ResolvedCacheOptions<Value>,
    near: NearTier<Value | null> | undefined,
  ) {
    this.#values = values;
    this.#options = options;
    this.#near = near;
  }

  /**
   * One round trip, shared with other reads of the tick; one more for an entry with tags that are not among those expected.
   * Rejects with CacheUnavailableError.
   */
  async read(shard: Shard, key: string, expectedTags: readonly string[]): Promise<ReadResult<Value>> {
    const redisKeys = [shard.keys.value(key), ...expectedTags.map((tag) => shard.keys.tag(tag))];
    const mark = this.#near?.mark(redisKeys);
    try {
      if (!shard.clock.isKnown) await shard.sync();
      const [bytes, ...versions] = await shard.read(redisKeys);
      // Behind the read: it opens no connection that isn't open.
      if (shard.clock.isDue) shard.sync().catch(() => undefined);
      const known = new Map(expectedTags.map((tag, index) => [tag, versions[index] ?? null]));
      return await this.check(shard, key, bytes ?? null, known, mark);
    } finally {
      this.#near?.unmark(mark);
    }
  }

  /** Judges bytes that were read. @param known Versions of tags that were read with or after them. */
  async check(
    shard: Shard,
    key: string,
    bytes: Buffer | null,
    known: ReadonlyMap<string, Buffer | null>,
    mark?: ReadMark,
  ): Promise<ReadResult<Value>> {
    if (bytes === null) return { seen: undefined, found: undefined };
    const seen = bytes.subarray(0, SEEN_BYTES);
    const entry = decodeEntry(bytes, this.#options.version);
    if (!entry) return { seen, found: undefined };
    if (!(await this.#hasValidTags(shard, entry, known, mark))) return { seen, found: undefined };
    const leftMs = entry.storedAt + entry.ttlMs - shard.clock.now();
    if (leftMs + entry.staleMs <= 0) return { seen, found: undefined };
    let decoded: ReturnType<Values<Value>['fromEntry']>;
    try {
      decoded = this.#values.fromEntry(entry);
    } catch (error) {
      // What nobody can read is loaded anew.
      this.#options.onError(error);
      return { seen, found: undefined };
    }
    const { value } = decoded;
    const early = earlyFrom(entry, this.#options.earlyRefresh);
    if (leftMs > 0) {
      this.#near?.keep(mark, key, {
        value,
        bytes: decoded.bytes,
        tags: entry.tags,
        seen: Buffer.from(seen),
        freshUntil: shard.clock.local(entry.storedAt + entry.ttlMs),
        earlyFrom: shard.clock.local(early),
        loadMs: entry.loadMs,
        isRead: false,
      });
    }
    const found = {
      value,
      isFresh: leftMs > 0,
      freshForMs: leftMs,
      isNearEnd: shard.clock.now() >= early,
      loadMs: entry.loadMs,
    };
    return { seen, found };
  }

  /** A tag that has no version any more counts as invalidated: it may have been, and was evicted then. */
  async #hasValidTags(
    shard: Shard,
    { tags, token }: Entry,
    known: ReadonlyMap<string, Buffer | null>,
    mark: ReadMark | undefined,
  ): Promise<boolean> {
    if (tags.length === 0) return true;
    const missing = tags.filter((tag) => !known.has(tag));
    const redisKeys = missing.map((tag) => shard.keys.tag(tag));
    for (const redisKey of redisKeys) mark?.redisKeys.add(redisKey);
    const read = missing.length === 0 ? [] : await shard.read(redisKeys);
    return tags.every((tag) => {
      const version = known.get(tag) ?? read[missing.indexOf(tag)];
      return version !== null && version !== undefined && Number(version.toString()) <= token;
    });
  }
}
