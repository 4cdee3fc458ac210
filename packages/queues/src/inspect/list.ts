/** Pages of the tasks in one state, shard after shard. */
import { requireInteger, requireOneOf, requireOptions } from '@mortise/redis';
import { requireTaskName } from '../options.js';
import { queueList } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import type { Shards } from '../shard/shards.js';
import { decodeTaskId } from '../task/task-id.js';
import type { Task, TaskMap, TaskState } from '../task/task.js';
import { readTask, TASK_STATES } from '../task/task.js';
import type { Cursor } from './cursor.js';
import { decodeCursor, encodeCursor, START } from './cursor.js';

export interface ListOptions {
  /** The cursor of the previous page. Default: the first page. */
  readonly cursor?: string | null | undefined;
  /** Maximum of tasks on a page. 1 to 1,000. Default 100. */
  readonly limit?: number | undefined;
  /** Only tasks with this name. */
  readonly name?: string | undefined;
}

export interface Page<Item> {
  /** May be shorter than the limit, or empty, before the last page. */
  readonly tasks: Item[];
  /** Continues with the next page; null after the last one. */
  readonly cursor: string | null;
}

/** A task of a page, and its position. */
interface Listed<Item> {
  readonly shard: Shard;
  readonly storedId: Buffer;
  readonly task: Item;
}

export interface Listing<Item> {
  readonly listed: readonly Listed<Item>[];
  /** Null after the last page. */
  readonly next: Cursor | null;
}

/** Which tasks to list, and from where. */
export interface Wanted {
  readonly state: TaskState;
  readonly limit: number;
  readonly name: string | undefined;
  readonly hasPayloads: boolean;
  readonly from: Cursor;
}

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 100;
const OPTIONS = new Set(['cursor', 'limit', 'name']);
/** Values of each task in the reply. */
const FIELDS = 5;
/** Calls of a page of summaries. A call reads 4 MiB, so that it doesn't hold the server; large records need several calls. */
const MOST_CALLS = 25;

/** A page, as `Queue.list` and `Queue.summaries` return it. */
export async function listPage<Tasks extends TaskMap<Tasks>>(
  shards: Shards,
  method: 'list' | 'summaries',
  state: TaskState,
  options: ListOptions,
): Promise<Page<Task<Tasks>>> {
  requireOptions(method, options, OPTIONS);
  const { cursor, limit = DEFAULT_LIMIT, name } = options;
  requireOneOf('state', state, TASK_STATES);
  requireInteger('limit', limit, { min: 1, max: MAX_LIMIT });
  if (name !== undefined) requireTaskName(name);
  let from: Cursor | null = cursor === undefined || cursor === null ? START : decodeCursor(state, cursor);
  const tasks: Task<Tasks>[] = [];
  // A page of few tasks of a name has looked at many of other names.
  const most = method === 'summaries' && name === undefined ? MOST_CALLS : 1;
  for (let calls = 0; calls < most && from !== null && tasks.length < limit; calls += 1) {
    const wanted = { state, limit: limit - tasks.length, name, hasPayloads: method === 'list', from };
    const page: Listing<Task<Tasks>> = await listTasks<Tasks>(shards, wanted);
    for (const { task } of page.listed) tasks.push(task);
    from = page.next;
  }
  return { tasks, cursor: from && encodeCursor(state, from) };
}

/** One script call for each shard of the page. */
export async function listTasks<Tasks extends TaskMap<Tasks>>(
  shards: Shards,
  wanted: Wanted,
): Promise<Listing<Task<Tasks>>> {
  const listed: Listed<Task<Tasks>>[] = [];
  let { from } = wanted;
  // Opened again after each call, since a call may learn of more shards.
  let all = await shards.open();
  while (from.shard < all.length) {
    const limit = wanted.limit - listed.length;
    const { found, next } = await listShard<Tasks>(all[from.shard]!, { ...wanted, limit, from });
    listed.push(...found);
    from = next ?? { ...START, shard: from.shard + 1 };
    all = await shards.open();
    if (next || listed.length === wanted.limit) break;
  }
  return { listed, next: from.shard < all.length ? from : null };
}

async function listShard<Tasks extends TaskMap<Tasks>>(
  shard: Shard,
  { state, limit, name = '', hasPayloads, from: { shard: index, section, at, after } }: Wanted,
): Promise<{ found: Listed<Task<Tasks>>[]; next: Cursor | null }> {
  const [nextSection, nextAt, nextAfter, ...fields] = (await shard.call((keys, common) =>
    queueList.runBuffer(shard.redis, keys, {
      ...common,
      state,
      limit,
      name,
      hasPayloads: hasPayloads ? 1 : 0,
      section,
      at,
      after,
    }),
  )) as [number, Buffer | number, Buffer, ...Buffer[]];
  const { priorities } = shard.settings.values;
  const found: Listed<Task<Tasks>>[] = [];
  for (let first = 0; first < fields.length; first += FIELDS) {
    const [storedId, record, last, instant, progress] = fields.slice(first, first + FIELDS) as [
      Buffer,
      Buffer,
      Buffer,
      Buffer,
      Buffer,
    ];
    const stored = { record, state, instant, last, progress };
    const task = readTask<Tasks>(decodeTaskId(storedId), priorities, stored, shard.codecs);
    found.push({ shard, storedId, task });
  }
  const next =
    nextSection < 0 ? null : { shard: index, section: nextSection, at: nextAt.toString(), after: nextAfter };
  return { found, next };
}
