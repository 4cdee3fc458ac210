import { requireDuration, requireInteger, requireName } from '@mortise/redis';

export interface LogAggregatorOptions {
  /** First part of every key; the same as the API's. */
  readonly prefix?: string;
  /** How long the aggregates of a day are kept after it was last counted, ms. Lines of days before are not counted. Default 400 days. */
  readonly retentionMs?: number;
  /**
   * How long a day remembers which files are counted, ms, from when it was last counted; a file that comes again later is counted again.
   * Default 30 days; not longer than `retentionMs`.
   */
  readonly markerMs?: number;
  /**
   * A file that is done and never comes again (one of a channel) is forgotten after so long, ms, while the aggregator lives; sooner, a failover of Redis
   * that forgets that it was done would count it twice. Default 60 s.
   */
  readonly forgetMs?: number;
  /** Lines are flushed and acked after so many bytes of a file; less than the window of who sends it. Default 16 MiB. */
  readonly checkpointBytes?: number;
  /** And after so long, ms, where a file grows slowly. Default 5 s. */
  readonly checkpointMs?: number;
  /** Cities of all days whose counters may wait for a flush, for each file: what bounds memory. Default 100,000. */
  readonly maxKeys?: number;
  /** Days whose counters are in memory, for each file; each takes 8 bytes for each place of the table. Default 16. */
  readonly maxDays?: number;
  /** Longer lines are malformed. Default 64 KiB. */
  readonly maxLineBytes?: number;
  /** Files that are counted side by side: one that is still being written doesn't hold up the others. Default 4. */
  readonly concurrency?: number;
  /** Told when Redis fails, and is asked again; and when a file fails. Default: one line on stderr. */
  readonly onError?: (error: unknown) => void;
}

const DAY_MS = 86_400_000;
const MAX_RETENTION_MS = 36_500 * DAY_MS;

export const DEFAULTS = {
  retentionMs: 400 * DAY_MS,
  markerMs: 30 * DAY_MS,
  forgetMs: 60_000,
  checkpointBytes: 16 * 1_048_576,
  checkpointMs: 5_000,
  maxKeys: 100_000,
  maxDays: 16,
  maxLineBytes: 65_536,
  concurrency: 4,
} as const;

export type ResolvedOptions = Required<Omit<LogAggregatorOptions, 'prefix'>> & {
  readonly prefix: string | undefined;
};

/** Throws TypeError or RangeError that names the option, its value and the limit. */
export function resolveOptions(options: LogAggregatorOptions = {}): ResolvedOptions {
  const { prefix, onError = (error: unknown) => console.error(error) } = options;
  const retentionMs = requireDuration('retentionMs', options.retentionMs ?? DEFAULTS.retentionMs, {
    min: DAY_MS,
    max: MAX_RETENTION_MS,
  });
  return {
    prefix: prefix === undefined ? undefined : requireName('prefix', prefix),
    onError,
    retentionMs: Math.floor(retentionMs),
    markerMs: Math.floor(
      requireDuration('markerMs', options.markerMs ?? Math.min(DEFAULTS.markerMs, retentionMs), {
        min: 60_000,
        max: retentionMs,
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
