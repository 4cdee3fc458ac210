import {
  ArgumentRangeError,
  requireDuration,
  requireFunction,
  requireInteger,
  requireNumber,
  requireOneOf,
  requireOptions,
  requireSignal,
  resolveBackoff,
} from '@mortise/redis';
import type { Backoff, OnError, Resolved, ResolvedBackoff, Telemetry } from '@mortise/redis';
import { jsonCodec, requireCodec } from '../codec.js';
import type { Codec } from '../codec.js';

/**
 * Loads rows by id, all in one query. A row that is null or absent from the result is missing: see the option `missing`. An id
 * that was not requested fails the batch. The signal is aborted when the time of the load is over.
 */
export type LoadRows<Row> = (
  ids: readonly string[],
  signal: AbortSignal,
) => Promise<ReadonlyMap<string, Row | null | undefined>>;

/** The loader and the limits of a table. */
export interface RowCacheOptions<Row> {
  /** Loads the rows. A `Refresher` requires it; a process that only reads and schedules needs none. */
  readonly load?: LoadRows<Row> | undefined;
  /** Maximum bytes of one row, encoded, up to 16 MiB. Default 1 MiB. */
  readonly maxPayloadBytes?: number | undefined;
  /** The part of `everyMs` by which a row may be refreshed early, so that rows scheduled together spread; 0 to 0.5. Default 0.1. */
  readonly jitter?: number | undefined;
  /**
   * How long a value is kept without being loaded again, ms, from 1 minute to 3,650 days, and at least 10 × `everyMs`. Reads
   * find the value while the source is down. Half of this time is guaranteed. Default 2 days.
   */
  readonly keepMs?: number | undefined;
  /**
   * The effect on a row that `load` does not return. `remove`: the row leaves cache and schedule. `tombstone`: the row leaves
   * the cache, and is queried again each `everyMs` until it has been missing for `tombstoneMs`. Default `remove`.
   */
  readonly missing?: 'remove' | 'tombstone' | undefined;
  /** How long a missing row is queried with `tombstone`, ms, up to 3,650 days. Default 1 hour. */
  readonly tombstoneMs?: number | undefined;
  /** Converts rows to bytes. Default: JSON. */
  readonly codec?: Codec<Row> | undefined;
  /**
   * The version of the rows' shape, 0 to 65,535. A row of another version counts as missing until it is loaded again.
   * Default 0.
   */
  readonly version?: number | undefined;
  /**
   * Slots over which the rows spread, 1 to 64. All users of a table must agree, for as long as it exists. Default 16 on
   * Cluster, else 1.
   */
  readonly shards?: number | undefined;
  /** The schedule expires after this time without refreshers and changes, in ms, from 1 minute to 3,650 days. Default 30 days. */
  readonly idleMs?: number | undefined;
  /** Keeps applications apart in one Redis. 1 to 1,024 bytes. Default `mortise`. */
  readonly prefix?: string | undefined;
  /** Receives the results of reads, see docs/cache/reference/metrics.md. Default: none. */
  readonly telemetry?: Telemetry | undefined;
}

/** The schedule of one row. */
export interface ScheduleOptions {
  /** How often the row is refreshed, in ms, finite, up to 3,650 days. 0 or less removes the row from cache and schedule. */
  readonly everyMs: number;
}

/** The schedule of many rows. */
export interface ScheduleAllOptions extends ScheduleOptions {
  /** Ends the iteration of the ids: the call rejects with the reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of a refresher; processes may differ. */
export interface RefresherOptions {
  /**
   * Batches of one table that this process loads at once, 1 to 100. In addition the process loads up to four small batches of
   * failed rows, and a small part of each batch whose query is slow. Default 2.
   */
  readonly concurrency?: number | undefined;
  /** Rows in one batch, 1 to 500. Default 250. */
  readonly batch?: number | undefined;
  /**
   * The lease of the rows of a batch, in ms, from 100 ms to 1 hour. After this time another refresher may load the rows. A
   * loader has 90 % of the time. Default 30,000.
   */
  readonly leaseMs?: number | undefined;
  /**
   * The pause of a failed row, and of a source that is down. Default `{ type: 'exponential', delayMs: 500, maxDelayMs:
   * 60_000, jitter: 0.5 }`.
   */
  readonly backoff?: Backoff | undefined;
  /** Receives counters and durations, see docs/cache/reference/metrics.md. Default: none. */
  readonly telemetry?: Telemetry | undefined;
  /**
   * Receives failures of the background work, the same failure once a minute. Of several loads of a table that fail for the
   * same cause, only the first one is passed, with its ids. Default: one line on stderr.
   */
  readonly onError?: OnError | undefined;
}

const DAY_MS = 86_400_000;
const MIB = 1_048_576;
const MAX_MS = 3_650 * DAY_MS;
const CLUSTER_SHARDS = 16;

export const DEFAULTS = {
  maxPayloadBytes: MIB,
  jitter: 0.1,
  keepMs: 2 * DAY_MS,
  missing: 'remove',
  tombstoneMs: 3_600_000,
  version: 0,
  idleMs: 30 * DAY_MS,
  concurrency: 2,
  batch: 250,
  leaseMs: 30_000,
  backoff: { type: 'exponential', delayMs: 500, maxDelayMs: 60_000, jitter: 0.5 },
} as const;

const CACHE_OPTIONS: ReadonlySet<string> = new Set<keyof RowCacheOptions<unknown>>([
  'load',
  'maxPayloadBytes',
  'jitter',
  'keepMs',
  'missing',
  'tombstoneMs',
  'codec',
  'version',
  'shards',
  'idleMs',
  'prefix',
  'telemetry',
]);
const SCHEDULE_OPTIONS: ReadonlySet<string> = new Set<keyof ScheduleOptions>(['everyMs']);
const SCHEDULE_ALL_OPTIONS: ReadonlySet<string> = new Set<keyof ScheduleAllOptions>(['everyMs', 'signal']);
const REFRESHER_OPTIONS: ReadonlySet<string> = new Set<keyof RefresherOptions>([
  'concurrency',
  'batch',
  'leaseMs',
  'backoff',
  'telemetry',
  'onError',
]);

/** The options of a table that a refresher needs. */
export interface TableOptions<Row> extends Resolved<
  Omit<RowCacheOptions<Row>, 'load' | 'prefix' | 'telemetry'>
> {
  readonly load: LoadRows<Row> | undefined;
}

export function resolveRowCacheOptions<Row>(
  options: RowCacheOptions<Row>,
  isCluster: boolean,
): TableOptions<Row> {
  requireOptions('RowCache', options, CACHE_OPTIONS);
  const { load, jitter = DEFAULTS.jitter, version = DEFAULTS.version } = options;
  const { maxPayloadBytes = DEFAULTS.maxPayloadBytes, missing = DEFAULTS.missing } = options;
  if (load !== undefined) requireFunction('load', load);
  const duration = (option: 'keepMs' | 'tombstoneMs' | 'idleMs', min: number): number =>
    Math.ceil(requireDuration(option, options[option] ?? DEFAULTS[option], { min, max: MAX_MS }));
  return {
    load,
    maxPayloadBytes: requireInteger('maxPayloadBytes', maxPayloadBytes, { min: 1, max: 16 * MIB }),
    jitter: requireNumber('jitter', jitter, { min: 0, max: 0.5 }),
    keepMs: duration('keepMs', 60_000),
    missing: requireOneOf('missing', missing, ['remove', 'tombstone']),
    tombstoneMs: duration('tombstoneMs', 0),
    codec: requireCodec(options.codec ?? (jsonCodec as Codec<Row>)),
    version: requireInteger('version', version, { min: 0, max: 65_535 }),
    shards: requireInteger('shards', options.shards ?? (isCluster ? CLUSTER_SHARDS : 1), {
      min: 1,
      max: 64,
    }),
    idleMs: duration('idleMs', 60_000),
  };
}

/** Whole ms; 0 removes the row. */
export function resolveSchedule(options: ScheduleOptions): number {
  return resolveEveryMs(requireOptions('schedule', options, SCHEDULE_OPTIONS));
}

/** As `resolveSchedule`; also checks the signal. */
export function resolveScheduleAll(options: ScheduleAllOptions): number {
  requireSignal(requireOptions('scheduleAll', options, SCHEDULE_ALL_OPTIONS).signal);
  return resolveEveryMs(options);
}

function resolveEveryMs(options: ScheduleOptions): number {
  const { everyMs: given } = options;
  // -Infinity is more likely a wrong calculation than an intended removal.
  if (typeof given === 'number' && !(given > -Infinity && given <= MAX_MS))
    throw new ArgumentRangeError(
      `everyMs must be at most ${MAX_MS} ms, 0 or less to remove the row, got ${given}`,
    );
  const everyMs = requireDuration('everyMs', given, { min: -Infinity, max: MAX_MS });
  return Math.max(0, Math.ceil(everyMs));
}

export interface ResolvedRefresherOptions {
  readonly concurrency: number;
  readonly batch: number;
  readonly leaseMs: number;
  readonly backoff: ResolvedBackoff;
}

export function resolveRefresherOptions(
  options: RefresherOptions,
  owner: 'Refresher' | 'maxQueriesOf' = 'Refresher',
): ResolvedRefresherOptions {
  requireOptions(owner, options, REFRESHER_OPTIONS);
  const { concurrency = DEFAULTS.concurrency, batch = DEFAULTS.batch, leaseMs = DEFAULTS.leaseMs } = options;
  return {
    concurrency: requireInteger('concurrency', concurrency, { min: 1, max: 100 }),
    batch: requireInteger('batch', batch, { min: 1, max: 500 }),
    leaseMs: Math.ceil(requireDuration('leaseMs', leaseMs, { min: 100, max: 3_600_000 })),
    backoff: resolveBackoff(options.backoff, DEFAULTS.backoff),
  };
}
