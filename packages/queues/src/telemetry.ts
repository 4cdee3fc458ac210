/** The metrics of queues, workers and claims, for docs/queues/reference/metrics.md. Durations are in seconds. */
import type { Metric, TelemetryAttributes } from '@mortise/redis';
import { metricsOf } from '@mortise/redis';

const metric = /* @__PURE__ */ metricsOf('queues');

/** Tasks of a schedule don't count. */
export const ENQUEUED = /* @__PURE__ */ metric(
  'enqueued',
  '{task}',
  'Tasks that were stored, duplicates not counted',
);
export const SUCCEEDED = /* @__PURE__ */ metric('succeeded', '{task}', 'Tasks that succeeded');
/** The last attempt of a task counts too. */
export const FAILED = /* @__PURE__ */ metric('failed', '{attempt}', 'Attempts that failed');
/** `RetryLater` counts too. */
export const RETRIED = /* @__PURE__ */ metric(
  'retried',
  '{attempt}',
  'Attempts after which the task will be run again',
);
export const DEAD = /* @__PURE__ */ metric('dead', '{task}', 'Tasks that ended among the dead');
/** `queue.cancel` counts them, whether they waited or ran. */
export const CANCELLED = /* @__PURE__ */ metric('cancelled', '{task}', 'Tasks that were cancelled');
/** A completion that Redis refuses counts too. */
export const LEASE_LOST = /* @__PURE__ */ metric('lease_lost', '{attempt}', 'Attempts that lost their lease');
/** The clock of Redis measures it. */
export const WAIT = /* @__PURE__ */ metric(
  'wait',
  's',
  'From enqueue, so with the delay of a scheduled task, to the start of the first attempt',
);
/** `mortise.outcome` is `succeeded`, `failed`, `dead`, `later`, `returned`, `cancelled` or `lost`. */
export const RUN = /* @__PURE__ */ metric('run', 's', 'From the start of an attempt to its end');

export const METRICS: readonly Metric[] = [
  ENQUEUED,
  SUCCEEDED,
  FAILED,
  RETRIED,
  DEAD,
  CANCELLED,
  LEASE_LOST,
  WAIT,
  RUN,
];

export function queueAttributes(queue: string): TelemetryAttributes {
  return { 'messaging.system': 'mortise', 'messaging.destination.name': queue };
}

/** For metrics, so each has few values. */
export function metricAttributes(queue: string, task: string): TelemetryAttributes {
  return { 'messaging.system': 'mortise', 'messaging.destination.name': queue, 'mortise.task.name': task };
}

/** For spans, by OpenTelemetry's semantic conventions for messaging. */
export function spanAttributes(operation: 'send' | 'process', queue: string): TelemetryAttributes {
  return {
    ...queueAttributes(queue),
    'messaging.operation.name': operation,
    'messaging.operation.type': operation,
  };
}
