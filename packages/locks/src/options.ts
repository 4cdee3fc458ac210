import { requireDuration, requireInteger } from '@mortise/redis';

export interface MutexOptions {
  /**
   * How long the lock stays with a holder that was not heard of any more, in ms: a whole number from 10 to 86,400,000
   * (one day). Default 10,000.
   */
  readonly leaseMs?: number;
  /**
   * `true`: first come, first served, among all processes. `false`: a free lock goes to whoever asks first, which
   * saves the exchange when one process takes it again and again, and can starve the others. All users of a lock
   * should agree. Default `true`.
   */
  readonly fair?: boolean;
  /** Whether leases are renewed in the background, a third into each, until they are released. Default `true`. */
  readonly renew?: boolean;
  /**
   * How long a lease is kept by background renewals at most, in ms from its acquisition: from `leaseMs` to 31 days.
   * It bounds what a forgotten release costs. Default: no bound.
   */
  readonly maxHoldMs?: number;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string;
}

export interface AcquireOptions {
  /** How long to wait for the lock, in ms: from 1 to 86,400,000 (one day). Default 30,000. `tryAcquire` never waits. */
  readonly waitMs?: number | undefined;
  /** Ends the wait: the call rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

const DAY_MS = 86_400_000;

export const DEFAULTS = { leaseMs: 10_000, fair: true, renew: true, waitMs: 30_000 };

export interface ResolvedMutexOptions {
  readonly leaseMs: number;
  readonly isFair: boolean;
  /** How long background renewals keep a lease: `leaseMs` means that there are none. */
  readonly keepMs: number;
}

export function resolveMutexOptions(options: MutexOptions): ResolvedMutexOptions {
  const { leaseMs = DEFAULTS.leaseMs, fair = DEFAULTS.fair, renew = DEFAULTS.renew, maxHoldMs } = options;
  requireInteger('leaseMs', leaseMs, { min: 10, max: DAY_MS });
  requireBoolean('fair', fair);
  requireBoolean('renew', renew);
  if (maxHoldMs !== undefined) requireDuration('maxHoldMs', maxHoldMs, { min: leaseMs, max: 31 * DAY_MS });
  return { leaseMs, isFair: fair, keepMs: renew ? (maxHoldMs ?? Infinity) : leaseMs };
}

export interface ResolvedAcquireOptions {
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
}

export function resolveAcquireOptions(options: AcquireOptions): ResolvedAcquireOptions {
  const { waitMs = DEFAULTS.waitMs, signal } = options;
  requireDuration('waitMs', waitMs, { min: 1, max: DAY_MS });
  if (signal !== undefined && typeof signal?.addEventListener !== 'function') {
    throw new TypeError('signal must be an AbortSignal');
  }
  return { waitMs, signal };
}

function requireBoolean(option: string, value: unknown): void {
  if (typeof value !== 'boolean') throw new TypeError(`${option} must be true or false, got ${typeof value}`);
}
