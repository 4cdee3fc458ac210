import {
  ArgumentRangeError,
  ErrorReporter,
  requireArray,
  requireDuration,
  requireFunction,
  requireInteger,
  requireKnown,
  requireName,
  requireNumber,
  requireObject,
  requireOptions,
  requireSignal,
} from '@mortise/redis';
import type { OnError, Resolved, Telemetry } from '@mortise/redis';
import { jsonCodec, requireCodec } from '../codec.js';
import type { Codec } from '../codec.js';

/**
 * Loads values by key, all in one query. A key that is absent from the result, or null, has no value. A key that was not
 * requested fails the load. The signal is aborted after `loadTimeoutMs`. `entryOf` returns the entry of a requested key.
 */
export type LoadMany<Value> = (
  keys: readonly string[],
  signal: AbortSignal,
  entryOf: (key: string) => LoadedEntry,
) => Promise<ReadonlyMap<string, Value | null | undefined>>;

/** Limits of the near tier; the first one reached applies. */
export interface NearOptions {
  /** Maximum of entries, 1 to 10,000,000. Default 10,000. */
  readonly entries?: number | undefined;
  /** Maximum bytes of values as encoded, plus 200 for each entry, 1 KiB to 16 GiB. Default 64 MiB. */
  readonly bytes?: number | undefined;
}

/** The lifetime of a value and its tags. */
export interface EntryOptions<Value = unknown> {
  /** How long the value is fresh, in ms, 1 ms to 365 days. Default: that of the cache. */
  readonly ttlMs?: number | undefined;
  /**
   * How long the value is served stale after that while one process refreshes it, in ms, up to 365 days. Default: that of the
   * cache.
   */
  readonly staleMs?: number | undefined;
  /** Up to 16 tags of 1 to 1,024 bytes, or a function that derives them from the value. */
  readonly tags?: readonly string[] | ((value: Value | null) => readonly string[]) | undefined;
}

/** The entry that a loader's value becomes. An assigned property replaces the option of the call. */
export interface LoadedEntry {
  /** How long the value, or a known absence, is fresh, in ms, up to 365 days. With 0 it is not stored. */
  ttlMs: number | undefined;
  /** How long the value is served stale after that, in ms, up to 365 days. */
  staleMs: number | undefined;
  /** Up to 16 tags of 1 to 1,024 bytes. */
  tags: readonly string[] | undefined;
}

/** Options of one read. */
export interface LoadOptions<Value = unknown> extends EntryOptions<Value> {
  /** Ends the wait of this caller; the load continues for others. */
  readonly signal?: AbortSignal | undefined;
}

export interface CacheOptions<Value = unknown> {
  /** How long a value is fresh, in ms, 1 ms to 365 days. Default 1 minute. */
  readonly ttlMs?: number | undefined;
  /** How long the value is served stale after that while one process refreshes it, in ms, up to 365 days. Default 0. */
  readonly staleMs?: number | undefined;
  /**
   * How long readers of a stale value wait for its load before they get the stale value, in ms, up to 10 minutes. The load
   * continues. With 0 they get the stale value at once. Default 0.
   */
  readonly softTimeoutMs?: number | undefined;
  /**
   * How long the cache remembers that a value doesn't exist, in ms, up to 365 days. With 0 it does not. Default 10 s, at most
   * `ttlMs`.
   */
  readonly negativeTtlMs?: number | undefined;
  /** The random part by which `ttlMs` is shortened, so that values stored together don't end together; 0 to 0.5. Default 0.1. */
  readonly jitter?: number | undefined;
  /**
   * How early a value without `staleMs` is refreshed, as a multiple of the duration of its load, plus about as much at random.
   * A value is never refreshed in the first half of its lifetime. 0 to 10; 0 disables the early refresh. Default 1.
   */
  readonly earlyRefresh?: number | undefined;
  /** Loads missing values for `getOrLoad` without a loader, up to 500 keys of a tick in one call. */
  readonly load?: LoadMany<Value> | undefined;
  /** The time limit of a load, and of waiting for the load of another process, in ms, up to 10 minutes. Default 30 s. */
  readonly loadTimeoutMs?: number | undefined;
  /** How soon another process loads a value when the loading process has died, in ms, 100 ms to 10 minutes. Default 3 s. */
  readonly leaseMs?: number | undefined;
  /** The pause after a failed load while a stale value is served, in ms, up to 1 hour. Default 1 s. */
  readonly retryMs?: number | undefined;
  /** The time limit of a Redis command, in ms, 1 ms to 1 minute; after that the cache works without Redis. Default 1 s. */
  readonly commandTimeoutMs?: number | undefined;
  /** How long this process keeps a loaded value that Redis could not store, in ms, up to 1 minute. Default 1 s. */
  readonly fallbackTtlMs?: number | undefined;
  /** Maximum bytes of one value, encoded, up to 64 MiB. Default 1 MiB. */
  readonly maxPayloadBytes?: number | undefined;
  /** Converts values to bytes and back. Default: JSON. */
  readonly codec?: Codec<Value> | undefined;
  /** Values of this size or more are compressed. Default: none. */
  readonly compressFromBytes?: number | undefined;
  /** The version of the values' shape, 0 to 65,535. A value of another version counts as missing. Default 0. */
  readonly version?: number | undefined;
  /** The tier inside the process. Default: none. */
  readonly near?: NearOptions | undefined;
  /** Cluster slots over which the entries spread, 1 to 64. All users of a cache must agree. Default 1. */
  readonly shards?: number | undefined;
  /** Keeps applications apart in one Redis. 1 to 1,024 bytes. Default `mortise`. */
  readonly prefix?: string | undefined;
  /** Receives counters and durations, see docs/cache/reference/metrics.md. Default: none. */
  readonly telemetry?: Telemetry | undefined;
  /**
   * Receives failures that no caller awaits, the same failure once a minute. Of several refreshes that fail for the same cause,
   * only the first one is passed, with its key. Default: one line on stderr.
   */
  readonly onError?: OnError | undefined;
}

const DAY_MS = 86_400_000;
const MAX_MS = 365 * DAY_MS;
const MIB = 1_048_576;
const MAX_TAGS = 16;

const CACHE_DEFAULTS = {
  ttlMs: 60_000,
  staleMs: 0,
  softTimeoutMs: 0,
  negativeTtlMs: 10_000,
  jitter: 0.1,
  earlyRefresh: 1,
  loadTimeoutMs: 30_000,
  leaseMs: 3_000,
  retryMs: 1_000,
  commandTimeoutMs: 1_000,
  fallbackTtlMs: 1_000,
  maxPayloadBytes: MIB,
  version: 0,
  shards: 1,
} as const;

export const NEAR_DEFAULTS: Resolved<NearOptions> = { entries: 10_000, bytes: 64 * MIB };

const CACHE_OPTIONS: ReadonlySet<string> = new Set<keyof CacheOptions>([
  'ttlMs',
  'staleMs',
  'softTimeoutMs',
  'negativeTtlMs',
  'jitter',
  'earlyRefresh',
  'load',
  'loadTimeoutMs',
  'leaseMs',
  'retryMs',
  'commandTimeoutMs',
  'fallbackTtlMs',
  'maxPayloadBytes',
  'codec',
  'compressFromBytes',
  'version',
  'near',
  'shards',
  'prefix',
  'telemetry',
  'onError',
]);
const NEAR_OPTIONS: ReadonlySet<string> = new Set<keyof NearOptions>(['entries', 'bytes']);
const SET_OPTIONS: ReadonlySet<string> = new Set<keyof EntryOptions>(['ttlMs', 'staleMs', 'tags']);
const LOAD_OPTIONS: ReadonlySet<string> = new Set<keyof LoadOptions>(['ttlMs', 'staleMs', 'tags', 'signal']);

type Absent = 'load' | 'near' | 'prefix' | 'telemetry' | 'onError';

export interface ResolvedCacheOptions<Value> extends Resolved<Omit<CacheOptions<Value>, Absent>> {
  readonly load: LoadMany<Value> | undefined;
  readonly near: Resolved<NearOptions> | undefined;
  readonly prefix: string | undefined;
  readonly reporter: ErrorReporter;
}

export function resolveCacheOptions<Value>(options: CacheOptions<Value>): ResolvedCacheOptions<Value> {
  requireOptions('Cache', options, CACHE_OPTIONS);
  if (options.load !== undefined) requireFunction('load', options.load);
  const duration = (
    name: keyof typeof CACHE_DEFAULTS & keyof CacheOptions<Value>,
    min: number,
    max: number,
  ) => Math.ceil(requireDuration(name, options[name] ?? CACHE_DEFAULTS[name], { min, max }));
  const ttlMs = duration('ttlMs', 1, MAX_MS);
  return {
    ttlMs,
    staleMs: duration('staleMs', 0, MAX_MS),
    softTimeoutMs: duration('softTimeoutMs', 0, 600_000),
    negativeTtlMs:
      options.negativeTtlMs === undefined
        ? Math.min(ttlMs, CACHE_DEFAULTS.negativeTtlMs)
        : duration('negativeTtlMs', 0, MAX_MS),
    jitter: requireNumber('jitter', options.jitter ?? CACHE_DEFAULTS.jitter, { min: 0, max: 0.5 }),
    earlyRefresh: requireNumber('earlyRefresh', options.earlyRefresh ?? CACHE_DEFAULTS.earlyRefresh, {
      min: 0,
      max: 10,
    }),
    load: options.load,
    loadTimeoutMs: duration('loadTimeoutMs', 1, 600_000),
    leaseMs: duration('leaseMs', 100, 600_000),
    retryMs: duration('retryMs', 0, 3_600_000),
    commandTimeoutMs: duration('commandTimeoutMs', 1, 60_000),
    fallbackTtlMs: duration('fallbackTtlMs', 0, 60_000),
    maxPayloadBytes: requireInteger(
      'maxPayloadBytes',
      options.maxPayloadBytes ?? CACHE_DEFAULTS.maxPayloadBytes,
      {
        min: 1,
        max: 64 * MIB,
      },
    ),
    codec: requireCodec(options.codec ?? (jsonCodec as Codec<Value>)),
    compressFromBytes:
      options.compressFromBytes === undefined
        ? Infinity
        : requireInteger('compressFromBytes', options.compressFromBytes, { min: 0 }),
    version: requireInteger('version', options.version ?? CACHE_DEFAULTS.version, { min: 0, max: 65_535 }),
    near: options.near === undefined ? undefined : resolveNear(options.near),
    shards: requireInteger('shards', options.shards ?? CACHE_DEFAULTS.shards, { min: 1, max: 64 }),
    prefix: options.prefix,
    reporter: new ErrorReporter('mortise cache', options.onError),
  };
}

function resolveNear(near: NearOptions): Resolved<NearOptions> {
  requireKnown('near', requireObject('near', near), NEAR_OPTIONS);
  const { entries = NEAR_DEFAULTS.entries, bytes = NEAR_DEFAULTS.bytes } = near;
  return {
    entries: requireInteger('near.entries', entries, { min: 1, max: 10_000_000 }),
    bytes: requireInteger('near.bytes', bytes, { min: 1_024, max: 16_384 * MIB }),
  };
}

/** How long an entry lives. */
export interface Lifetime {
  readonly ttlMs: number;
  readonly staleMs: number;
}

/** Checks the options of `set`. Throws TypeError or RangeError. */
export function requireEntryOptions<Value>(options: EntryOptions<Value>): EntryOptions<Value> {
  return requireOptions('set', options, SET_OPTIONS);
}

/** Checks the options of a read. Throws TypeError or RangeError. */
export function requireLoadOptions<Value>(
  options: LoadOptions<Value>,
  call: 'getOrLoad' | 'getOrLoadMany' = 'getOrLoad',
): LoadOptions<Value> {
  requireSignal(requireOptions(call, options, LOAD_OPTIONS).signal);
  return options;
}

/** Throws TypeError or RangeError. */
export function resolveLifetime(options: EntryOptions<never>, defaults: Lifetime): Lifetime {
  const duration = (option: keyof Lifetime, min: number): number =>
    options[option] === undefined
      ? defaults[option]
      : Math.ceil(requireDuration(option, options[option], { min, max: MAX_MS }));
  return { ttlMs: duration('ttlMs', 1), staleMs: duration('staleMs', 0) };
}

/** Checks the time to live of an entry from now on. Throws TypeError or RangeError. */
export function requireTtl(ttlMs: number): number {
  return Math.ceil(requireDuration('ttlMs', ttlMs, { min: 0, max: MAX_MS }));
}

/** An entry for a loader, which cannot have other properties. */
export function loadedEntry(): LoadedEntry {
  return Object.seal({ ttlMs: undefined, staleMs: undefined, tags: undefined });
}

/** The lifetime that a loader has chosen, or that of the call. Throws TypeError or RangeError. */
export function resolveLoaded({ ttlMs, staleMs }: LoadedEntry, ofCall: Lifetime): Lifetime {
  return {
    ttlMs: ttlMs === undefined ? ofCall.ttlMs : requireTtl(ttlMs),
    staleMs:
      staleMs === undefined
        ? ofCall.staleMs
        : Math.ceil(requireDuration('staleMs', staleMs, { min: 0, max: MAX_MS })),
  };
}

/** The first character of the keys and tags of namespaces. */
export const RESERVED = '\0';

export function requireKey(key: unknown): string {
  return unreserved('key', requireName('key', key));
}

/** Checks the array only; each key is checked where it is used. */
export function requireKeys(keys: unknown): void {
  requireArray('keys', keys as readonly unknown[]);
}

export function requireTag(tag: unknown): string {
  return unreserved('tag', requireName('tag', tag));
}

export function requireTags(tags: unknown): readonly string[] {
  const names = requireArray('tags', tags as readonly string[], { max: MAX_TAGS });
  for (const tag of names) requireTag(tag);
  return new Set(names).size === names.length ? names : [...new Set(names)];
}

function unreserved(option: string, name: string): string {
  if (name.startsWith(RESERVED))
    throw new ArgumentRangeError(`${option} must not begin with a NUL character`);
  return name;
}
