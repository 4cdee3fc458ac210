import {
  ArgumentRangeError,
  ArgumentTypeError,
  requireDuration,
  requireInteger,
  requireOneOf,
} from '@mortise/redis';
import type { Telemetry } from '@mortise/redis';
import { jsonCodec } from './read-through/codec.js';
import type { Codec } from './read-through/codec.js';

/**
 * Loads rows by id, all in one query. A row that is missing in the result, or null, is gone: see `vanished`. A key that was
 * not asked for is a mistake and fails the batch. The signal is aborted when the result comes too late.
 */
export type LoadRows<Row> = (
  ids: readonly string[],
  signal: AbortSignal,
) => Promise<ReadonlyMap<string, Row | null | undefined>>;

/** The loader of a table, and its bounds. */
export interface RowCacheOptions<Row> {
  /** Required where a `Refresher` is given the rows. A process that only reads and schedules needs none. */
  readonly load?: LoadRows<Row>;
  /** The most bytes of one row, encoded, up to 16 MiB. Default 1 MiB. */
  readonly maxRowBytes?: number;
  /** A row is refreshed up to this part of `everyMs` early, so that rows scheduled together spread; 0 to 0.5. Default 0.1. */
  readonly jitter?: number;
  /**
   * A value is kept for so long without being loaded again, in ms, from 1 minute, and at least for 10 × `everyMs`: how long
   * a source may be down until reads find nothing. Half of it is certain. Default 2 days.
   */
  readonly keepMs?: number;
  /**
   * What becomes of a row that `load` does not return. `remove`: it leaves cache and schedule. `tombstone`: it leaves the cache
   * and is asked for again each `everyMs`, until it has been gone for `tombstoneMs`. Default `remove`.
   */
  readonly vanished?: 'remove' | 'tombstone';
  /** In ms, up to 3,650 days. Default 1 hour. */
  readonly tombstoneMs?: number;
  /** How rows become bytes. Default: JSON. */
  readonly codec?: Codec<Row>;
  /** Of the shape of the rows, 0 to 65,535: rows of another version read as absent until they are loaded again. Default 0. */
  readonly version?: number;
  /**
   * Slots over which the rows spread, 1 to 64. All users of a table have to agree, for as long as it exists. Default 16 on
   * Cluster, else 1.
   */
  readonly shards?: number;
  /** The schedule goes away when no refresher runs and nothing is scheduled for so long, in ms, from 1 minute. Default 30 days. */
  readonly idleMs?: number;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string;
  /** Is told what its readers find, see the README. Default: nobody. */
  readonly telemetry?: Telemetry;
}

/** Of one row. */
export interface ScheduleOptions {
  /** How often the row is refreshed, in ms, finite, up to 3,650 days. 0 or less takes it out of cache and schedule. */
  readonly everyMs: number;
}

/** Of many rows. */
export interface ScheduleAllOptions extends ScheduleOptions {
  /** Ends the walk through the ids: the call rejects with the reason. */
  readonly signal?: AbortSignal;
}

/** How a process refreshes; each may do it differently. */
export interface RefresherOptions {
  /** Batches of one table that this process loads at once, 1 to 100; up to four small ones of rows whose last load failed come on top, and a small query beside each that takes unusually long. Default 2. */
  readonly concurrency?: number;
  /** Rows in one batch, 1 to 500. Default 250. */
  readonly batch?: number;
  /** A batch that is not done after so long, in ms, is given to others; its loader has 90 % of it. Default 30,000. */
  readonly leaseMs?: number;
  /** The first pause of a row whose load failed, in ms; it doubles up to `maxBackoffMs`. Default 500. */
  readonly minBackoffMs?: number;
  /** Default 60,000. */
  readonly maxBackoffMs?: number;
  /** Is told what is counted and measured, see the README. Default: nobody. */
  readonly telemetry?: Telemetry;
  /** Hears of everything that failed in the background. Default: one line on stderr. */
  readonly onError?: (error: unknown) => void;
}

const DAY_MS = 86_400_000;
const MIB = 1_048_576;
const MAX_MS = 3_650 * DAY_MS;
const CLUSTER_SHARDS = 16;

export const DEFAULTS = {
  maxRowBytes: MIB,
  jitter: 0.1,
  keepMs: 2 * DAY_MS,
  vanished: 'remove',
  tombstoneMs: 3_600_000,
  version: 0,
  idleMs: 30 * DAY_MS,
  concurrency: 2,
  batch: 250,
  leaseMs: 30_000,
  minBackoffMs: 500,
  maxBackoffMs: 60_000,
} as const;

/** What a refresher has to know about a table. */
export interface TableOptions<Row> {
  readonly load: LoadRows<Row> | undefined;
  readonly maxRowBytes: number;
  readonly jitter: number;
  readonly keepMs: number;
  readonly vanished: 'remove' | 'tombstone';
  readonly tombstoneMs: number;
  readonly codec: Codec<Row>;
  readonly version: number;
  readonly shards: number;
  readonly idleMs: number;
}

export function resolveRowCacheOptions<Row>(
  options: RowCacheOptions<Row>,
  isCluster: boolean,
): TableOptions<Row> {
  if (options.load !== undefined && typeof options.load !== 'function')
    throw new ArgumentTypeError('load must be a function');
  const jitter = options.jitter ?? DEFAULTS.jitter;
  if (typeof jitter !== 'number')
    throw new ArgumentTypeError(`jitter must be a number, got ${typeof jitter}`);
  if (!(jitter >= 0 && jitter <= 0.5))
    throw new ArgumentRangeError(`jitter must be from 0 to 0.5, got ${jitter}`);
  const codec = options.codec ?? (jsonCodec as Codec<Row>);
  if (typeof codec.encode !== 'function' || typeof codec.decode !== 'function')
    throw new ArgumentTypeError('codec must have encode and decode');
  const duration = (option: 'keepMs' | 'tombstoneMs' | 'idleMs', min: number): number =>
    Math.ceil(requireDuration(option, options[option] ?? DEFAULTS[option], { min, max: MAX_MS }));
  const { maxRowBytes = DEFAULTS.maxRowBytes, version = DEFAULTS.version } = options;
  return {
    load: options.load,
    maxRowBytes: requireInteger('maxRowBytes', maxRowBytes, { min: 1, max: 16 * MIB }),
    jitter,
    keepMs: duration('keepMs', 60_000),
    vanished: requireOneOf('vanished', options.vanished ?? DEFAULTS.vanished, ['remove', 'tombstone']),
    tombstoneMs: duration('tombstoneMs', 0),
    codec,
    version: requireInteger('version', version, { min: 0, max: 65_535 }),
    shards: requireInteger('shards', options.shards ?? (isCluster ? CLUSTER_SHARDS : 1), {
      min: 1,
      max: 64,
    }),
    idleMs: duration('idleMs', 60_000),
  };
}

/** Whole ms; 0 means: take the row out. */
export function resolveEveryMs(options: ScheduleOptions): number {
  const everyMs = requireDuration('everyMs', options?.everyMs, { min: -Infinity, max: MAX_MS });
  // Rather a mistake in an arithmetic than the wish to take a row out.
  if (everyMs === -Infinity) throw new ArgumentRangeError('everyMs must be finite, got -Infinity');
  return Math.max(0, Math.ceil(everyMs));
}

export type RefreshOptions = Required<Omit<RefresherOptions, 'onError' | 'telemetry'>>;

export function resolveRefresherOptions(options: RefresherOptions): RefreshOptions {
  const leaseMs = Math.ceil(
    requireDuration('leaseMs', options.leaseMs ?? DEFAULTS.leaseMs, { min: 100, max: 3_600_000 }),
  );
  const minBackoffMs = requireDuration('minBackoffMs', options.minBackoffMs ?? DEFAULTS.minBackoffMs, {
    min: 1,
    max: 3_600_000,
  });
  return {
    concurrency: requireInteger('concurrency', options.concurrency ?? DEFAULTS.concurrency, {
      min: 1,
      max: 100,
    }),
    batch: requireInteger('batch', options.batch ?? DEFAULTS.batch, { min: 1, max: 500 }),
    leaseMs,
    minBackoffMs,
    maxBackoffMs: requireDuration('maxBackoffMs', options.maxBackoffMs ?? DEFAULTS.maxBackoffMs, {
      min: minBackoffMs,
      max: 86_400_000,
    }),
  };
}
