/** All metrics of the package; the README lists them. Durations are in seconds. All have `mortise.locks.kind`. */
import type { Metric } from '@mortise/redis';

const metric = (name: string, unit: string, description: string): Metric => ({
  name: `mortise.locks.${name}`,
  unit,
  description,
});

/** A histogram, with `mortise.locks.outcome`. */
export const WAIT = metric('wait', 's', 'From the call to the grant, the refusal or the error, by outcome');
/** A histogram. */
export const HOLD = metric('hold', 's', 'From the grant to the release or the loss of a lease');
/** With `mortise.locks.reason`. */
export const LOST = metric('lost', '{lease}', 'Leases that ended before their release, by reason');
/** With `mortise.locks.outcome`. */
export const TAKES = metric('takes', '{take}', 'Takes from rate limiters, by outcome');

export const METRICS: readonly Metric[] = [WAIT, HOLD, LOST, TAKES];
