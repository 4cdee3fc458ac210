/** The instants of a job scheduler. */
import { Cron } from 'croner';
import type { RepeatOptions } from './types.js';

/** The next instant of a cron pattern after `millis`; undefined: it has none. */
export function defaultRepeatStrategy(millis: number, options: RepeatOptions): number | undefined {
  const { pattern, startDate, tz, immediately } = options;
  if (immediately) return Date.now();
  const begin = startDate === undefined ? millis : Math.max(millis, +new Date(startDate));
  const cron = new Cron(pattern!, { paused: true, ...(tz !== undefined && { timezone: tz }) });
  return cron.nextRun(new Date(begin))?.getTime();
}

/** Does the same as BullMQ's function of this name. */
export function getNextMillis(millis: number, options: RepeatOptions): number | undefined {
  const { pattern, every, immediately } = options;
  if (pattern && every) {
    throw new Error('Both .pattern and .every options are defined for this repeatable job');
  }
  if (every) return Math.floor(millis / every) * every + (immediately ? 0 : every);
  return defaultRepeatStrategy(millis, options);
}

/** The next instant of an interval, and its offset from the grid of multiples. */
export function nextOfEvery(
  before: number | undefined,
  every: number,
  now: number,
  offset: number,
  startDate: number | undefined,
): { next: number; offset: number } {
  let next: number;
  const aligned = Math.floor(now / every) * every + offset;
  if (before !== undefined) {
    next = before + every;
    if (next < now) next = aligned <= now ? aligned + every : aligned;
  } else if (startDate !== undefined) next = Math.max(startDate, now);
  else if (offset > 0) next = aligned <= now ? aligned + every : aligned;
  else next = now;
  next = Math.floor(next);
  return { next, offset: offset || next - Math.floor(next / every) * every };
}
