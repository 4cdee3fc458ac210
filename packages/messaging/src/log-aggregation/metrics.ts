/** The metrics of log aggregation, for docs/messaging/reference/metrics.md. */
import { metricsOf } from '@mortise/redis';

const metric = metricsOf('messaging');

/** Labels of every count. */
export const LOG_TELEMETRY = { 'messaging.system': 'mortise', 'mortise.messaging.kind': 'log' };

/** `mortise.messaging.lines` is `counted`, `repeated` (skipped), or the reason of a malformed line. */
export const LOG_LINES = metric('log_lines', '{line}', 'Lines of access logs that were read');
