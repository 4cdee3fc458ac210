import type { OtelTelemetry } from '@mortise/redis/otel';
import { otelTelemetryOf } from '@mortise/redis/otel';

export type { OtelApi, OtelOptions } from '@mortise/redis/otel';

/** For the option `telemetry` of any class and of `CachesModule`: `otelTelemetry(await import('@opentelemetry/api'))`. */
export const otelTelemetry: OtelTelemetry = /* @__PURE__ */ otelTelemetryOf('cache');
