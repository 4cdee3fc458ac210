import {
  requireArray,
  requireBoolean,
  requireDuration,
  requireInteger,
  requireName,
  requireOptions,
  requireSignal,
} from '@mortise/redis';
import type { WorkerOptions } from '../options.js';
import { MAX_DELAY_MS } from '../limits.js';
import { DEFAULTS, resolveEndOptions } from '../options.js';

/** The options of `Worker` that apply without handlers. */
export type ClaimsOptions = Pick<
  WorkerOptions,
  | 'prefix'
  | 'backoff'
  | 'keepSucceeded'
  | 'keepSucceededMs'
  | 'keepDead'
  | 'maxPayloadBytes'
  | 'codecs'
  | 'onError'
  | 'telemetry'
>;

export interface ClaimOptions {
  /** Maximum of tasks. 1 to 100. Default 1. */
  readonly limit?: number | undefined;
  /** How long to wait for the first task, ms. 0 to 30,000. Default 0. */
  readonly waitMs?: number | undefined;
  /** The lease of the tasks, ms; `heartbeat` renews it. 1,000 to an hour. Default 10,000. */
  readonly leaseMs?: number | undefined;
  /**
   * The names of the tasks to claim, 1 to 100. Tasks of other names go back to the queue, and the attempt doesn't count. They
   * are due again after about a tenth of their age: 0.1 to 15 s. So use `names` where most tasks of the queue have one of these
   * names. Without a wait, the claim examines only the next `limit` tasks. Default: all names.
   */
  readonly names?: readonly string[] | undefined;
  /** Ends the wait: the claim rejects with the signal's reason, and tasks that still arrive are given back. */
  readonly signal?: AbortSignal | undefined;
}

export interface FailOptions {
  /** The error or its message; stored with the task. */
  readonly error: unknown;
  /** False: the task is dead at once, even with attempts left. Default true. */
  readonly retry?: boolean | undefined;
  /** Delay of the next attempt, ms, instead of the backoff. 0 to 10 years. */
  readonly delayMs?: number | undefined;
}

export interface GiveBackOptions {
  /** Delay of the task, ms. 0 to 10 years. Default 0. */
  readonly delayMs?: number | undefined;
}

const MAX_LIMIT = 100;
const MAX_NAMES = 100;
const MAX_WAIT_MS = 30_000;
const MIN_LEASE_MS = 1_000;
const MAX_LEASE_MS = 3_600_000;
const CLAIMS_OPTIONS: ReadonlySet<string> = new Set<keyof ClaimsOptions>([
  'prefix',
  'backoff',
  'keepSucceeded',
  'keepSucceededMs',
  'keepDead',
  'maxPayloadBytes',
  'codecs',
  'onError',
  'telemetry',
]);
const CLAIM_OPTIONS = new Set(['limit', 'waitMs', 'leaseMs', 'names', 'signal']);
const FAIL_OPTIONS = new Set(['error', 'retry', 'delayMs']);
const GIVE_BACK_OPTIONS = new Set(['delayMs']);

export type ResolvedClaimsOptions = ReturnType<typeof resolveEndOptions>;

export function resolveClaimsOptions(options: ClaimsOptions): ResolvedClaimsOptions {
  return resolveEndOptions(requireOptions('Claims', options, CLAIMS_OPTIONS));
}

export function resolveClaim(options: ClaimOptions): {
  readonly limit: number;
  readonly waitMs: number;
  readonly leaseMs: number;
  readonly names: ReadonlySet<string> | undefined;
  readonly signal: AbortSignal | undefined;
} {
  requireOptions('claim', options, CLAIM_OPTIONS);
  const { limit = 1, waitMs = 0, leaseMs, names, signal } = options;
  requireSignal(signal);
  requireInteger('limit', limit, { min: 1, max: MAX_LIMIT });
  requireDuration('waitMs', waitMs, { min: 0, max: MAX_WAIT_MS });
  const known = names === undefined ? undefined : new Set(requireNames(names));
  return { limit, waitMs, leaseMs: resolveLeaseMs(leaseMs), names: known, signal };
}

function requireNames(names: readonly string[]): readonly string[] {
  requireArray('names', names, { min: 1, max: MAX_NAMES });
  for (const [index, name] of names.entries()) requireName(`names[${index}]`, name);
  return names;
}

export function resolveLeaseMs(leaseMs: number = DEFAULTS.leaseMs): number {
  return requireInteger('leaseMs', leaseMs, { min: MIN_LEASE_MS, max: MAX_LEASE_MS });
}

export function requireFailOptions(options: FailOptions): void {
  requireOptions('fail', options, FAIL_OPTIONS);
  if (options.retry !== undefined) requireBoolean('retry', options.retry);
  if (options.delayMs !== undefined) requireDelayMs(options.delayMs);
}

/** Returns the delay, ms. */
export function resolveGiveBack(options: GiveBackOptions): number {
  requireOptions('giveBack', options, GIVE_BACK_OPTIONS);
  const { delayMs = 0 } = options;
  return requireDelayMs(delayMs);
}

function requireDelayMs(delayMs: number): number {
  return requireDuration('delayMs', delayMs, { min: 0, max: MAX_DELAY_MS });
}
