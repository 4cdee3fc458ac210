/** Moves many tasks. Each script call holds the server for a bounded time; the next one follows its reply. */
import {
  requireBoolean,
  requireDuration,
  requireInteger,
  requireOneOf,
  requireOptions,
} from '@mortise/redis';
import { MAX_DELAY_MS } from '../limits.js';
import { operatorClean, operatorDrain } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import type { Shards } from '../shard/shards.js';
import type { Cursor } from '../inspect/cursor.js';
import { START } from '../inspect/cursor.js';
import type { Listing } from '../inspect/list.js';
import { listTasks } from '../inspect/list.js';
import { requireTaskName } from '../options.js';
import type { Operator } from './operator.js';

export interface RetryAllOptions {
  /** The state of the tasks: `dead` or `cancelled`. Default `dead`. */
  readonly state?: 'dead' | 'cancelled' | undefined;
  /** Only tasks with this name. */
  readonly name?: string | undefined;
  /** Maximum of tasks; the latest ones are retried first. Default: all. */
  readonly limit?: number | undefined;
}

export interface DrainOptions {
  /** Deletes scheduled and retrying tasks too. Default false. */
  readonly scheduled?: boolean | undefined;
}

export interface CleanOptions {
  /** Only tasks whose end is at least this long ago, ms. 0 to 10 years. Default 0. */
  readonly olderThanMs?: number | undefined;
  /** Maximum of tasks; the oldest ones are deleted first. Default: all. */
  readonly limit?: number | undefined;
}

/** The states of ended tasks as stored in `attempts`. */
const ENDED = { succeeded: 'S', dead: 'D', cancelled: 'C' } as const;

export type EndedState = keyof typeof ENDED;

/** Tasks in one call: holds the server for a few ms. */
const MAX_BATCH = 500;
const RETRY_ALL_OPTIONS = new Set(['state', 'name', 'limit']);
const DRAIN_OPTIONS = new Set(['scheduled']);
const CLEAN_OPTIONS = new Set(['olderThanMs', 'limit']);

/** Only tasks that had ended before the call. Resolves to their number. */
export async function retryAll(
  shards: Shards,
  operator: Operator,
  options: RetryAllOptions,
): Promise<number> {
  requireOptions('retryAll', options, RETRY_ALL_OPTIONS);
  const { state = 'dead', name, limit = Infinity } = options;
  requireOneOf('state', state, ['dead', 'cancelled']);
  if (name !== undefined) requireTaskName(name);
  requireLimit(limit);
  let retried = 0;
  let from: Cursor | null = START;
  while (from !== null && retried < limit) {
    const most = Math.min(MAX_BATCH, limit - retried);
    const wanted = { state, name, limit: most, hasPayloads: false, from };
    const page: Listing<unknown> = await listTasks(shards, wanted);
    const answers = await Promise.all(
      page.listed.map(({ shard, storedId }) => operator.moveIn(shard, storedId, 'R', ENDED[state])),
    );
    retried += answers.filter(Boolean).length;
    from = page.next;
  }
  return retried;
}

/** Resolves to the number of removed tasks. */
export async function drain(shards: Shards, options: DrainOptions): Promise<number> {
  requireOptions('drain', options, DRAIN_OPTIONS);
  const scheduled = requireBoolean('scheduled', options.scheduled ?? false);
  const counts = await shards.each((shard) =>
    removeUpTo(0, Infinity, (most, upTo) =>
      shard.call((keys, common) =>
        operatorDrain.run(shard.redis, keys, { ...common, most, upTo, isAll: scheduled ? 1 : 0 }),
      ),
    ),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Resolves to the number of removed tasks. */
export async function clean(shards: Shards, state: EndedState, options: CleanOptions): Promise<number> {
  requireOptions('clean', options, CLEAN_OPTIONS);
  const { olderThanMs = 0, limit = Infinity } = options;
  requireOneOf('state', state, Object.keys(ENDED) as EndedState[]);
  requireDuration('olderThanMs', olderThanMs, { min: 0, max: MAX_DELAY_MS });
  requireLimit(limit);
  let cleaned = 0;
  for (const shard of await shards.open()) {
    if (cleaned < limit) cleaned += await cleanShard(shard, state, olderThanMs, limit - cleaned);
  }
  return cleaned;
}

function cleanShard(shard: Shard, state: EndedState, olderThanMs: number, limit: number): Promise<number> {
  return removeUpTo(-Math.ceil(olderThanMs), limit, (most, upTo) =>
    shard.call((keys, { expectedSettings }) =>
      operatorClean.run(
        shard.redis,
        { ...keys, ended: keys[state] },
        { expectedSettings, state: ENDED[state], most, upTo },
      ),
    ),
  );
}

/** Calls a script until no task is left that is old enough. Each reply names the instant for the next call. */
async function removeUpTo(
  first: number,
  limit: number,
  call: (most: number, upTo: number) => Promise<unknown>,
): Promise<number> {
  let count = 0;
  let upTo = first;
  for (;;) {
    const reply = await call(Math.min(MAX_BATCH, limit - count), upTo);
    const [removed, instant, isOver] = reply as [number, number, number];
    count += removed;
    upTo = instant;
    if (isOver === 1 || count >= limit) return count;
  }
}

function requireLimit(limit: number): void {
  if (limit !== Infinity) requireInteger('limit', limit, { min: 1 });
}
