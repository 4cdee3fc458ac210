/** What a cache and its namespaces do, with keys as they are in Redis. */
import { randomUUID } from 'node:crypto';
import { onAbort, requireClient } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { CacheUnavailableError } from '../errors.js';
import { Announcements } from '../near/announcements.js';
import type { Coherence } from '../near/coherence.js';
import type { Cell } from '../near/near-store.js';
import { NearTier } from '../near/near-tier.js';
import { Tracking } from '../near/tracking.js';
import { CHANGES } from '../telemetry/metrics.js';
import { Tally } from '../telemetry/tally.js';
import { CacheKeys } from './cache-keys.js';
import { Flights } from './flights.js';
import type { Kept, Wanted } from './flights.js';
import { Guard } from './guard.js';
import { Health } from './health.js';
import { requireSignal, resolveCacheOptions, resolveLife } from './options.js';
import type { CacheOptions, EntryOptions, LoadOptions, ResolvedCacheOptions } from './options.js';
import { Outage } from './outage.js';
import { Reader } from './reader.js';
import type { OnLease, ReadResult } from './reader.js';
import { Renewals } from './renewals.js';
import { shardOf } from './shard-of.js';
import { Shard } from './shard.js';
import { Values } from './values.js';
import { Wakeups } from './wakeups.js';

/** A cache in numbers, of this object. */
export interface CacheStats {
  /** Reads that the process answered by itself. */
  readonly nearHits: number;
  /** Reads that found a value in Redis; `staleHits` of them one that was past its `ttlMs`. */
  readonly hits: number;
  readonly staleHits: number;
  /** Reads that found none. */
  readonly misses: number;
  /** Loads that began here. */
  readonly loads: number;
  /** Times that Redis was not there when it was needed. */
  readonly unavailable: number;
  /** What the near tier holds; bytes as encoded, with 200 for each entry. */
  readonly nearEntries: number;
  readonly nearBytes: number;
}

/** What is kept of values that could not be stored. */
const OUTAGE_BOUNDS = { entries: 10_000, bytes: 64 * 1_048_576 };
/** Between two reports of the same trouble. */
const REPORT_EVERY_MS = 1_000;

export class Core<Value> {
  readonly name: string;
  readonly options: ResolvedCacheOptions<Value>;
  readonly #redis: RedisClient;
  readonly #shards: readonly Shard[];
  readonly #wakeups: readonly Wakeups[];
  readonly #values: Values<Value>;
  readonly #reader: Reader<Value>;
  readonly #flights: Flights<Value>;
  readonly #tally: Tally | undefined;
  readonly #near: NearTier<Value | null> | undefined;
  readonly #coherence: Coherence | undefined;
  readonly #outage = new Outage<Kept<Value>>(OUTAGE_BOUNDS);
  /** Undefined before the first read, and after `stop`. */
  #stopHearing: readonly (() => void)[] | undefined;
  readonly #counts = { nearHits: 0, hits: 0, staleHits: 0, misses: 0, loads: 0, unavailable: 0 };
  #reportedAt = -Infinity;

  constructor(redis: RedisClient, name: string, given: CacheOptions<Value>) {
    requireClient(redis);
    const options = resolveCacheOptions(given);
    const shards = Array.from(
      { length: options.shards },
      (_, shard) => new CacheKeys(name, options.prefix, shard),
    );
    this.name = name;
    this.#tally = Tally.for(given.telemetry, 'entries', name);
    this.options = options;
    const near = options.near && new NearTier<Value | null>(options.near);
    this.#near = near;
    this.#coherence =
      near &&
      (redis.isCluster
        ? new Announcements(redis, near, name, shards, options.onError)
        : new Tracking(redis, near, name, options.onError));
    const { leaseMs, commandTimeoutMs } = options;
    const guard = new Guard(redis, name, commandTimeoutMs);
    // What is not answered there is read over the client, within the same time.
    const tracked = this.#coherence && {
      reads: this.#coherence,
      guard: new Guard(redis, name, commandTimeoutMs / 2),
    };
    const process = randomUUID();
    this.#shards = shards.map((keys) => new Shard(redis, keys, { leaseMs, guard, tracked }));
    this.#wakeups = shards.map((keys) => new Wakeups(redis, keys.loaded(process)));
    this.#values = new Values(name, options);
    this.#reader = new Reader(this.#values, options, near);
    this.#flights = new Flights(name, options, {
      reader: this.#reader,
      values: this.#values,
      renewals: new Renewals(leaseMs),
      events: {
        onLoad: () => (this.#counts.loads += 1),
        onLoaded: (ms, isFailed) => this.#tally?.loaded(ms, isFailed),
        onAlone: (key, kept, { bytes, ttlMs }) =>
          this.#outage.set(key, kept, { bytes, ms: Math.min(ttlMs, options.outageTtlMs) }),
        kept: (key) => this.#outage.get(key),
        onUnavailable: (error) => this.#missRedis(error),
      },
    });
    this.#redis = redis;
  }

  get stats(): CacheStats {
    const { entries = 0, bytes = 0 } = this.#near?.store ?? {};
    return { ...this.#counts, nearEntries: entries, nearBytes: bytes };
  }

  /** From the near tier. */
  peek(key: string): Cell<Value | null> | undefined {
    if (this.#near === undefined) return undefined;
    const cell = this.#near.store.get(key, performance.now());
    if (cell !== undefined) {
      this.#counts.nearHits += 1;
      this.#tally?.read('near');
    }
    return cell;
  }

  /** Throws TypeError or RangeError for options that cannot be used, also where they would not be needed, and the reason of an aborted signal. */
  check(options: LoadOptions<Value>): void {
    resolveLife(options, this.options);
    const { signal } = options;
    requireSignal(signal);
    signal?.throwIfAborted();
  }

  /** Undefined: not there, or Redis isn't. */
  async read(key: string, expectedTags: readonly string[], onLease?: OnLease): Promise<ReadResult<Value>> {
    if (this.#stopHearing === undefined) this.#hear();
    this.#coherence?.start();
    try {
      const result = await this.#reader.read(this.#shardOf(key), key, expectedTags, onLease);
      const { found } = result;
      if (found) this.#counts.hits += 1;
      else this.#counts.misses += 1;
      if (found && !found.isFresh) this.#counts.staleHits += 1;
      this.#tally?.read(found ? (found.isFresh ? 'hit' : 'stale') : 'miss');
      return result;
    } catch (error) {
      if (!(error instanceof CacheUnavailableError)) throw error;
      this.#missRedis(error);
      this.#tally?.read('away');
      const kept = this.#outage.get(key);
      const found = kept && { value: kept.value, isFresh: true, isDue: false };
      return { seen: undefined, found, isAway: error.cause === undefined };
    }
  }

  /** The value, from wherever it comes first. */
  async getOrLoad(wanted: Omit<Wanted<Value>, 'shard' | 'wakeups'>): Promise<Value | null> {
    const { key, options, expectedTags } = wanted;
    const { signal } = options;
    this.check(options);
    const cameAt = Flights.moment();
    const reading = this.read(key, expectedTags, this.#flights.onLease(key));
    const { seen, found, isAway } = signal ? await unlessAborted(reading, signal) : await reading;
    if (found) {
      if (found.isDue) this.#flights.refresh(this.#placed(wanted), seen);
      return found.value;
    }
    const placed = this.#placed(wanted);
    const getting = isAway ? this.#flights.getAlone(placed, cameAt) : this.#flights.get(placed, seen, cameAt);
    return signal ? unlessAborted(getting, signal) : getting;
  }

  /** Loads in the background what is about to end. */
  refresh(wanted: Omit<Wanted<Value>, 'shard' | 'wakeups'>, seen: Buffer): void {
    this.#flights.refresh(this.#placed(wanted), seen);
  }

  async set(
    key: string,
    value: Value | null,
    options: EntryOptions<Value>,
    ownTags: readonly string[],
  ): Promise<void> {
    const life = resolveLife(options, this.options);
    const { tags } = options;
    const request = this.#values.toRequest(value, { key, token: '', life, tags, ownTags, loadMs: 0 });
    const shard = this.#shardOf(key);
    await this.#changeKey(shard, key, async () => {
      if (request.keepMs === 0) await shard.delete(key);
      else await shard.store(request);
    });
  }

  delete(key: string): Promise<boolean> {
    const shard = this.#shardOf(key);
    return this.#changeKey(shard, key, () => shard.delete(key));
  }

  async invalidate(tags: readonly string[]): Promise<void> {
    for (const tag of tags) this.#flights.detachTag(tag);
    this.#outage.clear();
    this.#tally?.count(CHANGES, tags.length);
    const redisKeys = this.#shards.flatMap(({ keys }) => tags.map((tag) => keys.tag(tag)));
    await this.#change(redisKeys, () => Promise.all(this.#shards.map((shard) => shard.invalidate(tags))));
  }

  async stop(): Promise<void> {
    for (const stop of this.#stopHearing ?? []) stop();
    this.#stopHearing = undefined;
    for (const { clock } of this.#shards) clock.forget();
    for (const wakeups of this.#wakeups) wakeups.stop();
    this.#outage.clear();
    await this.#coherence?.stop();
  }

  #hear(): void {
    const health = Health.of(this.#redis);
    this.#stopHearing = [
      health.onReady(() => {
        // Perhaps another server, with another clock; and what was kept while it was away is not coherent with it.
        for (const { clock } of this.#shards) clock.forget();
        this.#outage.clear();
      }),
      // Else its connections and timers would keep a process alive that has closed its client and has nothing left to do.
      health.onClosed(() => void this.#coherence?.stop()),
    ];
  }

  #placed(wanted: Omit<Wanted<Value>, 'shard' | 'wakeups'>): Wanted<Value> {
    const index = shardOf(wanted.key, this.#shards.length);
    return { ...wanted, shard: this.#shards[index]!, wakeups: this.#wakeups[index]! };
  }

  #shardOf(key: string): Shard {
    return this.#shards[shardOf(key, this.#shards.length)]!;
  }

  #changeKey<Result>(shard: Shard, key: string, act: () => Promise<Result>): Promise<Result> {
    this.#outage.delete(key);
    this.#flights.detach(key);
    this.#tally?.count(CHANGES, 1);
    return this.#change([shard.keys.value(key)], act);
  }

  /**
   * What this process changes it doesn't have in its old state any more, whenever the news of it come: neither in what it holds, nor in what is being
   * read. Behind the change once more: a read that was sent after it may have been answered before it.
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
    const now = performance.now();
    if (now < this.#reportedAt + REPORT_EVERY_MS) return;
    this.#reportedAt = now;
    this.options.onError(error);
  }
}

async function unlessAborted<Result>(result: Promise<Result>, signal: AbortSignal): Promise<Result> {
  let forget: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    else forget = onAbort(signal, () => reject(signal.reason as Error));
  });
  try {
    return await Promise.race([result, aborted]);
  } finally {
    forget?.();
  }
}
