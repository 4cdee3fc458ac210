/** The log aggregation without any framework: what the benchmark, tests and examples import as `@mortise/worker/log-aggregation`. */
export { CheckpointConflictError, LeaseTooShortError, RangeTableError } from './errors.js';
export { LineCounter } from './line-counter.js';
export { LogAggregator } from './log-aggregator.js';
export type { LogCollectorOptions } from './log-collector.js';
export { LogCollector } from './log-collector.js';
export type { FileLease, FileReport, LogFile } from './log-file.js';
export type { MalformedSample, Reason } from './malformed-lines.js';
export { MalformedLines, REASONS } from './malformed-lines.js';
export type { LogAggregatorOptions } from './options.js';
export { DEFAULTS } from './options.js';
export { Places } from './places.js';
export { readMmdb } from './mmdb.js';
export { parseRangeCsv, readRangeCsv } from './range-csv.js';
export type { RangeTable } from './range-table.js';
export { RangeTableBuilder } from './range-table-builder.js';
export { readRangeTable } from './range-file.js';
