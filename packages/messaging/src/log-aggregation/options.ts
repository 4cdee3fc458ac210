import type { OnError, Resolved, Telemetry } from '@mortise/redis';
import {
  ErrorReporter,
  requireDuration,
  requireInteger,
  requireName,
  requireOptions,
  SafeTelemetry,
} from '@mortise/redis';

import { LOG_TELEMETRY } from './metrics.js';

export interface LogAggregatorOptions {
  /** The first part of every key: the same prefix as the API's. */
  readonly prefix?: string | undefined;
  /** How long the aggregates of a day are kept after it was last counted, ms: from 1 day to 36,500 days. Default 400 days. */
  readonly keepMs?: number | undefined;
  /**
   * The age up to which a day is counted, ms, at most 36,500 days. Lines of older days, and of days after tomorrow, are malformed for
   * the reason `window`. Default `keepMs`.
   */
  readonly maxAgeMs?: number | undefined;
  /**
   * How long the marks of files are kept, ms, after their day was last counted; a file that comes again later is counted again.
   * From 1 minute to `keepMs`. Default 30 days.
   */
  readonly markerMs?: number | undefined;
  /**
   * How long the marks of a file stay, ms, when the file is done and never comes again (as a file of a channel). A failover of
   * Redis that loses more than this time counts the file twice. Up to 1 day. Default 60 s.
   */
  readonly forgetMs?: number | undefined;
  /** Lines are flushed and acked after this many bytes of a file; fewer than the window of its sender. Up to 1 GiB. Default 16 MiB. */
  readonly checkpointBytes?: number | undefined;
  /** Lines are also flushed after this time, ms, where a file grows slowly: from 10 ms to 1 hour. Default 5 s. */
  readonly checkpointMs?: number | undefined;
  /**
   * Maximum of counters, of cities on all days, that wait for a flush, for each file. This bounds memory. Up to 10,000,000.
   * Default 100,000.
   */
  readonly maxKeys?: number | undefined;
  /** The most days whose counters are in memory, for each file. A day takes 8 bytes for each place of the table. Up to 1,000. Default 16. */
  readonly maxDays?: number | undefined;
  /** Longer lines are malformed. From 64 bytes to 16 MiB. Default 64 KiB. */
  readonly maxLineBytes?: number | undefined;
  /**
   * Maximum of files that are counted side by side, so that a file that is still being written doesn't delay the others. From 1
   * to 64. Default 4.
   */
  readonly concurrency?: number | undefined;
  /** Called when a call of Redis fails and is repeated, and when a file fails. Default: one line on stderr. */
  readonly onError?: OnError | undefined;
  /** Receives counts of lines, see docs/messaging/reference/metrics.md. Default: none. */
  readonly telemetry?: Telemetry | undefined;
}

const DAY_MS = 86_400_000;
const MAX_RETENTION_MS = 36_500 * DAY_MS;

export const DEFAULTS = {
  keepMs: 400 * DAY_MS,
  markerMs: 30 * DAY_MS,
  forgetMs: 60_000,
  checkpointBytes: 16 * 1_048_576,
  checkpointMs: 5_000,
  maxKeys: 100_000,
  maxDays: 16,
  maxLineBytes: 65_536,
  concurrency: 4,
} as const;

export const AGGREGATOR_OPTIONS: ReadonlySet<keyof LogAggregatorOptions> = new Set<
  keyof LogAggregatorOptions
>([
  'prefix',
  'keepMs',
  'maxAgeMs',
  'markerMs',
  'forgetMs',
  'checkpointBytes',
  'checkpointMs',
  'maxKeys',
  'maxDays',
  'maxLineBytes',
  'concurrency',
  'onError',
  'telemetry',
]);

export type ResolvedOptions = Resolved<Omit<LogAggregatorOptions, 'prefix' | 'onError' | 'telemetry'>> & {
  readonly telemetry: SafeTelemetry | undefined;
  readonly errors: ErrorReporter;
  readonly prefix: string | undefined;
};

/** Throws TypeError or RangeError that names the option, its value and the limit. */
export function resolveOptions(options: LogAggregatorOptions = {}): ResolvedOptions {
  const { prefix, onError, telemetry } = requireOptions('LogAggregator', options, AGGREGATOR_OPTIONS);
  const keepMs = requireDuration('keepMs', options.keepMs ?? DEFAULTS.keepMs, {
    min: DAY_MS,
    max: MAX_RETENTION_MS,
  });
  return {
    prefix: prefix === undefined ? undefined : requireName('prefix', prefix),
    telemetry: SafeTelemetry.of(telemetry, LOG_TELEMETRY),
    errors: new ErrorReporter('mortise log aggregation', onError),
    keepMs: Math.floor(keepMs),
    maxAgeMs: requireDuration('maxAgeMs', options.maxAgeMs ?? keepMs, { min: 0, max: MAX_RETENTION_MS }),
    markerMs: Math.floor(
      requireDuration('markerMs', options.markerMs ?? Math.min(DEFAULTS.markerMs, keepMs), {
        min: 60_000,
        max: keepMs,
      }),
    ),
    forgetMs: requireDuration('forgetMs', options.forgetMs ?? DEFAULTS.forgetMs, { min: 0, max: 86_400_000 }),
    checkpointBytes: integer('checkpointBytes', 1, 1_073_741_824),
    checkpointMs: requireDuration('checkpointMs', options.checkpointMs ?? DEFAULTS.checkpointMs, {
      min: 10,
      max: 3_600_000,
    }),
    maxKeys: integer('maxKeys', 1, 10_000_000),
    maxDays: integer('maxDays', 1, 1_000),
    maxLineBytes: integer('maxLineBytes', 64, 16_777_216),
    concurrency: integer('concurrency', 1, 64),
  };

  function integer(name: Exclude<keyof typeof DEFAULTS, 'markerMs'>, min: number, max: number): number {
    return requireInteger(name, options[name] ?? DEFAULTS[name], { min, max });
  }
}
