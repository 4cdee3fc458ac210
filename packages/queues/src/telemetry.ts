/** The metrics of queues and workers; the README lists them. Durations are in seconds. */
import type { Metric, TelemetryAttributes } from '@mortise/redis';

const counter = (name: string, unit: string, description: string): Metric => ({
  name: `mortise.queues.${name}`,
  unit,
  description,
});

export const ENQUEUED = counter('enqueued', '{task}', 'Tasks that were stored, duplicates not counted');
export const SUCCEEDED = counter('succeeded', '{task}', 'Tasks that succeeded');
export const FAILED = counter('failed', '{attempt}', 'Attempts that failed');
export const RETRIED = counter('retried', '{attempt}', 'Attempts after which the task will be run again');
export const DEAD = counter('dead', '{task}', 'Tasks that ended among the dead');
export const CANCELLED = counter('cancelled', '{task}', 'Tasks that were cancelled');
export const LEASE_LOST = counter('lease_lost', '{attempt}', 'Attempts that lost their lease');

export const WAIT: Metric = {
  name: 'mortise.queues.wait',
  unit: 's',
  description: 'From enqueue, so with the delay of a scheduled task, to the start of the first attempt',
};
export const RUN: Metric = {
  name: 'mortise.queues.run',
  unit: 's',
  description: 'From the start of an attempt to its end',
};

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
