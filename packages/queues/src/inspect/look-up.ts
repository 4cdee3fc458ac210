import { requireFunction, requireOptions } from '@mortise/redis';
import { queueCounts, queueGet } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import type { SettingsValues } from '../shard/settings-text.js';
import type { Shards } from '../shard/shards.js';
import { encodeTaskId } from '../task/task-id.js';
import type { Counts, Task, TaskState } from '../task/task.js';
import { readTask, TASK_STATES } from '../task/task.js';

export interface GetOptions {
  /**
   * Reads the JSON of payload and result. Default `JSON.parse`, which rounds whole numbers beyond 2^53. `exactParse` of
   * `@mortise/queues/admin` doesn't.
   */
  readonly parse?: ((json: string) => unknown) | undefined;
}

interface Wanted extends GetOptions {
  /** False: without payload, result, logs and steps. */
  readonly isWhole: boolean;
}

const GET_OPTIONS = new Set(['parse']);

/** The task with an id; null if unknown. */
export function getTask<Tasks>(shards: Shards, id: string, options: GetOptions): Promise<Task<Tasks> | null> {
  const { parse } = requireOptions('get', options, GET_OPTIONS);
  if (parse !== undefined) requireFunction('parse', parse);
  return lookUp<Tasks>(shards, id, { isWhole: true, parse });
}

/** The same without payload, result, logs and steps. */
export function summarize<Tasks>(shards: Shards, id: string): Promise<Task<Tasks> | null> {
  return lookUp<Tasks>(shards, id, { isWhole: false });
}

function lookUp<Tasks>(shards: Shards, id: string, wanted: Wanted): Promise<Task<Tasks> | null> {
  const storedId = encodeTaskId(id);
  return shards.find(storedId, (shard) => lookUpIn<Tasks>(shard, id, storedId, wanted));
}

async function lookUpIn<Tasks>(
  shard: Shard,
  id: string,
  storedId: Buffer,
  { isWhole, parse }: Wanted,
): Promise<Task<Tasks> | null> {
  const reply = (await shard.call((keys, { expectedSettings }) =>
    queueGet.runBuffer(shard.redis, keys, { expectedSettings, id: storedId, isWhole: isWhole ? 1 : 0 }),
  )) as [Buffer, Buffer, Buffer, Buffer, Buffer, Buffer, Buffer] | null;
  if (reply === null) return null;
  const [record, state, instant, last, progress, logs, steps] = reply;
  const stored = { record, state: state.toString() as TaskState, instant, last, progress, logs, steps };
  return readTask<Tasks>(id, shard.settings.values.priorities, stored, shard.codecs, parse);
}

/** The counts of all shards together. */
export async function countAll(shards: Shards): Promise<Counts> {
  const replies = await shards.each((shard) =>
    shard.call((keys, common) => queueCounts.run(shard.redis, keys, common)),
  );
  const sums = TASK_STATES.map((state, index) => {
    const counts = (replies as number[][]).map((reply) => reply[index]!);
    return [state, counts.reduce((sum, count) => sum + count, 0)];
  });
  return Object.fromEntries(sums) as Counts;
}

/** The stored settings. */
export async function readSettings({ first: { redis, settings } }: Shards): Promise<SettingsValues> {
  await settings.learn(redis);
  return settings.values;
}
