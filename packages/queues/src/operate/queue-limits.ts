/** Limits of a queue for all its workers together, the arguments of `Queue.configure`. */
import {
  ArgumentRangeError,
  requireBoolean,
  requireFunction,
  requireInteger,
  requireKnown,
  requireObject,
  requireOptions,
} from '@mortise/redis';
import { MAX_DELAY_MS } from '../limits.js';
import type { RateLimit, SettingsValues } from '../shard/settings-text.js';

/**
 * At most `limit + burst - 1` tasks start in any `periodMs`, spread evenly. The algorithm is GCRA, by the clock of the server.
 */
export interface RateLimitOptions {
  /** 1 to 1,000,000,000. */
  readonly limit: number;
  /** 1 ms to 10 years. */
  readonly periodMs: number;
  /** Tasks that may start at once after a quiet period. 1 to `limit`. Default 1. */
  readonly burst?: number | undefined;
}

/**
 * Limits for all workers of a queue together. An undefined limit stays as it is; null removes a limit. Each shard has an equal share of
 * a limit, rounded down.
 */
export interface QueueLimits {
  /** Tasks that run at the same time. 1 to 1,000,000; at least the number of shards. */
  readonly concurrency?: number | null | undefined;
  /** Starts in a period. */
  readonly rate?: RateLimitOptions | null | undefined;
  /** Limits of each group. */
  readonly groups?:
    | {
        /** Tasks of a group that run at the same time. 1 to 1,000,000. */
        readonly concurrency?: number | null | undefined;
        /** Starts of a group in a period. */
        readonly rate?: RateLimitOptions | null | undefined;
        /** Runs one task of a group at a time: the next one starts after the last retry of the one before it. */
        readonly ordered?: boolean | undefined;
      }
    | undefined;
  /**
   * Maximum of tasks in the queue, retained ones included. Beyond it, `enqueue` fails with ERR_QUEUE_FULL. 1 to 1,000,000,000.
   * At least the number of shards. Default 10,000,000 in each shard.
   */
  readonly maxTasks?: number | null | undefined;
  /** Events that Redis keeps for `events()`, in each shard. With 0 no event is written. 0 to 10,000,000. */
  readonly keepEvents?: number | undefined;
}

export interface ConfigureOptions {
  /** Gets the stored settings before the change. If it throws, nothing changes. */
  readonly check?: ((settings: SettingsValues) => void) | undefined;
}

const CONFIGURE_OPTIONS = new Set(['check']);
const RATE_OPTIONS = new Set(['limit', 'periodMs', 'burst']);
const GROUP_LIMITS = new Set(['concurrency', 'rate', 'ordered']);
const LIMITS = new Set(['concurrency', 'rate', 'groups', 'maxTasks', 'keepEvents']);

export function resolveConfigure(options: ConfigureOptions): ConfigureOptions {
  const { check } = requireOptions('configure', options, CONFIGURE_OPTIONS);
  if (check !== undefined) requireFunction('check', check);
  return options;
}

/** The settings with new limits. */
export function resolveLimits(values: SettingsValues, limits: QueueLimits): SettingsValues {
  requireObject('limits', limits);
  requireKnown('configure', limits, LIMITS);
  const { groups = {} } = limits;
  requireObject('groups', groups);
  requireKnown('groups', groups, GROUP_LIMITS);
  return requireShares({
    ...values,
    concurrency: limitOf('concurrency', limits.concurrency, values.concurrency, 1_000_000),
    rate: rateOf('rate', limits.rate, values.rate),
    groupConcurrency: limitOf('groups.concurrency', groups.concurrency, values.groupConcurrency, 1_000_000),
    groupRate: rateOf('groups.rate', groups.rate, values.groupRate),
    isOrdered: requireBoolean(
      'groups.ordered',
      groups.ordered === undefined ? values.isOrdered : groups.ordered,
    ),
    maxTasks: limitOf('maxTasks', limits.maxTasks, values.maxTasks, 1_000_000_000),
    keepEvents: requireInteger('keepEvents', limits.keepEvents ?? values.keepEvents, {
      min: 0,
      max: 10_000_000,
    }),
  });
}

/** Throws RangeError for a limit of which a shard would have no share. */
export function requireShares(values: SettingsValues): SettingsValues {
  const { servedShards, concurrency, maxTasks } = values;
  for (const [option, limit] of Object.entries({ concurrency, maxTasks })) {
    if (limit !== undefined && limit < servedShards)
      throw new ArgumentRangeError(
        `${option} must be at least the number of shards, ${servedShards}, got ${limit}`,
      );
  }
  return values;
}

function limitOf(
  option: string,
  wanted: number | null | undefined,
  present: number | undefined,
  max: number,
): number | undefined {
  if (wanted === undefined) return present;
  return wanted === null ? undefined : requireInteger(option, wanted, { min: 1, max });
}

function rateOf(
  option: string,
  wanted: RateLimitOptions | null | undefined,
  present: RateLimit | undefined,
): RateLimit | undefined {
  if (wanted === undefined) return present;
  if (wanted === null) return undefined;
  requireObject(option, wanted);
  requireKnown(option, wanted, RATE_OPTIONS);
  const limit = requireInteger(`${option}.limit`, wanted.limit, { min: 1, max: 1_000_000_000 });
  return {
    limit,
    periodMs: requireInteger(`${option}.periodMs`, wanted.periodMs, { min: 1, max: MAX_DELAY_MS }),
    burst: requireInteger(`${option}.burst`, wanted.burst ?? 1, { min: 1, max: limit }),
  };
}
