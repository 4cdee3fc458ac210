/** All metrics of the package, for docs/locks/reference/metrics.md. Durations are in seconds. All have `mortise.locks.kind`. */
import type { Metric } from '@mortise/redis';
import { metricsOf } from '@mortise/redis';

/** Attributes. */
export const KIND = 'mortise.locks.kind';
export const OUTCOME = 'mortise.locks.outcome';

const metric = /* @__PURE__ */ metricsOf('locks');

/** `mortise.locks.outcome` is `granted`, `refused` (`tryAcquire`), `timeout` or `failed`. */
export const WAIT = /* @__PURE__ */ metric(
  'wait',
  's',
  'From the call to the grant, the refusal or the error, by outcome',
);
export const HOLD = /* @__PURE__ */ metric(
  'hold',
  's',
  'From the grant to the release or the loss of a lease',
);
/** `mortise.locks.reason` is `expired` or `taken`. */
export const LOST = /* @__PURE__ */ metric(
  'lost',
  '{lease}',
  'Leases that ended before their release, by reason',
);
/** `mortise.locks.outcome` is `allowed` or `refused`. */
export const TAKES = /* @__PURE__ */ metric('takes', '{take}', 'Takes from rate limiters, by outcome');

export const METRICS: readonly Metric[] = [WAIT, HOLD, LOST, TAKES];
