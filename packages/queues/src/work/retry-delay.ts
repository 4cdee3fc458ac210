import { backoffDelayMs, requireDuration } from '@mortise/redis';
import { WorkerError } from '../errors.js';
import type { BackoffFunction, ResolvedBackoff } from '../options.js';
import { MAX_DELAY_MS } from '../limits.js';
import { DEFAULTS } from '../options.js';
import type { Attempt } from './attempt.js';

/**
 * The delay after a failed attempt: by the backoff of the task, unless that is custom, otherwise by that of the worker. A
 * backoff function that returns no delay is reported; then the numbers of the task count, or the defaults.
 */
export function retryDelayMs(
  failed: Pick<Attempt, 'id' | 'queue' | 'name' | 'attempt' | 'attempts' | 'record'>,
  error: unknown,
  policy: ResolvedBackoff | BackoffFunction,
  onError: (error: unknown) => void,
): number {
  const { id, queue, name, attempt, attempts } = failed;
  const own = failed.record.extras.backoff;
  if (own && own.type !== 'custom') return delayOf(own, attempt);
  if (typeof policy !== 'function') return delayOf(policy, attempt);
  try {
    const delayMs: unknown = policy({ id, queue, name, attempt, attempts, error });
    // The function may return a promise despite its type; a rejection must not end the process.
    if (delayMs instanceof Promise) delayMs.catch(() => undefined);
    return requireDuration('the delay', delayMs, { min: 0, max: MAX_DELAY_MS });
  } catch (cause) {
    onError(new WorkerError('ERR_BACKOFF_FUNCTION', queue, id, name, cause));
    return delayOf(own ?? DEFAULTS.backoff, attempt);
  }
}

function delayOf(backoff: ResolvedBackoff, attempt: number): number {
  return backoffDelayMs({ ...backoff, type: backoff.type === 'fixed' ? 'fixed' : 'exponential' }, attempt);
}
