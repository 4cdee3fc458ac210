/** Traces of requests and tasks. */
export { startTracing } from './start-tracing.js';
export { traceIdOf } from './trace-id.js';
export type { RequestSpan, Tracing } from './tracing.js';
