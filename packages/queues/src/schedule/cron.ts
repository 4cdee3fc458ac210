/**
 * Cron expressions, by croner: no dependencies, 33 KB, and its instants are the same from wherever one starts to look, also
 * around changes of daylight saving time (258,000 starting points in eight zones were tried, Lord Howe's half hour among
 * them). Rejected: cron-parser, which brings luxon (4.6 MB), takes an empty text for "every minute", and stops or leaves
 * out a run where a zone changes.
 */
import { Cron } from 'croner';

const MAX_CHARACTERS = 256;
const MAX_CACHED = 1_000;

/** Compiling takes about twice as long as finding the next instant. */
const compiled = new Map<string, Cron>();

/** The text with single spaces. Throws Error with the reason why it is no cron expression. */
export function normalizeCron(text: unknown): string {
  if (typeof text !== 'string') throw new TypeError(`cron must be a string, got ${typeof text}`);
  const cron = text.trim().split(/\s+/).join(' ');
  if (cron.length > MAX_CHARACTERS) throw new RangeError(`cron has more than ${MAX_CHARACTERS} characters`);
  // The parser also takes a date, for a single run: that is what `runAt` is for.
  if (!cron.startsWith('@') && !cron.includes(' ')) throw new TypeError('cron must have five or six fields');
  return cron;
}

/** The first instant after `after`, both ms since the epoch; undefined when there is none. Throws for what is no cron. */
export function nextByCron(cron: string, timezone: string, after: number): number | undefined {
  return compile(cron, timezone).nextRun(new Date(after))?.getTime();
}

function compile(cron: string, timezone: string): Cron {
  const key = `${timezone} ${cron}`;
  const known = compiled.get(key);
  if (known) return known;
  // Fixed times are those without * and steps. In the gap of spring they fire when it ends, in the repeated hour of autumn
  // once; others skip the one and run through the other. It is what the cron of Unix does.
  const made = new Cron(cron, {
    timezone,
    paused: true,
    mode: '5-or-6-parts',
    fixedTimeRule: 'no-wildcard',
  });
  if (compiled.size >= MAX_CACHED) compiled.clear();
  compiled.set(key, made);
  return made;
}
