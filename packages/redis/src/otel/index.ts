export type { OtelApi, OtelOptions, OtelTelemetry } from './otel-telemetry.js';
export { otelTelemetry, otelTelemetryOf } from './otel-telemetry.js';
