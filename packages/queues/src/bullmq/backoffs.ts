/** The delay before the next attempt, by the rules of BullMQ. */
import type { JobLike } from './host.js';
import type { BackoffOptions, BackoffStrategy } from './types.js';

export function normalizeBackoff(backoff: number | BackoffOptions | undefined): BackoffOptions | undefined {
  if (typeof backoff === 'number' && Number.isFinite(backoff)) return { type: 'fixed', delay: backoff };
  return (backoff as BackoffOptions | undefined) || undefined;
}

/** ms; -1: no further attempt. */
export async function backoffDelay(
  job: JobLike,
  attemptsMade: number,
  error: Error,
  strategy: BackoffStrategy | undefined,
): Promise<number> {
  const backoff = normalizeBackoff(job.opts.backoff);
  if (!backoff) return 0;
  const { type, delay = 0, jitter = 0 } = backoff;
  if (type === 'fixed') return jittered(delay, jitter);
  if (type === 'exponential') return jittered(Math.round(2 ** (attemptsMade - 1) * delay), jitter);
  if (!strategy) {
    throw new Error(
      `Unknown backoff strategy ${type}. If a custom backoff strategy is used, specify it when the queue is created.`,
    );
  }
  return strategy(attemptsMade, type, error, job);
}

function jittered(delay: number, jitter: number): number {
  if (jitter <= 0) return delay;
  return Math.floor(Math.random() * delay * jitter + delay * (1 - jitter));
}
