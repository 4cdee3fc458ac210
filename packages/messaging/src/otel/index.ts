import { otelTelemetry as sharedTelemetry } from '@mortise/redis/otel';
import type { OtelApi, OtelOptions } from '@mortise/redis/otel';
import type { Telemetry } from '@mortise/redis';

export type { OtelApi, OtelOptions };

/**
 * The option `telemetry` of mailboxes, chats and files for OpenTelemetry: `otelTelemetry(await import('@opentelemetry/api'))`.
 * The scope is `@mortise/messaging`, unless `options` say otherwise.
 */
export function otelTelemetry(api: OtelApi, options: OtelOptions = {}): Telemetry {
  return sharedTelemetry(api, { scope: '@mortise/messaging', ...options });
}
