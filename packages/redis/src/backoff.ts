import { requireDuration, requireKnown, requireNumber, requireObject, requireOneOf } from './require.js';

/** The delay before a failed attempt is repeated. */
export interface Backoff {
  /** `exponential` doubles the delay after each failed attempt, `fixed` keeps it. */
  readonly type?: 'exponential' | 'fixed' | undefined;
  /** The delay after the first failed attempt, ms. 0 to 10 years. */
  readonly delayMs?: number | undefined;
  /** Upper limit of the delay, ms. From `delayMs` to 10 years. */
  readonly maxDelayMs?: number | undefined;
  /** The random share of the delay, 0 to 1. With 0.5 the delay is random between half and all of it. */
  readonly jitter?: number | undefined;
}

export interface ResolvedBackoff {
  readonly type: 'exponential' | 'fixed';
  readonly delayMs: number;
  readonly maxDelayMs: number;
  readonly jitter: number;
}

const TEN_YEARS_MS = 10 * 365.25 * 86_400_000;
const KNOWN: ReadonlySet<string> = new Set<keyof Backoff>(['type', 'delayMs', 'maxDelayMs', 'jitter']);

/**
 * Checks a backoff and fills in defaults. Without `maxDelayMs` the limit is that of the default, or `delayMs` if that is
 * longer. Throws TypeError or RangeError.
 */
export function resolveBackoff(backoff: Backoff | undefined, defaults: ResolvedBackoff): ResolvedBackoff {
  if (backoff === undefined) return defaults;
  requireKnown('backoff', requireObject('backoff', backoff), KNOWN);
  const { type = defaults.type, delayMs = defaults.delayMs, jitter = defaults.jitter } = backoff;
  requireOneOf('backoff.type', type, ['exponential', 'fixed']);
  requireDuration('backoff.delayMs', delayMs, { min: 0, max: TEN_YEARS_MS });
  const { maxDelayMs = Math.max(delayMs, defaults.maxDelayMs) } = backoff;
  requireDuration('backoff.maxDelayMs', maxDelayMs, { min: delayMs, max: TEN_YEARS_MS });
  requireNumber('backoff.jitter', jitter, { min: 0, max: 1 });
  return { type, delayMs, maxDelayMs, jitter };
}

/** Returns the delay in whole ms after `attempt` failed attempts, counted from 1. */
export function backoffDelayMs(
  { type, delayMs, maxDelayMs, jitter }: ResolvedBackoff,
  attempt: number,
  random: () => number = Math.random,
): number {
  const full = type === 'fixed' ? delayMs : Math.min(maxDelayMs, delayMs * 2 ** Math.min(attempt - 1, 52));
  return Math.round(full * (1 - jitter * random()));
}
