import type { RedisClient } from '@mortise/redis';
import { requireClient, requireDuration, requireInteger, requireName } from '@mortise/redis';
import type { ReplicationOptions } from './replication/replication-options.js';

/** How a Mutex or MultiLock is held, and where it lies. */
export interface MutexOptions extends ReplicationOptions {
  /**
   * How long the lock stays with a holder that no longer renews it, in ms: a whole number from 10 to 86,400,000 (one
   * day). Default 10,000.
   */
  readonly leaseMs?: number | undefined;
  /**
   * `true`: first come, first served, among all processes. `false`: a free lock goes to whoever asks first, which
   * saves the exchange when one process takes it again and again, and can starve the others. All users of a lock
   * should agree. Default `true`.
   */
  readonly fair?: boolean | undefined;
  /** Whether leases are renewed in the background, a third into each, until they are released. Default `true`. */
  readonly renew?: boolean | undefined;
  /**
   * How long a lease is kept by background renewals at most, in ms from its acquisition: from `leaseMs` to 31 days.
   * It bounds what a forgotten release costs. Default: no bound.
   */
  readonly maxHoldMs?: number | undefined;
  /**
   * Whether acquisitions give fencing tokens. Without them an acquisition costs Redis less, `fencingToken` is 0, and a lease
   * does not survive the loss of the lock's keys. All users of a lock should agree. Default `true`.
   */
  readonly fencing?: boolean | undefined;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string | undefined;
}

/** How long to wait for a lock. */
export interface AcquireOptions {
  /** How long to wait for the lock, in ms: from 1 to 86,400,000 (one day). Default 30,000. `tryAcquire` never waits. */
  readonly waitMs?: number | undefined;
  /** Ends the wait: the call rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

const DAY_MS = 86_400_000;

export const DEFAULTS = { leaseMs: 10_000, fair: true, renew: true, fencing: true, waitMs: 30_000 };

export interface ResolvedMutexOptions {
  readonly leaseMs: number;
  readonly isFair: boolean;
  readonly isFenced: boolean;
  /** How long background renewals keep a lease: `leaseMs` means that there are none. */
  readonly keepMs: number;
}

/** Any object. Throws TypeError for what is none, so that a value in the wrong place isn't taken for the defaults. */
export function requireOptions<Options extends object>(options: Options): Options {
  if (typeof options === 'object' && options !== null) return options;
  throw new TypeError(`options must be an object, got ${options === null ? 'null' : typeof options}`);
}

export function resolveMutexOptions(options: MutexOptions): ResolvedMutexOptions {
  const { fair = DEFAULTS.fair, fencing = DEFAULTS.fencing } = requireOptions(options);
  requireBoolean('fair', fair);
  requireBoolean('fencing', fencing);
  return { isFair: fair, isFenced: fencing, ...resolveLeaseOptions(options) };
}

/** What leases of any kind take. */
export interface LeaseOptions {
  readonly leaseMs?: number | undefined;
  readonly renew?: boolean | undefined;
  readonly maxHoldMs?: number | undefined;
}

export function resolveLeaseOptions(options: LeaseOptions): Pick<ResolvedMutexOptions, 'leaseMs' | 'keepMs'> {
  const { leaseMs = DEFAULTS.leaseMs, renew = DEFAULTS.renew, maxHoldMs } = requireOptions(options);
  requireLeaseMs(leaseMs);
  requireBoolean('renew', renew);
  if (maxHoldMs !== undefined) requireDuration('maxHoldMs', maxHoldMs, { min: leaseMs, max: 31 * DAY_MS });
  return { leaseMs, keepMs: renew ? (maxHoldMs ?? Infinity) : leaseMs };
}

/** A `leaseMs` that any lock takes. Throws TypeError or RangeError for others. */
export function requireLeaseMs(leaseMs: number): number {
  return requireInteger('leaseMs', leaseMs, { min: 10, max: DAY_MS });
}

const HOLDER = /^[\w-]{16}\.[a-z\d]{1,11}\.[1-9]\d{0,3}(?:\.[a-z\d]{1,16})?$/;

/** What a lease has as its `holder`. Throws TypeError for anything else. */
export function requireHolder(holder: unknown): string {
  if (typeof holder === 'string' && HOLDER.test(holder)) return holder;
  throw new TypeError(`holder must be that of a lease, got ${JSON.stringify(String(holder).slice(0, 64))}`);
}

export interface ResolvedAcquireOptions {
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
}

export function resolveAcquireOptions(options: AcquireOptions): ResolvedAcquireOptions {
  const { waitMs = DEFAULTS.waitMs, signal } = requireOptions(options);
  requireDuration('waitMs', waitMs, { min: 1, max: DAY_MS });
  if (signal !== undefined && typeof signal?.addEventListener !== 'function') {
    throw new TypeError('signal must be an AbortSignal');
  }
  return { waitMs, signal };
}

function requireBoolean(option: string, value: unknown): void {
  if (typeof value !== 'boolean') throw new TypeError(`${option} must be true or false, got ${typeof value}`);
}

/** How many permits are given in which time. */
export interface RateLimiterOptions {
  /** How many permits are given in a period: a whole number from 1 to 10,000,000. */
  readonly limit: number;
  /** The period, in ms: a whole number from 1 to 2,678,400,000 (31 days). */
  readonly periodMs: number;
  /**
   * How many permits can be taken at once after a quiet time: a whole number from 1 to 10,000,000, but no more than
   * are given in 366 days. Default `limit`. With 1, permits are given one by one, a `limit`th of the period apart.
   */
  readonly burst?: number | undefined;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string | undefined;
}

/** Up to here `burst` · `limit` and instants in µs are exact in a double. */
const MAX_PERMITS = 10_000_000;

export function resolveRateLimiterOptions(
  options: RateLimiterOptions,
): Readonly<Record<'limit' | 'periodMs' | 'burst', number>> {
  const { limit, periodMs, burst = limit } = requireOptions(options);
  requireInteger('limit', limit, { min: 1, max: MAX_PERMITS });
  requireInteger('periodMs', periodMs, { min: 1, max: 31 * DAY_MS });
  const max = Math.min(MAX_PERMITS, Math.floor((366 * DAY_MS * limit) / periodMs));
  requireInteger('burst', burst, { min: 1, max });
  return { limit, periodMs, burst };
}

/** When a latch opens, and how long it is remembered. */
export interface CountDownLatchOptions {
  /** How many have to count down until the latch opens: a whole number from 1 to 1,000,000. All users of a latch agree. */
  readonly count: number;
  /**
   * How long the latch is remembered after the last count-down, wait or opening, in ms: a whole number from 10,000 to
   * 2,678,400,000 (31 days). It does not end while somebody waits. Default 86,400,000 (one day).
   */
  readonly ttlMs?: number | undefined;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string | undefined;
}

/** What is counted, and how much. */
export interface CountDownOptions {
  /** Names this count-down, so that a repetition does not count again: 1 to 1,024 bytes. Default: none. */
  readonly id?: string | undefined;
  /** How much to count down: a whole number from 1 to `count`. Default 1. */
  readonly by?: number | undefined;
}

/** How long to wait for a latch to open. */
export interface LatchWaitOptions {
  /** How long to wait for the latch to open, in ms: from 1 to 86,400,000 (one day). Default 30,000. */
  readonly waitMs?: number | undefined;
  /** Ends the wait: the call rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

export const LATCH_DEFAULTS = { ttlMs: DAY_MS, by: 1 };

export function resolveCountDownLatchOptions(
  options: CountDownLatchOptions,
): Readonly<Record<'count' | 'ttlMs', number>> {
  const { count, ttlMs = LATCH_DEFAULTS.ttlMs } = requireOptions(options);
  requireInteger('count', count, { min: 1, max: 1_000_000 });
  requireInteger('ttlMs', ttlMs, { min: 10_000, max: 31 * DAY_MS });
  return { count, ttlMs };
}

/** The id is '' if there is none. */
export function resolveCountDownOptions(
  options: CountDownOptions,
  count: number,
): { readonly id: string; readonly by: number } {
  const { id, by = LATCH_DEFAULTS.by } = requireOptions(options);
  requireInteger('by', by, { min: 1, max: count });
  return { id: id === undefined ? '' : requireName('id', id), by };
}

/** How many permits there are, and how they are held. */
export interface SemaphoreOptions {
  /** How many permits there are: a whole number from 1 to 1,000,000. All users of a semaphore agree. */
  readonly permits: number;
  /**
   * How long permits stay with a holder that no longer renews them, in ms: a whole number from 10 to 86,400,000 (one
   * day). Default 10,000.
   */
  readonly leaseMs?: number | undefined;
  /** Whether leases are renewed in the background, a third into each, until they are released. Default `true`. */
  readonly renew?: boolean | undefined;
  /**
   * How long a lease is kept by background renewals at most, in ms from its acquisition: from `leaseMs` to 31 days.
   * It bounds what a forgotten release costs. Default: no bound.
   */
  readonly maxHoldMs?: number | undefined;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string | undefined;
}

/** How many permits to take. */
export interface TryAcquirePermitsOptions {
  /** How many permits to take, all or none: a whole number from 1 to the limit. Default 1. */
  readonly permits?: number | undefined;
}

/** How many permits to take, and how long to wait for them. */
export interface AcquirePermitsOptions extends AcquireOptions, TryAcquirePermitsOptions {}

/** A limit that any semaphore takes. Throws TypeError or RangeError for others. */
export function requireLimit(permits: number): number {
  return requireInteger('permits', permits, { min: 1, max: 1_000_000 });
}

export interface ResolvedSemaphoreOptions {
  readonly limit: number;
  readonly leaseMs: number;
  readonly keepMs: number;
}

export function resolveSemaphoreOptions(options: SemaphoreOptions): ResolvedSemaphoreOptions {
  return { limit: requireLimit(requireOptions(options).permits), ...resolveLeaseOptions(options) };
}

/** As text, which is what a waiter's role is. */
export function resolvePermits(options: TryAcquirePermitsOptions, limit: number): string {
  const { permits = 1 } = requireOptions(options);
  return String(requireInteger('permits', permits, { min: 1, max: limit }));
}

/** How a ReadWriteLock is held, on both of its sides. */
export interface ReadWriteLockOptions {
  /**
   * How long the lock stays with a reader or writer that no longer renews it, in ms: a whole number from 10 to 86,400,000
   * (one day). Default 10,000. All users of a lock should agree: after a loss of its keys they rely on it.
   */
  readonly leaseMs?: number | undefined;
  /** Whether leases are renewed in the background, a third into each, until they are released. Default `true`. */
  readonly renew?: boolean | undefined;
  /**
   * How long a lease is kept by background renewals at most, in ms from its acquisition: from `leaseMs` to 31 days.
   * Default: no bound.
   */
  readonly maxHoldMs?: number | undefined;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string | undefined;
}

export function resolveReadWriteLockOptions(options: ReadWriteLockOptions): ResolvedMutexOptions {
  return { isFair: true, isFenced: true, ...resolveLeaseOptions(options) };
}

const MAX_NAMES = 100;

/** The names of a multi-lock, without repetitions. Throws TypeError or RangeError for what is no list of 1 to 100 names. */
export function requireNames(names: readonly string[]): string[] {
  if (!Array.isArray(names)) throw new TypeError(`names must be an array, got ${typeof names}`);
  const different = new Set(Array.from(names, (name, index) => requireName(`names[${index}]`, name)));
  requireInteger('the number of names', different.size, { min: 1, max: MAX_NAMES });
  return [...different];
}

/** How a QuorumMutex is held, and what is expected of its nodes. */
export interface QuorumMutexOptions {
  /**
   * How long the lock stays with a holder that no longer renews it, in ms: a whole number from 10 to 86,400,000 (one
   * day). Default 10,000. The holder may rely on it for less: without what the nodes took to answer, and without the
   * drift.
   */
  readonly leaseMs?: number | undefined;
  /** Whether leases are renewed in the background, a third into each, until they are released. Default `true`. */
  readonly renew?: boolean | undefined;
  /**
   * How long a lease is kept by background renewals at most, in ms from its acquisition: from `leaseMs` to 31 days.
   * Default: no bound.
   */
  readonly maxHoldMs?: number | undefined;
  /**
   * How long a node may take to answer, in ms: a whole number from 1 to half of `leaseMs`. Default: a tenth of `leaseMs`,
   * at most 100. It is waited for only when the others don't decide.
   */
  readonly nodeTimeoutMs?: number | undefined;
  /**
   * How much faster than the others a clock may go: a part of the lease, from 0 to 0.5. Default 0.01. Leases are
   * taken for so much shorter, and 2 ms more.
   */
  readonly driftFactor?: number | undefined;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string | undefined;
}

export interface ResolvedQuorumMutexOptions {
  readonly leaseMs: number;
  readonly keepMs: number;
  readonly nodeTimeoutMs: number;
  readonly driftFactor: number;
}

export const QUORUM_DEFAULTS = { driftFactor: 0.01, nodeTimeoutMs: 100 };

export function resolveQuorumMutexOptions(options: QuorumMutexOptions): ResolvedQuorumMutexOptions {
  const terms = resolveLeaseOptions(options);
  const { driftFactor = QUORUM_DEFAULTS.driftFactor } = options;
  const { nodeTimeoutMs = Math.min(QUORUM_DEFAULTS.nodeTimeoutMs, Math.floor(terms.leaseMs / 10)) } = options;
  requireInteger('nodeTimeoutMs', nodeTimeoutMs, { min: 1, max: Math.floor(terms.leaseMs / 2) });
  if (typeof driftFactor !== 'number') {
    throw new TypeError(`driftFactor must be a number, got ${typeof driftFactor}`);
  }
  if (!(driftFactor >= 0 && driftFactor <= 0.5)) {
    throw new RangeError(`driftFactor must be from 0 to 0.5, got ${driftFactor}`);
  }
  return { ...terms, nodeTimeoutMs, driftFactor };
}

/** So many servers that fail together tolerate more than any quorum helps against. */
const MAX_NODES = 15;

/**
 * The clients of independent servers. Throws TypeError for what is no list of different clients, RangeError for fewer than
 * 3 and for an even number: one node of these makes failures likelier and tolerates no further one.
 */
export function requireNodes(clients: readonly RedisClient[]): readonly RedisClient[] {
  if (!Array.isArray(clients)) throw new TypeError(`clients must be an array, got ${typeof clients}`);
  requireInteger('the number of clients', clients.length, { min: 3, max: MAX_NODES });
  if (clients.length % 2 === 0) {
    throw new RangeError(`the number of clients must be odd, got ${clients.length}`);
  }
  const seen = new Map<unknown, number>();
  for (const [index, client] of clients.entries()) {
    for (const sign of signsOf(requireClient(client))) {
      const other = seen.get(sign);
      if (other !== undefined && other !== index) {
        throw new TypeError(`clients[${other}] and clients[${index}] are the same server`);
      }
      seen.set(sign, index);
    }
  }
  return clients;
}

/** What two clients of one server have in common, as far as it can be seen without asking. */
function signsOf(client: RedisClient): unknown[] {
  const { host, port, path, sentinels } = client.options as Record<string, unknown>;
  if (client.isCluster || sentinels) return [client];
  return [client, typeof path === 'string' ? path : `${String(host)}:${String(port)}`];
}
