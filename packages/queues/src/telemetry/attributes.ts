import type { TelemetryAttributes } from '@mortise/redis';

export function queueAttributes(queue: string): TelemetryAttributes {
  return { 'messaging.system': 'mortise', 'messaging.destination.name': queue };
}

/** Of metrics: few values each. */
export function metricAttributes(queue: string, task: string): TelemetryAttributes {
  return { 'messaging.system': 'mortise', 'messaging.destination.name': queue, 'mortise.task.name': task };
}

/** Of spans, by the semantic conventions of OpenTelemetry for messaging. */
export function spanAttributes(operation: 'send' | 'process', queue: string): TelemetryAttributes {
  return {
    ...queueAttributes(queue),
    'messaging.operation.name': operation,
    'messaging.operation.type': operation,
  };
}
