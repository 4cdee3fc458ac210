/** `Telemetry` on the API of OpenTelemetry: `otelTelemetry(await import('@opentelemetry/api'))`. */
import type { Telemetry } from '@mortise/redis';
import type { OtelApi } from '@mortise/redis/otel';
import { otelTelemetry as adapt } from '@mortise/redis/otel';

/** For the option `telemetry` of any lock and of `LocksModule`. */
export function otelTelemetry(api: OtelApi): Telemetry {
  return adapt(api, { scope: '@mortise/locks' });
}
