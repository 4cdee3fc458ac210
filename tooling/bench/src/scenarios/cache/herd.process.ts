/** One process whose readers want the same value at the same time, or all the time. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cached, CacheClient, Life } from './kind.js';
import { cached } from './kind.js';
import { cacheKind } from './kinds/index.js';
import { now } from './now.js';

export interface Joining {
  readonly url: string;
  readonly kind: string;
  readonly life: Life;
  /** The time of the database. */
  readonly loadMs: number;
}

export interface Reading {
  readonly key: string;
  readonly readers: number;
  /** When they begin, ms since 1970. */
  readonly at: number;
}

export interface HerdReport {
  /** How long each load took, ms. */
  readonly loads: readonly number[];
  /** How many reads took so many tenths of a ms; those of 2 s and more are in the last. */
  readonly waits: readonly number[];
  /** The age of the oldest value that was read, ms since its load began. */
  readonly oldestMs: number;
}

export const WAIT_STEPS = 10;
const WAIT_BUCKETS = 2_000 * WAIT_STEPS + 1;

let client: CacheClient | undefined;
let loadMs = 0;

async function join({ url, kind, life, ...rest }: Joining): Promise<void> {
  client = await cacheKind(kind).connect(url, life);
  ({ loadMs } = rest);
}

/** The records of all readers of the process. */
class ReadLog {
  readonly loads: number[] = [];
  readonly waits: number[] = Array.from({ length: WAIT_BUCKETS }, () => 0);
  oldestMs = 0;

  async read(key: string): Promise<void> {
    const startedAt = performance.now();
    const value = await client!.getOrLoad(key, () => this.#load(key));
    const waited = Math.round((performance.now() - startedAt) * WAIT_STEPS);
    if (value?.id !== key) throw new Error(`${key} was asked for, ${JSON.stringify(value)} came`);
    this.waits[Math.min(waited, WAIT_BUCKETS - 1)]! += 1;
    this.oldestMs = Math.max(this.oldestMs, now() - value.at);
  }

  async #load(key: string): Promise<Cached> {
    const [at, startedAt] = [now(), performance.now()];
    await sleep(loadMs);
    this.loads.push(performance.now() - startedAt);
    return cached(key, at);
  }

  get report(): HerdReport {
    return { loads: this.loads, waits: this.waits, oldestMs: this.oldestMs };
  }
}

/** Each reads once. */
async function readOnce({ key, readers, at }: Reading): Promise<HerdReport> {
  const notes = new ReadLog();
  await sleep(at - now());
  await Promise.all(Array.from({ length: readers }, () => notes.read(key)));
  return notes.report;
}

/** Each reads again as soon as it has read, and others have had their turn. */
async function readOn({ key, readers, at, seconds }: Reading & { seconds: number }): Promise<HerdReport> {
  const notes = new ReadLog();
  const endsAt = at + seconds * 1000;
  const reader = async (): Promise<void> => {
    while (now() < endsAt) {
      await notes.read(key);
      await new Promise(setImmediate);
    }
  };
  await sleep(at - now());
  await Promise.all(Array.from({ length: readers }, reader));
  return notes.report;
}

const actions = { join, readOnce, readOn };

export type HerdActions = typeof actions;
export default actions;
