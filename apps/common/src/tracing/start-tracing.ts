import type { Logger } from 'pino';

import type { TraceExport } from '../settings/index.js';
import type { Tracing } from './tracing.js';

/** A collector that is away is logged once in this time. */
const QUIET_MS = 60_000;

/** Begins to record traces, once in a process. Without an export nothing of OpenTelemetry is loaded. */
export async function startTracing(
  app: string,
  to: TraceExport | undefined,
  log: Logger,
): Promise<Tracing | undefined> {
  if (!to) return undefined;
  const [{ openTelemetry }, { openExporter }] = await Promise.all([
    import('./open-telemetry.js'),
    import('./open-exporter.js'),
  ]);
  let loggedAt = -Infinity;
  const onError = (error: unknown): void => {
    if (performance.now() - loggedAt < QUIET_MS) return;
    loggedAt = performance.now();
    // The answer of a collector may repeat what it was sent.
    const { name, code } = error as { name?: string; code?: unknown };
    log.warn({ reason: name, code }, 'traces could not be exported');
  };
  return openTelemetry(app, await openExporter(to), onError);
}
