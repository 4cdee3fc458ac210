/** When a schedule is due: pure functions of a rule and an instant. All instants are ms since the epoch. */
import { requireKnown, shownValue } from '@mortise/redis';
import { InvalidScheduleError } from '../errors.js';
import { MAX_DELAY_MS } from '../limits.js';
import { nextByCron, normalizeCron } from './cron.js';

/** Limits of a schedule. */
interface ScheduleLimits {
  /** No run comes before this instant, and an interval counts from it. ms since the epoch or a Date. Default: at once. */
  readonly startAt?: number | Date | undefined;
  /** No run comes after this instant. ms since the epoch or a Date. Default: no end. */
  readonly until?: number | Date | undefined;
  /** Maximum number of runs. 1 to 2^53 - 1. Default: no limit. */
  readonly maxRuns?: number | undefined;
  /**
   * The handling of instants that passed while no worker ran. `once` fires for the first missed instant and drops the others.
   * `all` fires for each of them, 100 in a round trip. `skip` drops instants that are more than a minute late. Default `once`.
   */
  readonly missed?: 'skip' | 'once' | 'all' | undefined;
  /**
   * `skip` drops an instant if the task of the instant before has not ended; `allow` does not check this. `skip` and `missed:
   * 'all'` exclude each other. Default `allow`.
   */
  readonly overlap?: 'allow' | 'skip' | undefined;
}

/** Fires when the wall clock of a time zone shows what a cron expression says. */
export interface CronRule extends ScheduleLimits {
  /** Five fields, or six with seconds first; names, lists, ranges, steps, `L`, `W`, `#`, `@daily` and the like. */
  readonly cron: string;
  /** A name of the IANA database, such as `Europe/Berlin`. Default `UTC`. */
  readonly timezone?: string | undefined;
  readonly everyMs?: undefined;
}

/** Fires at all multiples of a period since the epoch, or since `startAt`. Restarts do not shift it. */
export interface IntervalRule extends ScheduleLimits {
  /** The period, ms. 1,000 to 10 years. */
  readonly everyMs: number;
  readonly cron?: undefined;
  readonly timezone?: undefined;
}

export type ScheduleRule = CronRule | IntervalRule;

/** A checked rule. The order of its fields is fixed, so that equal rules are equal as JSON. */
export interface Rule {
  readonly cron?: string | undefined;
  readonly timezone?: string | undefined;
  readonly everyMs?: number | undefined;
  readonly startAt?: number | undefined;
  readonly until?: number | undefined;
  readonly maxRuns?: number | undefined;
  readonly missed: 'skip' | 'once' | 'all';
  readonly overlap: 'allow' | 'skip';
}

const MIN_EVERY_MS = 1_000;
const FIELDS: ReadonlySet<string> = new Set<keyof Rule>([
  'cron',
  'timezone',
  'everyMs',
  'startAt',
  'until',
  'maxRuns',
  'missed',
  'overlap',
]);
const YEAR_9999 = Date.UTC(9999, 11, 31);

/** Checks a caller's rule and refuses unknown fields. A stored rule may have more fields, from a newer version. */
export function requireRule(key: string, given: ScheduleRule): Rule {
  const rule = resolveRule(key, given);
  requireKnown('the rule', given, FIELDS);
  return rule;
}

/** Throws InvalidScheduleError if the value is not a rule. */
export function resolveRule(key: string, given: ScheduleRule | Rule): Rule {
  const refuse = (reason: string): never => {
    throw new InvalidScheduleError(key, reason);
  };
  if (typeof given !== 'object' || given === null) return refuse('the rule must be an object');
  const { cron, timezone, everyMs, startAt, until, maxRuns, missed = 'once', overlap = 'allow' } = given;
  if ((cron === undefined) === (everyMs === undefined)) refuse('it needs either cron or everyMs');
  if (timezone !== undefined && cron === undefined) refuse('timezone goes with cron only');
  if (!['skip', 'once', 'all'].includes(missed))
    refuse(`missed must be skip, once or all, got ${shown(missed)}`);
  if (!['allow', 'skip'].includes(overlap)) refuse(`overlap must be allow or skip, got ${shown(overlap)}`);
  if (missed === 'all' && overlap === 'skip') refuse("missed: 'all' and overlap: 'skip' exclude each other");
  const rule: Rule = {
    ...(cron !== undefined && resolveCron(refuse, cron, timezone)),
    ...(everyMs !== undefined && { everyMs: whole(refuse, 'everyMs', everyMs, MIN_EVERY_MS, MAX_DELAY_MS) }),
    ...(startAt !== undefined && { startAt: instant(refuse, 'startAt', startAt) }),
    ...(until !== undefined && { until: instant(refuse, 'until', until) }),
    ...(maxRuns !== undefined && { maxRuns: whole(refuse, 'maxRuns', maxRuns, 1, Number.MAX_SAFE_INTEGER) }),
    missed,
    overlap,
  };
  return rule;
}

/** The first instant after `after` between `startAt` and `until`; undefined if there is none. */
export function nextInstant(rule: Rule, after: number): number | undefined {
  const { cron, timezone = 'UTC', everyMs = 0, startAt, until = Infinity } = rule;
  let next: number | undefined;
  if (cron === undefined) {
    const phase = startAt ?? 0;
    next = phase + Math.max(0, Math.floor((after - phase) / everyMs) + 1) * everyMs;
  } else {
    next = nextByCron(cron, timezone, startAt === undefined ? after : Math.max(after, startAt - 1));
  }
  return next !== undefined && next <= until && next <= YEAR_9999 ? next : undefined;
}

/** Whether both rules fall due at the same instants, apart from where they start and end. */
export function isSameTiming(a: Rule, b: Rule): boolean {
  return a.cron === b.cron && a.timezone === b.timezone && a.everyMs === b.everyMs && a.startAt === b.startAt;
}

type Refuse = (reason: string) => never;

function resolveCron(
  refuse: Refuse,
  text: unknown,
  timezone: unknown = 'UTC',
): { cron: string; timezone: string } {
  if (typeof timezone !== 'string') return refuse(`timezone must be a string, got ${typeof timezone}`);
  try {
    // Older versions of Node do not read offsets, so only names are accepted.
    if (!/^[A-Za-z]/.test(timezone)) throw new RangeError();
    Intl.DateTimeFormat('en', { timeZone: timezone });
  } catch {
    return refuse(`unknown time zone ${JSON.stringify(timezone)}`);
  }
  try {
    const cron = normalizeCron(text);
    if (nextByCron(cron, timezone, 0) === undefined) throw new RangeError('it never falls due');
    return { cron, timezone };
  } catch (error) {
    return refuse(`cron ${JSON.stringify(text)?.slice(0, 300)}: ${(error as Error).message.slice(0, 300)}`);
  }
}

/** JSON has neither NaN nor symbols, and `String` throws for an array with a symbol. */
function shown(value: unknown): string {
  return typeof value === 'number' || typeof value === 'symbol' ? String(value) : shownValue(value);
}

function whole(refuse: Refuse, option: string, value: unknown, min: number, max: number): number {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return value as number;
  return refuse(`${option} must be a whole number from ${min} to ${max}, got ${shown(value)}`);
}

function instant(refuse: Refuse, option: string, value: unknown): number {
  const ms = value instanceof Date ? value.getTime() : value;
  if (typeof ms === 'number' && ms >= 0 && ms <= YEAR_9999) return Math.ceil(ms);
  return refuse(
    `${option} must be an instant, ms since the epoch or a Date up to the year 9999, got ${shown(value)}`,
  );
}
