import type { OtelApi, OtelOptions } from '@mortise/redis/otel';
import { otelTelemetry as ofScope } from '@mortise/redis/otel';
import type { Telemetry } from '@mortise/redis';

export type { OtelApi, OtelOptions } from '@mortise/redis/otel';

/** For the option `telemetry` of `Queue`, `Worker` and `QueuesModule`: `otelTelemetry(await import('@opentelemetry/api'))`. */
export function otelTelemetry(api: OtelApi, options: OtelOptions = {}): Telemetry {
  return ofScope(api, { scope: '@mortise/queues', ...options });
}
