/** The metrics of queues, workers and claims; docs/queues/reference/metrics.md lists them. Durations are in seconds. */
import type { Metric, TelemetryAttributes } from '@mortise/redis';
import { metricsOf } from '@mortise/redis';

const metric = /* @__PURE__ */ metricsOf('queues');

export const ENQUEUED = /* @__PURE__ */ metric(
  'enqueued',
  '{task}',
  'Tasks that were stored, duplicates not counted',
);
export const SUCCEEDED = /* @__PURE__ */ metric('succeeded', '{task}', 'Tasks that succeeded');
export const FAILED = /* @__PURE__ */ metric('failed', '{attempt}', 'Attempts that failed');
export const RETRIED = /* @__PURE__ */ metric(
  'retried',
  '{attempt}',
  'Attempts after which the task will be run again',
);
export const DEAD = /* @__PURE__ */ metric('dead', '{task}', 'Tasks that ended among the dead');
export const CANCELLED = /* @__PURE__ */ metric('cancelled', '{task}', 'Tasks that were cancelled');
export const LEASE_LOST = /* @__PURE__ */ metric('lease_lost', '{attempt}', 'Attempts that lost their lease');
export const WAIT = /* @__PURE__ */ metric(
  'wait',
  's',
  'From enqueue, so with the delay of a scheduled task, to the start of the first attempt',
);
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
