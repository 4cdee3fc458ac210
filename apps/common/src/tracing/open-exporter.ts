import type { SpanProcessor } from '@opentelemetry/sdk-trace-base';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';

import type { TraceExport } from '../settings/index.js';

/** Sends spans in batches by OTLP. The SDK reads endpoint, headers and sizes of batches from the environment. */
export async function openExporter({ protocol }: TraceExport): Promise<SpanProcessor> {
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  return new BatchSpanProcessor(new OTLPTraceExporter());
}
