import {
  ArgumentTypeError,
  requireArray,
  requireBoolean,
  requireDuration,
  requireInteger,
  requireName,
  requireOptions,
  requireSignal,
  shownValue,
} from '@mortise/redis';
import type { Telemetry } from '@mortise/redis';

const DAY_MS = 86_400_000;

const DEFAULTS = {
  leaseMs: 10_000,
  fair: true,
  renew: true,
  fencing: true,
  waitMs: 30_000,
  minReplicas: 0,
  replicasWaitMs: 1_000,
  permits: 1,
  keepMs: DAY_MS,
  by: 1,
};

/** Options of all classes of this package. */
interface CommonOptions {
  /** Keeps several applications apart in one Redis. 1 to 1,024 bytes. Default `mortise`. */
  readonly prefix?: string | undefined;
  /** Counts and measures calls. Default: none. */
  readonly telemetry?: Telemetry | undefined;
}

/** The lease of a lock. */
export interface LeaseOptions extends CommonOptions {
  /**
   * How long the lock stays with a holder that no longer renews it, ms: a whole number from 10 to 86,400,000 (24 h). All users
   * of a lock should use the same value: after a loss of the keys, they wait that long for the former holder. Default 10,000.
   */
  readonly leaseMs?: number | undefined;
  /** Whether each lease is renewed in the background after a third of its time, until it is released. Default `true`. */
  readonly renew?: boolean | undefined;
  /**
   * Maximum time for which background renewals keep a lease, ms from its acquisition: from `leaseMs` to 31 days. It limits
   * the cost of a forgotten release. Default: no limit.
   */
  readonly maxHoldMs?: number | undefined;
  /**
   * A name of the holder, for people: 1 to 64 letters, digits, `_`, `@` and `-`. Part of the `holder` of each lease, such as
   * `…~mailer-3.1000`, so `inspect` and the console show it. It costs its bytes in each command. Default: none.
   */
  readonly owner?: string | undefined;
}

/** Options of a ReadWriteLock, for both of its sides. */
export type ReadWriteLockOptions = LeaseOptions;

/** Options of a MultiLock. */
export interface MultiLockOptions extends LeaseOptions {
  /**
   * `true`: first come, first served, among all processes. `false`: a free lock goes to the first request. That saves a message
   * when one process takes the lock again and again, but other processes may starve. All users of a lock should agree. Default
   * `true`.
   */
  readonly fair?: boolean | undefined;
  /**
   * Whether acquisitions give fencing tokens. Without them an acquisition costs Redis less, `fencingToken` is 0, and a lease
   * does not survive the loss of the lock's keys. All users of a lock should agree. Default `true`.
   */
  readonly fencing?: boolean | undefined;
}

/** Number of replicas that acknowledge a grant before the caller gets it. */
export interface ReplicationOptions {
  /**
   * Number of replicas that must acknowledge a grant before the caller gets it: from 0 to 100. If fewer do so within
   * `replicasWaitMs`, the lock is given back and the call rejects with LockReplicasError. A failover is then less likely to
   * give the lock to a second holder, but still may: Redis may promote a replica without the grant. Renewals wait for no
   * replica. Each client needs one more connection (on Cluster one for each master). Each acquisition costs a write and a share
   * of a WAIT. Only a Mutex has this option. Default 0: no replica.
   */
  readonly minReplicas?: number | undefined;
  /**
   * How long to wait for the replicas, in ms: a whole number from 1 to half of `leaseMs`. Default 1,000, or half of `leaseMs`
   * if that is less. This time is part of the lease and of `waitMs`.
   */
  readonly replicasWaitMs?: number | undefined;
}

/** Options of a Mutex. */
export interface MutexOptions extends MultiLockOptions, ReplicationOptions {}

/** Options of a Semaphore. */
export interface SemaphoreOptions extends LeaseOptions {
  /** Number of permits: a whole number from 1 to 1,000,000. All users of a semaphore must agree. */
  readonly permits: number;
}

/** Options of a RateLimiter. */
export interface RateLimiterOptions extends CommonOptions {
  /** Permits in a period: a whole number from 1 to 10,000,000. */
  readonly limit: number;
  /** The period, in ms: a whole number from 1 to 2,678,400,000 (31 days). */
  readonly periodMs: number;
  /**
   * The most permits that can be taken at once after a quiet time. A whole number from 1 to 10,000,000, but not more than are
   * available in 366 days. Default `limit`. With 1, permits become available one by one, a `limit`th of the period apart.
   */
  readonly burst?: number | undefined;
}

/** Options of a CountDownLatch. */
export interface CountDownLatchOptions extends CommonOptions {
  /** Number of count-downs that open the latch: a whole number from 1 to 1,000,000. All users of a latch agree. */
  readonly count: number;
  /**
   * How long the latch is remembered after the last count-down, wait or opening, in ms: a whole number from 10,000 to
   * 2,678,400,000 (31 days). A latch is never forgotten while a caller waits. Default 86,400,000 (24 h).
   */
  readonly keepMs?: number | undefined;
}

/** How long to wait. */
export interface AcquireOptions {
  /** How long to wait, ms: from 0 to 86,400,000 (24 h). Default 30,000. With 0 the call tries once, as `tryAcquire` does. */
  readonly waitMs?: number | undefined;
  /** Ends the wait: the call rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** How long to wait for a latch to open. */
export type LatchWaitOptions = AcquireOptions;

/** Number of permits to take. */
export interface TryAcquirePermitsOptions {
  /** Number of permits, all or none: a whole number from 1 to the limit. Default 1. */
  readonly permits?: number | undefined;
}

/** Number of permits to take, and how long to wait for them. */
export interface AcquirePermitsOptions extends AcquireOptions, TryAcquirePermitsOptions {}

/** Options of a count-down. */
export interface CountDownOptions {
  /** Names this count-down, so that a repetition does not count again: 1 to 1,024 bytes. Default: none. */
  readonly id?: string | undefined;
  /** How much to count down: a whole number from 1 to `count`. Default 1. */
  readonly by?: number | undefined;
}

/** A set of names. Bundlers drop the calls that are not needed, as for a RateLimiter alone, which they don't for spreads. */
function setOf(...parts: (string | ReadonlySet<string>)[]): ReadonlySet<string> {
  return new Set(parts.flatMap((part) => (typeof part === 'string' ? part : [...part])));
}

const COMMON = /* @__PURE__ */ setOf('prefix', 'telemetry');
const LEASE_OPTIONS = /* @__PURE__ */ setOf(COMMON, 'leaseMs', 'renew', 'maxHoldMs', 'owner');
const MULTI_LOCK_OPTIONS = /* @__PURE__ */ setOf(LEASE_OPTIONS, 'fair', 'fencing');
const MUTEX_OPTIONS = /* @__PURE__ */ setOf(MULTI_LOCK_OPTIONS, 'minReplicas', 'replicasWaitMs');
const RATE_LIMITER_OPTIONS = /* @__PURE__ */ setOf(COMMON, 'limit', 'periodMs', 'burst');
export const KNOWN = {
  Mutex: MUTEX_OPTIONS,
  MultiLock: MULTI_LOCK_OPTIONS,
  ReadWriteLock: LEASE_OPTIONS,
  Semaphore: /* @__PURE__ */ setOf(LEASE_OPTIONS, 'permits'),
  RateLimiter: RATE_LIMITER_OPTIONS,
  CountDownLatch: /* @__PURE__ */ setOf(COMMON, 'count', 'keepMs'),
  QuorumMutex: /* @__PURE__ */ setOf(LEASE_OPTIONS, 'nodeTimeoutMs', 'driftFactor'),
  '@Locked': /* @__PURE__ */ setOf(MUTEX_OPTIONS, 'waitMs', 'module'),
  acquire: /* @__PURE__ */ setOf('waitMs', 'signal'),
  'acquire of a semaphore': /* @__PURE__ */ setOf('waitMs', 'signal', 'permits'),
  renew: /* @__PURE__ */ setOf(),
  tryAcquire: /* @__PURE__ */ setOf(),
  'tryAcquire of a semaphore': /* @__PURE__ */ setOf('permits'),
  wait: /* @__PURE__ */ setOf('waitMs', 'signal'),
  countDown: /* @__PURE__ */ setOf('id', 'by'),
} satisfies Record<string, ReadonlySet<string>>;

/** An object with known options only. Throws TypeError otherwise. */
export function known<Options extends object>(what: keyof typeof KNOWN, options: Options): Options {
  return requireOptions(what, options, KNOWN[what]);
}

/**
 * The defaults of one kind of lock. A MultiLock lacks `minReplicas`, but resolves it in order to refuse it: ignored, its
 * callers would rely on replicas in vain.
 */
export function defaultsOf(kind: keyof typeof KNOWN, defaults: MutexOptions): object {
  const ofKind = KNOWN[kind];
  const { minReplicas } = defaults;
  return {
    ...Object.fromEntries(Object.entries(defaults).filter(([name]) => ofKind.has(name))),
    ...(kind === 'MultiLock' && minReplicas && { minReplicas }),
  };
}

/** The options of a call that has none: any option is refused. */
export type NoOptions = Readonly<Record<string, never>>;

export interface ResolvedLeaseOptions {
  readonly leaseMs: number;
  /** Maximum time for which background renewals keep a lease; `leaseMs` means no renewals. */
  readonly renewForMs: number;
  readonly owner: string | undefined;
}

export interface ResolvedMutexOptions extends ResolvedLeaseOptions {
  readonly isFair: boolean;
  readonly isFenced: boolean;
}

export function resolveLeaseOptions(options: LeaseOptions): ResolvedLeaseOptions {
  const { leaseMs = DEFAULTS.leaseMs, renew = DEFAULTS.renew, maxHoldMs, owner } = options;
  requireLeaseMs(leaseMs);
  if (owner !== undefined) requireOwner(owner);
  requireBoolean('renew', renew);
  if (maxHoldMs !== undefined) requireDuration('maxHoldMs', maxHoldMs, { min: leaseMs, max: 31 * DAY_MS });
  return { leaseMs, renewForMs: renew ? (maxHoldMs ?? Infinity) : leaseMs, owner };
}

export interface ReplicationTerms {
  readonly minReplicas: number;
  readonly replicasWaitMs: number;
}

export function resolveReplicationOptions(options: ReplicationOptions, leaseMs: number): ReplicationTerms {
  const max = Math.floor(leaseMs / 2);
  const { minReplicas = DEFAULTS.minReplicas } = options;
  const { replicasWaitMs = Math.min(DEFAULTS.replicasWaitMs, max) } = options;
  requireInteger('minReplicas', minReplicas, { min: 0, max: 100 });
  requireInteger('replicasWaitMs', replicasWaitMs, { min: 1, max });
  return { minReplicas, replicasWaitMs };
}

export function resolveMutexOptions(
  what: 'Mutex' | 'MultiLock',
  options: MultiLockOptions,
): ResolvedMutexOptions {
  const { fair = DEFAULTS.fair, fencing = DEFAULTS.fencing } = known(what, options);
  requireBoolean('fair', fair);
  requireBoolean('fencing', fencing);
  return { isFair: fair, isFenced: fencing, ...resolveLeaseOptions(options) };
}

export function resolveReadWriteLockOptions(options: ReadWriteLockOptions): ResolvedMutexOptions {
  return { isFair: true, isFenced: true, ...resolveLeaseOptions(known('ReadWriteLock', options)) };
}

export interface ResolvedSemaphoreOptions extends ResolvedLeaseOptions {
  readonly limit: number;
}

export function resolveSemaphoreOptions(options: SemaphoreOptions): ResolvedSemaphoreOptions {
  const { permits } = known('Semaphore', options);
  return { limit: requireLimit(permits), ...resolveLeaseOptions(options) };
}

/** Up to this number, `burst` · `limit` and instants in µs are exact in a double. */
const MAX_PERMITS = 10_000_000;

export function resolveRateLimiterOptions(
  options: RateLimiterOptions,
): Readonly<Record<'limit' | 'periodMs' | 'burst', number>> {
  const { limit, periodMs, burst = limit } = requireOptions('RateLimiter', options, RATE_LIMITER_OPTIONS);
  requireInteger('limit', limit, { min: 1, max: MAX_PERMITS });
  requireInteger('periodMs', periodMs, { min: 1, max: 31 * DAY_MS });
  const max = Math.min(MAX_PERMITS, Math.floor((366 * DAY_MS * limit) / periodMs));
  requireInteger('burst', burst, { min: 1, max });
  return { limit, periodMs, burst };
}

export function resolveCountDownLatchOptions(
  options: CountDownLatchOptions,
): Readonly<Record<'count' | 'keepMs', number>> {
  const { count, keepMs = DEFAULTS.keepMs } = known('CountDownLatch', options);
  requireInteger('count', count, { min: 1, max: 1_000_000 });
  requireInteger('keepMs', keepMs, { min: 10_000, max: 31 * DAY_MS });
  return { count, keepMs };
}

export interface ResolvedAcquireOptions {
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
}

export function resolveAcquireOptions(
  options: AcquireOptions,
  what: 'acquire' | 'acquire of a semaphore' | 'wait' = 'acquire',
): ResolvedAcquireOptions {
  const { waitMs = DEFAULTS.waitMs, signal } = known(what, options);
  requireDuration('waitMs', waitMs, { min: 0, max: DAY_MS });
  return { waitMs, signal: requireSignal(signal) };
}

/**
 * `tryAcquire` of all locks but Semaphore has no options, nor has `renew`. Without this check, `tryAcquire({ leaseMs })` and
 * `renew(60_000)` would get a lease of the default duration.
 */
export function requireNoOptions(method: 'renew' | 'tryAcquire', options: NoOptions): void {
  known(method, options);
}

/** The number as text, which is the role of a waiter for permits. */
export function resolvePermits(permits: number = DEFAULTS.permits, limit: number): string {
  return String(requireInteger('permits', permits, { min: 1, max: limit }));
}

export function resolveTryAcquirePermits(options: TryAcquirePermitsOptions, limit: number): string {
  return resolvePermits(known('tryAcquire of a semaphore', options).permits, limit);
}

/** The id is '' by default. */
export function resolveCountDownOptions(
  options: CountDownOptions,
  count: number,
): { readonly id: string; readonly by: number } {
  const { id, by = DEFAULTS.by } = known('countDown', options);
  requireInteger('by', by, { min: 1, max: count });
  return { id: id === undefined ? '' : requireName('id', id), by };
}

/** Checks the `leaseMs` of any lock. Throws TypeError or RangeError. */
export function requireLeaseMs(leaseMs: number): number {
  return requireInteger('leaseMs', leaseMs, { min: 10, max: DAY_MS });
}

/** Members of Redis have dots between their parts, and messages have colons. */
function requireOwner(owner: unknown): void {
  if (typeof owner === 'string' && /^[\w@-]{1,64}$/.test(owner)) return;
  throw new ArgumentTypeError(
    `owner must be 1 to 64 letters, digits, "_", "@" and "-", got ${shownValue(owner)}`,
  );
}

/** Checks the limit of any semaphore. Throws TypeError or RangeError. */
export function requireLimit(permits: number): number {
  return requireInteger('permits', permits, { min: 1, max: 1_000_000 });
}

const MAX_NAMES = 100;

/** The names of a MultiLock, each once. Throws TypeError or RangeError unless they are a list of 1 to 100 names. */
export function requireNames(names: readonly string[]): string[] {
  const different = new Set(
    Array.from(requireArray('names', names), (name, index) => requireName(`names[${index}]`, name)),
  );
  requireInteger('the number of names', different.size, { min: 1, max: MAX_NAMES });
  return [...different];
}

const HOLDER = /^[\w-]{16}\.[a-z\d]{1,11}(?:~[\w@-]{1,64})?\.[1-9]\d{0,3}(?:\.[a-z\d]{1,16})?$/;

/** Checks the `holder` of a lease. Throws TypeError for any other value. */
export function requireHolder(holder: unknown): string {
  if (typeof holder === 'string' && HOLDER.test(holder)) return holder;
  const text = typeof holder === 'object' && holder !== null ? 'an object' : String(holder);
  const got = JSON.stringify(text.slice(0, 64));
  throw new ArgumentTypeError(`holder must be that of a lease, got ${got}`);
}
