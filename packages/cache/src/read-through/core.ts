/** The work of a cache and its namespaces, with keys as they are in Redis. */
import { keySlot, requireClient, waitFor } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { CacheUnavailableError } from '../errors.js';
import type { Cell } from '../near/near-store.js';
import { NearTier } from '../near/near-tier.js';
import { CacheTelemetry } from '../telemetry/cache-telemetry.js';
import { cacheKeys } from '../keys.js';
import type { Backend, EntryStore } from './entry-store.js';
import { decodeEntry } from './envelope.js';
import { InFlightLoads } from './in-flight-loads.js';
import type { LoadRequest } from './in-flight-load.js';
import type { FallbackValue } from './in-flight-loads.js';
import { MemoryBackend } from './memory-backend.js';
import { NEAR_DEFAULTS, resolveCacheOptions, resolveLifetime } from './options.js';
import type { CacheOptions, EntryOptions, LoadOptions, ResolvedCacheOptions } from './options.js';
import { FallbackValues } from './fallback-values.js';
import { Reader } from './reader.js';
import type { OnLease, ReadResult } from './reader.js';
import { RedisBackend } from './redis-backend.js';
import { LeaseRenewals } from './lease-renewals.js';
import { Values } from './values.js';

/** Counters of this object. */
export interface CacheStats {
  /** Reads answered by the near tier. */
  readonly nearHits: number;
  /** Reads that found a value in Redis; `staleHits` of them found a stale one. */
  readonly hits: number;
  readonly staleHits: number;
  /** Reads that found nothing. */
  readonly misses: number;
  /** Loads started by this object. */
  readonly loads: number;
  /** Commands that failed because Redis was unavailable. */
  readonly unavailable: number;
  /** The contents of the near tier. The bytes are those of the encoded values, plus 200 for each entry. */
  readonly nearEntries: number;
  readonly nearBytes: number;
}

/** Limits of the values that could not be stored. */
const FALLBACK_BOUNDS = { entries: 10_000, bytes: 64 * 1_048_576 };

export class Core<Value> {
  readonly name: string;
  readonly options: ResolvedCacheOptions<Value>;
  readonly #backend: Backend;
  readonly #values: Values<Value>;
  readonly #reader: Reader<Value>;
  readonly #inFlight: InFlightLoads<Value>;
  readonly #telemetry: CacheTelemetry | undefined;
  readonly #near: NearTier<Value | null> | undefined;
  readonly #fallbacks = new FallbackValues<FallbackValue<Value>>(FALLBACK_BOUNDS);
  readonly #counts = { nearHits: 0, hits: 0, staleHits: 0, misses: 0, loads: 0, unavailable: 0 };

  constructor(redis: RedisClient | null, name: string, given: CacheOptions<Value>) {
    if (redis !== null) requireClient(redis, { eviction: 'allowed' });
    const options = resolveCacheOptions(given);
    const { leaseMs, prefix, shards } = options;
    const keys = Array.from({ length: shards }, (_, shard) => cacheKeys(name, prefix, shard));
    this.name = name;
    this.#telemetry = CacheTelemetry.for(given.telemetry, 'entries', name);
    this.options = options;
    if (redis === null) {
      const bounds = options.near ?? NEAR_DEFAULTS;
      this.#near = new NearTier(bounds);
      this.#backend = new MemoryBackend(keys[0]!, this.#near, bounds);
    } else {
      this.#near = options.near && new NearTier(options.near);
      // The fallback values are not coherent with another server.
      const onReady = (): void => this.#fallbacks.clear();
      this.#backend = new RedisBackend(redis, name, options, { keys, near: this.#near, onReady });
    }
    this.#values = new Values(name, options);
    this.#reader = new Reader(this.#values, options, this.#near);
    this.#inFlight = new InFlightLoads(name, options, {
      reader: this.#reader,
      values: this.#values,
      renewals: new LeaseRenewals(leaseMs),
      events: {
        onLoad: () => (this.#counts.loads += 1),
        onLoaded: (ms, isFailed) => this.#telemetry?.loaded(ms, isFailed),
        onUnstored: (key, fallback, { bytes, ttlMs }) =>
          this.#fallbacks.set(key, fallback, { bytes, ms: Math.min(ttlMs, options.fallbackTtlMs) }),
        fallback: (key) => this.#fallbacks.get(key),
        onUnavailable: (error) => this.#missRedis(error),
      },
    });
  }

  get stats(): CacheStats {
    const { entries = 0, bytes = 0 } = this.#near?.store ?? {};
    return { ...this.#counts, nearEntries: entries, nearBytes: bytes };
  }

  /** Reads the near tier. */
  peek(key: string): Cell<Value | null> | undefined {
    if (this.#near === undefined) return undefined;
    const cell = this.#near.store.get(key, performance.now());
    if (cell !== undefined) {
      this.#counts.nearHits += 1;
      this.#telemetry?.read('near');
    }
    return cell;
  }

  /** Throws TypeError or RangeError for invalid options even if they are not needed, and the reason of an aborted signal. */
  check(options: LoadOptions<Value>): void {
    resolveLifetime(options, this.options);
    options.signal?.throwIfAborted();
  }

  /** Reads the near tier's source of truth; `found` is undefined if there is no usable value. */
  async read(key: string, expectedTags: readonly string[], onLease?: OnLease): Promise<ReadResult<Value>> {
    this.#backend.start();
    try {
      const result = await this.#reader.read(this.#shardOf(key), key, expectedTags, onLease);
      const { found } = result;
      if (found) this.#counts.hits += 1;
      else this.#counts.misses += 1;
      if (found && !found.isFresh) this.#counts.staleHits += 1;
      this.#telemetry?.read(found ? (found.isFresh ? 'hit' : 'stale') : 'miss');
      return result;
    } catch (error) {
      if (!(error instanceof CacheUnavailableError)) throw error;
      this.#missRedis(error);
      this.#telemetry?.read('unavailable');
      const fallback = this.#fallbacks.get(key);
      const found = fallback && { value: fallback.value, isFresh: true, isDue: false };
      return { seen: undefined, found, isUnavailable: error.cause === undefined };
    }
  }

  /** Returns the value from the first source that has it. */
  async getOrLoad(request: Omit<LoadRequest<Value>, 'shard' | 'wakeups'>): Promise<Value | null> {
    const { key, options, expectedTags } = request;
    const { signal } = options;
    this.check(options);
    const arrivedAt = InFlightLoads.moment();
    const reading = this.read(key, expectedTags, this.#inFlight.onLease(key));
    const { seen, found, isUnavailable } = await waitFor(reading, { signal });
    if (found) {
      if (!found.isDue) return found.value;
      const refreshed = this.#placed(request);
      if (found.isFresh || this.options.softTimeoutMs === 0) {
        this.#inFlight.refresh(refreshed, seen);
        return found.value;
      }
      const loaded = await this.#inFlight.getInTime(refreshed, seen, arrivedAt);
      return loaded ? loaded.value : found.value;
    }
    const placed = this.#placed(request);
    const getting = isUnavailable
      ? this.#inFlight.getWithoutRedis(placed, arrivedAt)
      : this.#inFlight.get(placed, seen, arrivedAt);
    return waitFor(getting, { signal });
  }

  /** Refreshes a value in the background that is about to expire. */
  refresh(request: Omit<LoadRequest<Value>, 'shard' | 'wakeups'>, seen: Buffer): void {
    this.#inFlight.refresh(this.#placed(request), seen);
  }

  async set(
    key: string,
    value: Value | null,
    options: EntryOptions<Value>,
    ownTags: readonly string[],
  ): Promise<void> {
    const life = resolveLifetime(options, this.options);
    const { tags } = options;
    const storeRequest = this.#values.toRequest(value, { key, token: '', life, tags, ownTags, loadMs: 0 });
    const shard = this.#shardOf(key);
    await this.#changeKey(shard, key, async () => {
      if (storeRequest.keepMs === 0) await shard.delete(key);
      else await shard.store(storeRequest);
    });
  }

  delete(key: string): Promise<boolean> {
    const shard = this.#shardOf(key);
    return this.#changeKey(shard, key, () => shard.delete(key));
  }

  /** Reads the entry for its tags, then changes it, again if it was changed in between. */
  async expire(key: string, ttlMs: number, ownTags: readonly string[]): Promise<boolean> {
    const shard = this.#shardOf(key);
    return this.#change([shard.keys.value(key)], async () => {
      for (;;) {
        const { seen, found } = await this.#reader.read(shard, key, ownTags);
        const entry = found && decodeEntry(seen!, this.options.version);
        if (!entry) return false;
        const { staleMs, tags } = entry;
        if (await shard.expire({ key, seen: seen!, ttlMs, staleMs, tags })) break;
      }
      this.#telemetry?.changed(1);
      return true;
    });
  }

  async invalidate(tags: readonly string[]): Promise<void> {
    for (const tag of tags) this.#inFlight.detachTag(tag);
    this.#fallbacks.clear();
    this.#telemetry?.changed(tags.length);
    const redisKeys = this.#backend.shards.flatMap(({ keys }) => tags.map((tag) => keys.tag(tag)));
    await this.#change(redisKeys, () =>
      Promise.all(this.#backend.shards.map((shard) => shard.invalidate(tags))),
    );
  }

  async stop(): Promise<void> {
    this.#fallbacks.clear();
    await this.#backend.stop();
  }

  #placed(request: Omit<LoadRequest<Value>, 'shard' | 'wakeups'>): LoadRequest<Value> {
    const index = this.#indexOf(request.key);
    return { ...request, shard: this.#backend.shards[index]!, wakeups: this.#backend.wakeups[index]! };
  }

  #shardOf(key: string): EntryStore {
    return this.#backend.shards[this.#indexOf(key)]!;
  }

  /** As in Redis, keys with the same text in braces share a shard. */
  #indexOf(key: string): number {
    const { length } = this.#backend.shards;
    return length === 1 ? 0 : keySlot(key) % length;
  }

  #changeKey<Result>(shard: EntryStore, key: string, act: () => Promise<Result>): Promise<Result> {
    this.#fallbacks.delete(key);
    this.#inFlight.detach(key);
    this.#telemetry?.changed(1);
    return this.#change([shard.keys.value(key)], act);
  }

  /**
   * Drops the keys that this process changes from the near tier, without waiting for the invalidation: kept values and
   * reads under way. Again after the change, because a read sent after it may have been answered before it.
   */
  async #change<Result>(redisKeys: readonly string[], act: () => Promise<Result>): Promise<Result> {
    const near = this.#near;
    if (near === undefined) return act();
    for (const redisKey of redisKeys) near.onChanged(redisKey);
    try {
      return await act();
    } finally {
      for (const redisKey of redisKeys) near.onChanged(redisKey);
    }
  }

  #missRedis(error: CacheUnavailableError): void {
    this.#counts.unavailable += 1;
    this.options.reporter.reportRepeated(error);
  }
}
