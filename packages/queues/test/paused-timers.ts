/**
 * Timers of a worker that fire when a test says so. They bring nothing about meanwhile, however long that is.
 * They are known by their durations, which are those of the workers of `launch`.
 */
import { afterEach, beforeEach } from '@jest/globals';
import { LEASE_MS } from './launch.js';

const NEVER_MS = 2 ** 31 - 1;

export interface PausedTimers {
  /** Lets those go off that are set now; returns how many. */
  readonly fire: () => number;
}

interface PausedRange {
  readonly min: number;
  readonly max: number;
  /** Whether the clock shows the end of the timer while its callback runs, as `callAfter` of @mortise/redis expects. */
  readonly movesClock: boolean;
  readonly timers: Map<NodeJS.Timeout, () => void>;
}

const holding = new Set<PausedRange>();
const { setTimeout, clearTimeout } = globalThis;

function set<Args extends unknown[]>(
  callback: (...args: Args) => void,
  ms?: number,
  ...args: Args
): NodeJS.Timeout {
  const holder = [...holding].find(({ min, max }) => ms !== undefined && ms >= min && ms <= max);
  if (!holder) return setTimeout(callback, ms, ...args);
  const goOff = (): void => {
    if (!holder.movesClock) return callback(...args);
    const now = performance.now();
    performance.now = () => now + ms!;
    try {
      callback(...args);
    } finally {
      Reflect.deleteProperty(performance, 'now');
    }
  };
  const timer = setTimeout(goOff, NEVER_MS).unref();
  holder.timers.set(timer, goOff);
  return timer;
}

function clear(timer: NodeJS.Timeout): void {
  for (const { timers } of holding) timers.delete(timer);
  clearTimeout(timer);
}

// In this file's tests only: each file has an environment of its own.
Object.assign(globalThis, { setTimeout: Object.assign(set, setTimeout), clearTimeout: clear });

/** Holds the timers with such a duration that are set while the tests that follow run, of this file or `describe`. */
function held(min: number, max = min, movesClock = false): PausedTimers {
  const own: PausedRange = { min, max, movesClock, timers: new Map() };

  beforeEach(() => {
    holding.add(own);
  });
  afterEach(() => {
    holding.delete(own);
    for (const timer of own.timers.keys()) clearTimeout(timer);
    own.timers.clear();
  });

  return {
    fire: () => {
      const due = [...own.timers];
      own.timers.clear();
      for (const [timer, goOff] of due) {
        clearTimeout(timer);
        goOff();
      }
      return due.length;
    },
  };
}

/**
 * The rechecks of idle workers, and of those who wait for results and events; see
 * MAX_RECHECK_MS of src/work/worker.ts.
 */
export const heldRechecks = (): PausedTimers => held(3_000, 4_000, true);

/** The renewals of leases. */
export const heldRenewals = (): PausedTimers => held(LEASE_MS / 3, LEASE_MS / 3, true);

/** The wait for calls without a reply: the lease of their tasks. */
export const heldOverdue = (): PausedTimers => held(LEASE_MS);

/** After this a worker gives prefetched tasks back; see MAX_WAIT_MS of src/work/prefetch.ts. */
export const heldPrefetchWaits = (): PausedTimers => held(8);

/** Timeouts of handlers. */
export const heldTimeouts = (timeoutMs: number): PausedTimers => held(timeoutMs);

/** How long a worker that stops tries to give back what it has; see LAST_ACKS_MS of src/work/worker.ts. */
export const heldFarewells = (): PausedTimers => held(2_000);
