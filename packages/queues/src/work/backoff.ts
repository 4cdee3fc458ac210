import { requireDuration } from '@mortise/redis';
import { WorkerError } from '../errors.js';
import type { Backoff, BackoffFunction } from '../options.js';
import { MAX_DELAY_MS } from '../limits.js';
import { DEFAULTS } from '../options.js';
import type { Attempt } from './attempt.js';

/** The delay before the next attempt in ms, after `attempt` failed ones (1 is the first). */
export function backoffDelayMs(
  { type, delayMs, maxDelayMs, jitter }: Required<Backoff>,
  attempt: number,
  random: () => number = Math.random,
): number {
  const full = type === 'fixed' ? delayMs : Math.min(maxDelayMs, delayMs * 2 ** Math.min(attempt - 1, 52));
  return Math.round(full * (1 - jitter * random()));
}

/**
 * The delay after a failed attempt: by the backoff of the task, unless that is custom, or else by the policy of the worker.
 * A function that doesn't tell one is reported; then the task's own figures count, or the defaults.
 */
export function retryDelayMs(
  failed: Pick<Attempt, 'id' | 'queue' | 'name' | 'attempt' | 'attempts' | 'record'>,
  error: unknown,
  policy: Required<Backoff> | BackoffFunction,
  onError: (error: unknown) => void,
): number {
  const { id, queue, name, attempt, attempts } = failed;
  const own = failed.record.extras.backoff;
  if (own && own.type !== 'custom') return backoffDelayMs(own, attempt);
  if (typeof policy !== 'function') return backoffDelayMs(policy, attempt);
  try {
    const delayMs: unknown = policy({ id, queue, name, attempt, attempts, error });
    // Against the type, it may be a promise, whose rejection nobody would hear of.
    if (delayMs instanceof Promise) delayMs.catch(() => undefined);
    return requireDuration('the delay', delayMs, { min: 0, max: MAX_DELAY_MS });
  } catch (cause) {
    onError(new WorkerError('ERR_BACKOFF_FUNCTION', queue, id, name, cause));
    return backoffDelayMs(own ?? DEFAULTS.backoff, attempt);
  }
}
