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
  /** Default `dead`. */
  readonly state?: 'dead' | 'cancelled';
  /** Only tasks with this name. */
  readonly name?: string;
  /** Maximum of tasks; the latest go first. Default: all. */
  readonly limit?: number;
}

export interface DrainOptions {
  /** Also scheduled and retrying tasks. Default false. */
  readonly scheduled?: boolean;
}

export interface CleanOptions {
  /** Only tasks whose end is at least this long ago, ms. 0 to 10 years. Default 0. */
  readonly olderThanMs?: number;
  /** Maximum of tasks; the oldest go first. Default: all. */
  readonly limit?: number;
}

/** The states of ended tasks as stored in `attempts`. */
const ENDED = { succeeded: 'S', dead: 'D', cancelled: 'C' } as const;

export type EndedState = keyof typeof ENDED;

/** Tasks in one call: holds the server for a few ms. */
const MAX_BATCH = 500;
/** For listing, which reads records and also limits their bytes. */
const MAX_PAGE = 500;
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
  const all = await shards.open();
  let retried = 0;
  let from: Cursor | null = START;
  while (from !== null && retried < limit) {
    const most = Math.min(MAX_PAGE, limit - retried);
    const page: Listing<unknown> = await listTasks(all, {
      state,
      name,
      limit: most,
      hasPayloads: false,
      from,
    });
    const answers = await Promise.all(
      page.listed.map(({ shard, storedId }) => operator.retryIn(shard, storedId, ENDED[state])),
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
  const counts = await shards.each((shard) => drainShard(shard, scheduled));
  return counts.reduce((sum, count) => sum + count, 0);
}

async function drainShard(shard: Shard, isAll: boolean): Promise<number> {
  let drained = 0;
  let upTo = 0;
  for (;;) {
    const reply = await shard.call((keys, common) =>
      operatorDrain.run(shard.redis, keys, { ...common, most: MAX_BATCH, upTo, isAll: isAll ? 1 : 0 }),
    );
    const [removed, instant, isOver] = reply as [number, number, number];
    drained += removed;
    upTo = instant;
    if (isOver === 1) return drained;
  }
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

async function cleanShard(
  shard: Shard,
  state: EndedState,
  olderThanMs: number,
  limit: number,
): Promise<number> {
  let cleaned = 0;
  let upTo = -Math.ceil(olderThanMs);
  for (;;) {
    const most = Math.min(MAX_BATCH, limit - cleaned);
    const reply = await shard.call((keys, { expectedSettings }) =>
      operatorClean.run(
        shard.redis,
        { ...keys, ended: keys[state] },
        { expectedSettings, state: ENDED[state], most, upTo },
      ),
    );
    const [removed, instant, isOver] = reply as [number, number, number];
    cleaned += removed;
    upTo = instant;
    if (isOver === 1 || cleaned >= limit) return cleaned;
  }
}

function requireLimit(limit: number): void {
  if (limit !== Infinity) requireInteger('limit', limit, { min: 1 });
}
