import {
  ArgumentRangeError,
  ArgumentTypeError,
  requireDuration,
  requireInteger,
  requireName,
} from '@mortise/redis';
import type { Telemetry } from '@mortise/redis';
import { jsonCodec } from './codec.js';
import type { Codec } from './codec.js';

/**
 * Loads values by key, all in one query. A key that is missing in the result, or null, has no value. A key that was not asked
 * for is a mistake and fails the load. The signal is aborted after `loadTimeoutMs`.
 */
export type LoadMany<Value> = (
  keys: readonly string[],
  signal: AbortSignal,
) => Promise<ReadonlyMap<string, Value | null | undefined>>;

/** The tier inside the process. It holds whichever bound is reached first. */
export interface NearOptions {
  /** The most entries, 1 to 10,000,000. Default 10,000. */
  readonly entries?: number;
  /** The most bytes of values as encoded, with 200 for each entry, 1 KiB to 16 GiB. Default 64 MiB. */
  readonly bytes?: number;
}

/** How long a value lives, and by what it can be invalidated. */
export interface EntryOptions<Value = unknown> {
  /** For how long it is fresh, in ms, 1 ms to 365 days. Default: of the cache. */
  readonly ttlMs?: number | undefined;
  /** For how long after that it is served while one process loads it again, in ms, up to 365 days. Default: of the cache. */
  readonly staleMs?: number | undefined;
  /** Up to 16 tags of 1 to 1,024 bytes, or what makes them of the value. */
  readonly tags?: readonly string[] | ((value: Value | null) => readonly string[]) | undefined;
}

/** Of one read. */
export interface LoadOptions<Value = unknown> extends EntryOptions<Value> {
  /** Ends the waiting of this caller; a load that others may wait for as well goes on. */
  readonly signal?: AbortSignal | undefined;
}

export interface CacheOptions<Value = unknown> {
  /** For how long a value is fresh, in ms, 1 ms to 365 days. Default 1 minute. */
  readonly ttlMs?: number;
  /** For how long after that it is served while one process loads it again, in ms, up to 365 days. Default 0. */
  readonly staleMs?: number;
  /** For how long it is known that there is no value, in ms; 0: not at all. Default 10 s, at most `ttlMs`. */
  readonly negativeTtlMs?: number;
  /** A value is fresh for up to this part of `ttlMs` less, so that values stored together don't end together; 0 to 0.5. Default 0.1. */
  readonly jitter?: number;
  /**
   * How eagerly a value without `staleMs` is loaded again before its end: by so many times what its load took, and about as much
   * at random, but not in the first half of its life; 0: not before. Up to 10. Default 1.
   */
  readonly earlyRefresh?: number;
  /** Loads what `getOrLoad` finds missing when it is given no loader, up to 500 keys of a tick in one call. */
  readonly load?: LoadMany<Value>;
  /** What a load may take, and waiting for another process that loads, in ms, up to 10 minutes. Default 30 s. */
  readonly loadTimeoutMs?: number;
  /** After so long, in ms, others load what a process was loading that died; 100 ms to 10 minutes. Default 3 s. */
  readonly leaseMs?: number;
  /** After a load that failed while a stale value is there, nobody tries again for so long, in ms, up to 1 hour. Default 1 s. */
  readonly retryMs?: number;
  /** What a command of Redis may take, in ms, 1 ms to 1 minute; then the cache goes on without it. Default 1 s. */
  readonly commandTimeoutMs?: number;
  /** While Redis is away, or refuses to store, this process keeps what it has loaded for so long, in ms, up to 1 minute. Default 1 s. */
  readonly outageTtlMs?: number;
  /** The most bytes of one value, encoded, up to 64 MiB. Default 1 MiB. */
  readonly maxValueBytes?: number;
  /** Default: JSON. */
  readonly codec?: Codec<Value>;
  /** Values are compressed from so many bytes on. Default: none is. */
  readonly compressFromBytes?: number;
  /** Of the shape of the values, 0 to 65,535: values of another version read as absent. Default 0. */
  readonly version?: number;
  /** The tier inside the process. Default: none. */
  readonly near?: NearOptions;
  /** Cluster slots over which the entries spread, 1 to 64. All users of a cache have to agree. Default 1. */
  readonly shards?: number;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string;
  /** Is told what is counted and measured, see the README. Default: nobody. */
  readonly telemetry?: Telemetry;
  /** Hears of what failed without a caller who could be told. Default: one line on stderr. */
  readonly onError?: (error: unknown) => void;
}

const DAY_MS = 86_400_000;
const MAX_MS = 365 * DAY_MS;
const MIB = 1_048_576;
const MAX_TAGS = 16;

export const CACHE_DEFAULTS = {
  ttlMs: 60_000,
  staleMs: 0,
  negativeTtlMs: 10_000,
  jitter: 0.1,
  earlyRefresh: 1,
  loadTimeoutMs: 30_000,
  leaseMs: 3_000,
  retryMs: 1_000,
  commandTimeoutMs: 1_000,
  outageTtlMs: 1_000,
  maxValueBytes: MIB,
  version: 0,
  shards: 1,
  near: { entries: 10_000, bytes: 64 * MIB },
} as const;

export interface ResolvedCacheOptions<Value> {
  readonly ttlMs: number;
  readonly staleMs: number;
  readonly negativeTtlMs: number;
  readonly jitter: number;
  readonly earlyRefresh: number;
  readonly load: LoadMany<Value> | undefined;
  readonly loadTimeoutMs: number;
  readonly leaseMs: number;
  readonly retryMs: number;
  readonly commandTimeoutMs: number;
  readonly outageTtlMs: number;
  readonly maxValueBytes: number;
  readonly codec: Codec<Value>;
  readonly compressFromBytes: number;
  readonly version: number;
  readonly near: Required<NearOptions> | undefined;
  readonly shards: number;
  readonly prefix: string | undefined;
  readonly onError: (error: unknown) => void;
}

export function resolveCacheOptions<Value>(options: CacheOptions<Value>): ResolvedCacheOptions<Value> {
  requireOptions(options);
  if (options.load !== undefined && typeof options.load !== 'function')
    throw new ArgumentTypeError('load must be a function');
  const duration = (
    name: keyof typeof CACHE_DEFAULTS & keyof CacheOptions<Value>,
    min: number,
    max: number,
  ) => Math.ceil(requireDuration(name, options[name] ?? CACHE_DEFAULTS[name], { min, max }));
  const ttlMs = duration('ttlMs', 1, MAX_MS);
  return {
    ttlMs,
    staleMs: duration('staleMs', 0, MAX_MS),
    negativeTtlMs:
      options.negativeTtlMs === undefined
        ? Math.min(ttlMs, CACHE_DEFAULTS.negativeTtlMs)
        : duration('negativeTtlMs', 0, MAX_MS),
    jitter: part('jitter', options.jitter ?? CACHE_DEFAULTS.jitter, 0.5),
    earlyRefresh: part('earlyRefresh', options.earlyRefresh ?? CACHE_DEFAULTS.earlyRefresh, 10),
    load: options.load,
    loadTimeoutMs: duration('loadTimeoutMs', 1, 600_000),
    leaseMs: duration('leaseMs', 100, 600_000),
    retryMs: duration('retryMs', 0, 3_600_000),
    commandTimeoutMs: duration('commandTimeoutMs', 1, 60_000),
    outageTtlMs: duration('outageTtlMs', 0, 60_000),
    maxValueBytes: requireInteger('maxValueBytes', options.maxValueBytes ?? CACHE_DEFAULTS.maxValueBytes, {
      min: 1,
      max: 64 * MIB,
    }),
    codec: requireCodec(options.codec ?? (jsonCodec as Codec<Value>)),
    compressFromBytes:
      options.compressFromBytes === undefined
        ? Infinity
        : requireInteger('compressFromBytes', options.compressFromBytes, { min: 0 }),
    version: requireInteger('version', options.version ?? CACHE_DEFAULTS.version, { min: 0, max: 65_535 }),
    near: options.near && resolveNear(options.near),
    shards: requireInteger('shards', options.shards ?? CACHE_DEFAULTS.shards, { min: 1, max: 64 }),
    prefix: options.prefix,
    onError: resolveOnError(options.onError),
  };
}

/** What it throws shall fail neither a read nor the process. */
function resolveOnError(onError: CacheOptions['onError']): (error: unknown) => void {
  if (onError === undefined) return (error) => console.error('mortise cache:', error);
  if (typeof onError !== 'function')
    throw new ArgumentTypeError(`onError must be a function, got ${typeof onError}`);
  return (error) => {
    try {
      onError(error);
    } catch (thrown) {
      console.error('mortise cache: onError threw', thrown);
    }
  };
}

function resolveNear(near: NearOptions): Required<NearOptions> {
  if (typeof near !== 'object') throw new ArgumentTypeError(`near must be an object, got ${typeof near}`);
  const { entries, bytes } = { ...CACHE_DEFAULTS.near, ...near };
  return {
    entries: requireInteger('near.entries', entries, { min: 1, max: 10_000_000 }),
    bytes: requireInteger('near.bytes', bytes, { min: 1_024, max: 16_384 * MIB }),
  };
}

function requireCodec<Value>(codec: Codec<Value>): Codec<Value> {
  if (typeof codec?.encode !== 'function' || typeof codec.decode !== 'function')
    throw new ArgumentTypeError('codec must have the functions encode and decode');
  return codec;
}

function part(name: string, value: unknown, max: number): number {
  if (typeof value !== 'number') throw new ArgumentTypeError(`${name} must be a number, got ${typeof value}`);
  if (!(value >= 0 && value <= max))
    throw new ArgumentRangeError(`${name} must be from 0 to ${max}, got ${value}`);
  return value;
}

/** What one entry is stored with. */
export interface Life {
  readonly ttlMs: number;
  readonly staleMs: number;
}

/** Throws TypeError or RangeError. */
export function resolveLife(options: EntryOptions<never>, of: Life): Life {
  const { ttlMs, staleMs } = requireOptions(options);
  return {
    ttlMs:
      ttlMs === undefined ? of.ttlMs : Math.ceil(requireDuration('ttlMs', ttlMs, { min: 1, max: MAX_MS })),
    staleMs:
      staleMs === undefined
        ? of.staleMs
        : Math.ceil(requireDuration('staleMs', staleMs, { min: 0, max: MAX_MS })),
  };
}

export function requireOptions<Options extends object>(options: Options): Options {
  if (typeof options !== 'object' || options === null)
    throw new ArgumentTypeError('options must be an object');
  return options;
}

export function requireSignal(signal: unknown): void {
  if (signal !== undefined && typeof (signal as AbortSignal | null)?.throwIfAborted !== 'function')
    throw new ArgumentTypeError('signal must be an AbortSignal');
}

/** Names that begin with this are those of namespaces. */
export const RESERVED = '\0';

export function requireKey(key: unknown): string {
  return unreserved('key', requireName('key', key));
}

/** Each of them is checked where it is used. */
export function requireKeys(keys: unknown): void {
  if (!Array.isArray(keys)) throw new ArgumentTypeError('keys must be an array of strings');
}

export function requireTag(tag: unknown): string {
  return unreserved('tag', requireName('tag', tag));
}

export function requireTags(tags: unknown): readonly string[] {
  if (!Array.isArray(tags)) throw new ArgumentTypeError('tags must be an array of strings');
  if (tags.length > MAX_TAGS)
    throw new ArgumentRangeError(`tags must be at most ${MAX_TAGS}, got ${tags.length}`);
  for (const tag of tags) requireTag(tag);
  return new Set(tags).size === tags.length ? (tags as string[]) : [...new Set(tags as string[])];
}

export function unreserved(option: string, name: string): string {
  if (name.startsWith(RESERVED))
    throw new ArgumentRangeError(`${option} must not begin with a NUL character`);
  return name;
}
