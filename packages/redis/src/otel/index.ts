export type { OtelApi, OtelOptions } from './otel-telemetry.js';
export { otelTelemetry } from './otel-telemetry.js';
