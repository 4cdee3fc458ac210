/** Reads entries from Redis and decides whether they can be served. */
import { failureOf } from '../failure-of.js';
import type { NearTier, ReadMark } from '../near/near-tier.js';
import { decodeEntry } from './envelope.js';
import type { Entry } from './envelope.js';
import { drawFor, dueFrom } from './freshness.js';
import type { ResolvedCacheOptions } from './options.js';
import type { EntryStore } from './entry-store.js';
import type { Values } from './values.js';

/** The result of a read. */
export interface ReadResult<Value> {
  /** The stored bytes, if any; a later lease request says that these were not usable. */
  readonly seen: Buffer | undefined;
  readonly found: Found<Value> | undefined;
  /** Whether Redis was not used or did not answer. */
  readonly isUnavailable?: boolean;
}

/** A value that may be served. */
interface Found<Value> {
  readonly value: Value | null;
  readonly isFresh: boolean;
  /** Whether the value is to be refreshed. */
  readonly isDue: boolean;
}

/** Receives the lease and the versions of the expected tags at the moment of the read. */
export type OnLease = (lease: Buffer | null, versions: readonly (Buffer | null)[]) => void;

const SEEN_BYTES = 8;
/** Clock differences below this are normal. */
const SKEW_MS = 1_000;
const NONE: ReadonlyMap<string, null> = new Map();
const NOTHING = { seen: undefined, found: undefined };

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
   * One round trip, shared with other reads of the tick; one more for an entry with tags that were not expected.
   * Rejects with CacheUnavailableError.
   */
  read(
    shard: EntryStore,
    key: string,
    expectedTags: readonly string[],
    onLease?: OnLease,
  ): Promise<ReadResult<Value>> {
    if (!shard.clock.isKnown) return shard.sync().then(() => this.read(shard, key, expectedTags, onLease));
    const redisKeys = [shard.keys.value(key)];
    for (const tag of expectedTags) redisKeys.push(shard.keys.tag(tag));
    const mark = this.#near?.mark(redisKeys);
    if (onLease) redisKeys.push(shard.keys.lease(key));
    const reading = shard.read(redisKeys).then((replies) => {
      // After the read, so that this command opens no connection.
      if (shard.isClockDue) shard.sync().catch(() => undefined);
      const known =
        expectedTags.length === 0
          ? NONE
          : new Map(expectedTags.map((tag, index) => [tag, replies[index + 1] ?? null]));
      onLease?.(replies.at(-1) ?? null, replies.slice(1, -1));
      return this.check(shard, key, replies[0] ?? null, known, mark);
    });
    return mark ? reading.finally(() => this.#near?.unmark(mark)) : reading;
  }

  /**
   * Checks bytes that were read. Returns a promise only for an entry with tags. @param known Versions of tags read with the
   * bytes or later.
   */
  check(
    shard: EntryStore,
    key: string,
    bytes: Buffer | null,
    known: ReadonlyMap<string, Buffer | null>,
    mark?: ReadMark,
  ): ReadResult<Value> | Promise<ReadResult<Value>> {
    if (bytes === null) return NOTHING;
    const entry = decodeEntry(bytes, this.#options.version);
    if (!entry) return { seen: bytes, found: undefined };
    if (entry.tags.length === 0) return this.#judge(shard, key, bytes, entry, mark);
    return this.#hasValidTags(shard, entry, known, mark).then((isValid) =>
      isValid ? this.#judge(shard, key, bytes, entry, mark) : { seen: bytes, found: undefined },
    );
  }

  #judge(
    { clock }: EntryStore,
    key: string,
    seen: Buffer,
    entry: Entry,
    mark: ReadMark | undefined,
  ): ReadResult<Value> {
    const now = clock.latest();
    const leftMs = entry.storedAt + entry.ttlMs - now;
    // The server's clock has gone back, as after a failover: the entry would end too late.
    if (entry.storedAt > now + SKEW_MS) return { seen, found: undefined };
    if (leftMs + entry.staleMs <= 0) return { seen, found: undefined };
    let decoded: ReturnType<Values<Value>['fromEntry']>;
    try {
      decoded = this.#values.fromEntry(key, entry, mark !== undefined);
    } catch (error) {
      // An unreadable value is loaded anew.
      this.#options.reporter.reportRepeated(error, failureOf(error));
      return { seen, found: undefined };
    }
    const { value } = decoded;
    const dueAt = dueFrom(entry, this.#options.earlyRefresh, drawFor(entry.token));
    if (leftMs > 0 && mark) {
      this.#near?.keep(mark, key, {
        value,
        bytes: decoded.bytes,
        tags: entry.tags,
        seen: Buffer.from(seen.subarray(0, SEEN_BYTES)),
        freshUntil: clock.earliestLocal(entry.storedAt + entry.ttlMs),
        earlyFrom: clock.earliestLocal(dueAt),
        loadMs: entry.loadMs,
        isRead: false,
      });
    }
    return { seen, found: { value, isFresh: leftMs > 0, isDue: now >= dueAt } };
  }

  /** A tag without a version counts as invalidated: its version may have been evicted after an invalidation. */
  async #hasValidTags(
    shard: EntryStore,
    { tags, token }: Entry,
    known: ReadonlyMap<string, Buffer | null>,
    mark: ReadMark | undefined,
  ): Promise<boolean> {
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
