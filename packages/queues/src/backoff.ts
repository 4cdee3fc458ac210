import type { Backoff } from './options.js';

/** The delay before the next attempt in ms, after `attempt` failed ones (1 is the first). */
export function backoffDelayMs(
  { type, delayMs, maxDelayMs, jitter }: Required<Backoff>,
  attempt: number,
  random: () => number = Math.random,
): number {
  const full = type === 'fixed' ? delayMs : Math.min(maxDelayMs, delayMs * 2 ** Math.min(attempt - 1, 52));
  return Math.round(full * (1 - jitter * random()));
}
