import {
  ArgumentTypeError,
  requireDuration,
  requireKnown,
  requireObject,
  requireOptions,
  requireSignal,
} from '@mortise/redis';
import { requireTags, resolveCacheOptions, resolveLifetime } from '../read-through/options.js';
import type { CacheOptions, LoadedEntry, ResolvedCacheOptions } from '../read-through/options.js';

/** These options mean the same as in `CacheOptions`; all users of a cache must agree on them. */
export type LoadLeasesOptions<Value = unknown> = Pick<
  CacheOptions<Value>,
  | 'ttlMs'
  | 'staleMs'
  | 'negativeTtlMs'
  | 'jitter'
  | 'earlyRefresh'
  | 'retryMs'
  | 'commandTimeoutMs'
  | 'maxPayloadBytes'
  | 'codec'
  | 'compressFromBytes'
  | 'version'
  | 'shards'
  | 'prefix'
  | 'onError'
>;

export interface LoadRequestOptions {
  /** How long to wait for the load of another client, in ms, up to 10 minutes. Default 0. */
  readonly waitMs?: number | undefined;
  /** How long the granted lease lasts, in ms, 100 ms to 10 minutes: the time for the load. Default 10 s. */
  readonly leaseMs?: number | undefined;
  /** The tags known before the load, up to 16. After their invalidation no caller waits for a load under way. Default: none. */
  readonly tags?: readonly string[] | undefined;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
}

export interface LoadStoreOptions {
  /** How long the value, or a known absence, is fresh, in ms, 1 ms to 365 days. Default: that of the cache. */
  readonly ttlMs?: number | undefined;
  /** How long the value is served stale after that, in ms, up to 365 days. Default: that of the cache. */
  readonly staleMs?: number | undefined;
  /** Up to 16 tags of 1 to 1,024 bytes. Default: none. */
  readonly tags?: readonly string[] | undefined;
}

/** The right to load a value, which one client has at a time. */
export interface LoadLease {
  /** Identifies the lease in `store` and `release`. */
  readonly token: string;
  /** The end of the lease on the clock of `performance.now()`, or a later instant. */
  readonly expiresAt: number;
}

export interface LoadReply<Value> {
  /** The cached value, fresh or stale. Null for a known absence, undefined if nothing is cached. */
  readonly value: Value | null | undefined;
  /**
   * With a lease the caller must load the value: in the background if `value` is set, otherwise now. Undefined if another
   * client loads the value, or no load is needed.
   */
  readonly lease: LoadLease | undefined;
}

const OPTIONS: ReadonlySet<string> = new Set<keyof LoadLeasesOptions>([
  'ttlMs',
  'staleMs',
  'negativeTtlMs',
  'jitter',
  'earlyRefresh',
  'retryMs',
  'commandTimeoutMs',
  'maxPayloadBytes',
  'codec',
  'compressFromBytes',
  'version',
  'shards',
  'prefix',
  'onError',
]);
const REQUEST_OPTIONS: ReadonlySet<string> = new Set<keyof LoadRequestOptions>([
  'waitMs',
  'leaseMs',
  'tags',
  'signal',
]);
const STORE_OPTIONS: ReadonlySet<string> = new Set<keyof LoadStoreOptions>(['ttlMs', 'staleMs', 'tags']);

const MAX_WAIT_MS = 600_000;
const MIN_LEASE_MS = 100;
const LEASE_MS = 10_000;
const TOKEN = /^[1-9]\d{0,15}$/;

/** Throws TypeError or RangeError. */
export function resolveLoadLeasesOptions<Value>(
  options: LoadLeasesOptions<Value>,
): ResolvedCacheOptions<Value> {
  return resolveCacheOptions(requireOptions('LoadLeases', options, OPTIONS));
}

/** Throws TypeError or RangeError, and the reason of an aborted signal. */
export function resolveRequest(options: LoadRequestOptions): {
  readonly waitMs: number;
  readonly leaseMs: number;
  readonly tags: readonly string[];
  readonly signal: AbortSignal | undefined;
} {
  const {
    waitMs = 0,
    leaseMs = LEASE_MS,
    tags,
    signal,
  } = requireKnown('request', requireObject('options', options), REQUEST_OPTIONS);
  requireSignal(signal)?.throwIfAborted();
  return {
    waitMs: requireDuration('waitMs', waitMs, { min: 0, max: MAX_WAIT_MS }),
    leaseMs: Math.ceil(requireDuration('leaseMs', leaseMs, { min: MIN_LEASE_MS, max: MAX_WAIT_MS })),
    tags: tags === undefined ? [] : requireTags(tags),
    signal,
  };
}

/** The choices of a loader for its value. Throws TypeError or RangeError. */
export function resolveStore(
  options: LoadStoreOptions,
  defaults: { readonly ttlMs: number; readonly staleMs: number },
): LoadedEntry {
  const { ttlMs, tags } = requireOptions('store', options, STORE_OPTIONS);
  const life = resolveLifetime(options, defaults);
  return {
    ttlMs: ttlMs === undefined ? undefined : life.ttlMs,
    staleMs: life.staleMs,
    tags: tags === undefined ? undefined : requireTags(tags),
  };
}

/** Throws TypeError. */
export function requireToken(token: unknown): string {
  if (typeof token !== 'string' || !TOKEN.test(token))
    throw new ArgumentTypeError('token must be that of a lease');
  return token;
}
