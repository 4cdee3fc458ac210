/** One process that schedules rows at an even pace, and refreshes them; it notes how late. */
import { Refresher, RowCache } from '@mortise/cache/rows';
import type { Telemetry } from '@mortise/cache/rows';
import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MakeSegment } from '../../crew-member.js';
import { idsOf } from './inventory.js';

export interface MillionSettings {
  readonly url: string;
  readonly rows: number;
  readonly duePerSecond: number;
}

export interface MillionReport {
  readonly rows: number;
  /** Of the first row of each batch. */
  readonly lateMs: readonly number[];
}

interface Row {
  readonly id: string;
  readonly description: string;
  readonly load: number;
}

/** Rows that are scheduled at once. */
const STEP = 500;
const DESCRIPTION = 'What is to be said of it '.padEnd(200, '.');

const make: MakeSegment<MillionSettings, MillionReport> = ({ url, rows, duePerSecond }) => {
  const redis = new Redis(url);
  let loads = 0;
  let loaded = 0;
  let lateMs: number[] = [];
  const table = new RowCache<Row>(redis, 'inventory', {
    load: (ids) => {
      loads += 1;
      loaded += ids.length;
      return Promise.resolve(new Map(ids.map((id) => [id, { id, description: DESCRIPTION, load: loads }])));
    },
  });
  const telemetry: Telemetry = {
    record: ({ name }, value) => {
      if (name.endsWith('.late')) lateMs.push(1_000 * value);
    },
  };
  const refresher = new Refresher(redis, [table], { telemetry });
  const everyMs = Math.round((1_000 * rows) / duePerSecond);
  const schedule = async (): Promise<void> => {
    const ids = idsOf(rows);
    const startedAt = performance.now();
    for (let first = 0; first < rows; first += STEP) {
      await sleep(Math.max(0, startedAt + (1_000 * first) / duePerSecond - performance.now()));
      await table.scheduleAll(ids.slice(first, first + STEP), { everyMs });
    }
  };
  return Promise.resolve({
    start: async () => {
      await refresher.start();
      schedule().catch((error: unknown) => {
        console.error(error);
        process.exit(1);
      });
    },
    open: () => {
      loaded = 0;
      lateMs = [];
    },
    close: () => ({ rows: loaded, lateMs }),
  });
};

export default make;
