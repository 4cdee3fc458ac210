import { metricsOf } from '@mortise/redis';

const metric = metricsOf('messaging');

/** Labels of every count. */
export const LOG_TELEMETRY = { 'messaging.system': 'mortise', 'mortise.messaging.kind': 'log' };

/** With `mortise.messaging.lines`: `counted`, `repeated`, or the reason for which they are malformed. */
export const LOG_LINES = metric('log_lines', '{line}', 'Lines of access logs that were read');
