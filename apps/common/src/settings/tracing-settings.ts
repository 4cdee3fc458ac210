/** Whether traces are recorded: the standard variables of OpenTelemetry. Its SDK reads the others by itself. */
import { z } from 'zod';

import { url } from './fields.js';

const PROTOCOLS = ['http/protobuf', 'http/json'] as const;
const protocol = () => z.enum(PROTOCOLS, `must be ${PROTOCOLS.join(' or ')}`).optional();
const endpoint = () => url('http', 'https').optional();

export const TRACING_FIELDS = {
  OTEL_SDK_DISABLED: z.stringbool('must be true or false').optional(),
  OTEL_TRACES_EXPORTER: z.enum(['otlp', 'none'], 'must be otlp or none').optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint(),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol(),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol(),
};

/** How spans leave the process. */
export interface TraceExport {
  readonly protocol: (typeof PROTOCOLS)[number];
}

/** Undefined unless the variables name an exporter or its endpoint, or if they switch tracing off. */
export function traceExportOf(env: z.output<z.ZodObject<typeof TRACING_FIELDS>>): TraceExport | undefined {
  const isNamed =
    env.OTEL_TRACES_EXPORTER === 'otlp' ||
    env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT !== undefined ||
    env.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined;
  if (env.OTEL_SDK_DISABLED === true || env.OTEL_TRACES_EXPORTER === 'none' || !isNamed) return undefined;
  const { OTEL_EXPORTER_OTLP_TRACES_PROTOCOL, OTEL_EXPORTER_OTLP_PROTOCOL } = env;
  return { protocol: OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? OTEL_EXPORTER_OTLP_PROTOCOL ?? 'http/protobuf' };
}
