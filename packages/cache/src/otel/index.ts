/** A `Telemetry` that records in OpenTelemetry. */
export type { OtelApi, OtelOptions } from '@mortise/redis/otel';
export { otelTelemetry } from '@mortise/redis/otel';
