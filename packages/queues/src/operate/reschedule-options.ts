import { ArgumentTypeError, requireOptions } from '@mortise/redis';
import { resolveWhen } from '../options.js';

export interface RescheduleOptions {
  /** The delay from now, ms: 0 to 10 years. Excludes `runAt`. */
  readonly delayMs?: number | undefined;
  /** An instant, ms since the epoch or a Date. Excludes `delayMs`. An instant up to a minute ago means now. */
  readonly runAt?: number | Date | undefined;
}

const RESCHEDULE_OPTIONS = new Set(['delayMs', 'runAt']);

/** As `resolveWhen`. Throws TypeError or RangeError. */
export function resolveReschedule(options: RescheduleOptions): number {
  requireOptions('reschedule', options, RESCHEDULE_OPTIONS);
  const { delayMs, runAt } = options;
  if (delayMs === undefined && runAt === undefined)
    throw new ArgumentTypeError('reschedule needs delayMs or runAt');
  return resolveWhen(options);
}
